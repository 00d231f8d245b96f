//! Java as people start it, without frame pointers: the callers of compiled methods.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Running, fg_record, in_time, recorded, skip, stacks, text};

/// A recursion of 31 calls, compiled before it says "ready", and then for ever.
const SOURCE: &str = "
public class Deep {
    static long work(int n) { long x = 1; for (int i = 0; i < n; i++) x = x * 31 + i; return x; }
    static long deep(int depth, int n) { return depth == 0 ? work(n) + 1 : deep(depth - 1, n) + depth; }
    public static void main(String[] arguments) {
        long sum = 0;
        for (int i = 0; i < 20000; i++) sum += deep(30, 20);
        System.out.println(\"ready\");
        while (true) sum += deep(30, 20000);
    }
}
";

#[test]
fn callers_of_compiled_methods_are_found_without_frame_pointers() {
    let starts = |program: &str| Command::new(program).arg("-h").output().is_ok();
    if !cfg!(target_arch = "x86_64") || !starts("java") || !starts("jcmd") {
        return skip("there is no Java development kit for x86-64");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("Deep.java");
    fs::write(&source, SOURCE).expect("a source");
    let mut command = Command::new("java");
    command.args(["-Xbatch", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Deep::*"]);
    let child =
        command.arg(&source).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("java starts");
    let mut child = Running(child);
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().expect("a pipe")).read_line(&mut line).expect("its output");
    if line != "ready\n" {
        return skip(format!("this Java does not run a source: {line}"));
    }
    let pid = child.0.id().to_string();
    let named = Command::new("jcmd").args([&pid, "Compiler.perfmap"]).output().expect("jcmd starts");
    let map = format!("/tmp/perf-{pid}.map");
    if !named.status.success() || fs::metadata(&map).is_err() {
        return skip(format!("this Java does not name its methods: {named:?}"));
    }
    let record = |seconds: &str| recorded(fg_record().args(["-d", seconds, "-p", &pid]));
    let output = in_time(record, |output| text(&output.stdout).contains("Deep.work"));
    let _ = fs::remove_file(&map);
    let Some(output) = output else { return };
    let folded = text(&output.stdout);
    let (mut whole, mut all) = (0.0, 0.0);
    for (stack, weight) in stacks(&folded).lines().filter_map(|line| line.rsplit_once(' ')) {
        if !stack.contains("Deep.work") {
            continue;
        }
        let weight: f64 = weight.parse().expect("a weight");
        let calls = stack.split(';').filter(|frame| frame.contains("Deep.deep")).count();
        let root = stack.split(';').nth(1).unwrap_or_default();
        all += weight;
        whole += if calls == 31 && ["clone3", "__clone", "clone", "start_thread"].contains(&root) {
            weight
        } else {
            0.0
        };
    }
    assert!(all > 0.0 && whole > 0.9 * all, "{whole} of {all}: {}\n{folded}", text(&output.stderr));
}

const FINITE: &str = "
public class Finite {
    static int coldly(int n) { int s = 0; for (int i = 0; i < n; i++) s = (s * 31 + i) % 65537; return s; }
    public static void main(String[] arguments) {
        long all = 0;
        for (int i = 0; i < 1000; i++) all += coldly(200000);
        System.out.println(ProcessHandle.current().pid() + \" \" + all);
        if (arguments.length == 0) return;
        try {
            Process child = new ProcessBuilder(\"java\", \"-version\").start();
            child.waitFor();
            System.out.println(child.pid());
        } catch (Exception e) { throw new RuntimeException(e); }
    }
}
";

/// Issue 41: Java is asked for the names of what it compiles, and its map does not stay.
#[test]
fn methods_are_named_unasked() {
    let flags = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-version"];
    if !Command::new("java").args(flags).output().is_ok_and(|output| output.status.success()) {
        return skip("no Java that writes a map");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("Finite.java");
    fs::write(&source, FINITE).expect("a source");
    // Once, and not for each recording.
    if !Command::new("javac").arg(&source).status().is_ok_and(|status| status.success()) {
        return skip("there is no compiler of Java");
    }
    let class = [Path::new("-cp"), folder.path(), Path::new("Finite")];
    let record = |name: &str, options: &[&str]| {
        let path = folder.path().join(name);
        let mut command = fg_record();
        command.env_remove("JAVA_TOOL_OPTIONS").args(options).arg("-o").arg(&path);
        let output = recorded(command.args(["--", "java"]).args(class).arg("child"))?;
        let folded = fs::read_to_string(path).expect("folded text");
        let said = text(&output.stdout);
        let pids: Vec<u32> = said.lines().filter_map(|line| line.split(' ').next()?.parse().ok()).collect();
        assert_eq!(pids.len(), 2, "{output:?}");
        for pid in pids {
            assert!(!fs::exists(format!("/tmp/perf-{pid}.map")).expect("a folder"), "{pid}");
        }
        Some((folded, text(&output.stderr)))
    };
    let Some((named, said)) = record("named.folded", &[]) else { return };
    assert!(stacks(&named).contains("coldly"), "{named}");
    assert!(
        said.contains("Java functions are named by JAVA_TOOL_OPTIONS; not with --runtime-names none"),
        "{said}"
    );
    let (nameless, said) = record("nameless.folded", &["--runtime-names", "none"]).expect("as before");
    assert!(!nameless.contains("coldly") && !said.contains("JAVA_TOOL_OPTIONS"), "{nameless}{said}");
    // The last part comes when the program has ended.
    let every = folder.path().join("part-%S.folded");
    let mut command = fg_record();
    command.args(["--every", "1h", "-o"]).arg(every).args(["--", "java"]).args(class);
    let output = recorded(&mut command).expect("as before");
    let pid = text(&output.stdout).split(' ').next().unwrap_or_default().to_owned();
    assert!(pid.parse::<u32>().is_ok(), "{output:?}");
    assert!(!fs::exists(format!("/tmp/perf-{pid}.map")).expect("a folder"), "{pid}");
}
