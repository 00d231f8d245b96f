//! Java as people start it, without frame pointers: the callers of compiled methods.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::{Running, fg_record, recorded, skip, stacks, text};

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
        return skip("no Java development kit for x86-64");
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
    let output = recorded(fg_record().args(["-d", "1", "-p", &pid]));
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
