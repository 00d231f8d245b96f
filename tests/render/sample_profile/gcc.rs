//! `--format autofdo`: profiles for GCC. `branches.autofdo` and `samples.autofdo` are what autofdo's dump_gcov 0.19 prints
//! of what its create_gcov makes of the branches and addresses of `branches.data` and `samples.data`, as text
//! profiles, and of the program, built with DWARF 4: its own reader knows no later one and no mappings of lld.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::installed::works;
use super::{run_in, text};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/render/sample_profile").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap()
}

/// Makes a profile; what was written, and what was said.
#[track_caller]
fn profile(format: &str, recording: &str, arguments: &[&str]) -> (Vec<u8>, String) {
    let folder = tempfile::tempdir().unwrap();
    let [calc, recording] = ["calc", recording].map(|name| file(name).to_str().unwrap().to_owned());
    let all = [&["--format", format, "--binary", &calc, &recording], arguments].concat();
    let run = run_in(folder.path(), &all, "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    (run.stdout, run.stderr)
}

/// Reads a file of GCC's profiles.
struct Reader<'b> {
    bytes: &'b [u8],
    version: u32,
    names: Vec<String>,
}

impl Reader<'_> {
    fn take(&mut self, length: usize) -> &[u8] {
        let (taken, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        taken
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    fn count(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn name(&mut self) -> String {
        let length = self.word() as usize * if self.version == 1 { 4 } else { 1 };
        let bytes = self.take(length);
        let (last, name) = bytes.split_last().unwrap();
        assert_eq!(*last, 0);
        String::from_utf8(name.to_vec()).unwrap().trim_end_matches('\0').to_owned()
    }

    /// The tag of a section, and the bytes behind it.
    fn section(&mut self, tag: u32) -> usize {
        assert_eq!(self.word(), tag);
        let words = self.word() as usize;
        self.bytes.len() - words * 4
    }

    /// An instance of a function: its name, its total, and the text that dump_gcov prints of it.
    fn instance(&mut self, depth: usize, head: Option<u64>, at: &str) -> (u64, String) {
        let name = self.word() as usize;
        let (lines, inlined) = (self.word(), self.word());
        let place = |place: u32| match (place >> 16, place & 0xffff) {
            (line, 0) => format!("{line}: "),
            (line, discriminator) => format!("{line}.{discriminator}: "),
        };
        let mut total = 0;
        let mut out = BTreeMap::new();
        for _ in 0..lines {
            let (at, targets, count) = (self.word(), self.word(), self.count());
            let mut targets: Vec<(u64, String)> = (0..targets)
                .map(|_| {
                    assert_eq!(self.word(), 7);
                    let target = self.count() as usize;
                    let target = self.names[target].clone();
                    (self.count(), target)
                })
                .collect();
            targets.sort_by(|(a, _), (b, _)| b.cmp(a));
            let targets: String =
                targets.iter().map(|(count, target)| format!("  {target}:{count}")).collect();
            total += count;
            out.insert((0, at), format!("{:depth$}  {}{count}{targets}\n", "", place(at)));
        }
        for _ in 0..inlined {
            let at = self.word();
            let (sum, text) = self.instance(depth + 2, None, &place(at));
            total += sum;
            out.insert((1, at), text);
        }
        let head = head.map(|head| format!(" head:{head}")).unwrap_or_default();
        let lines: String = out.into_values().collect();
        (total, format!("{:depth$}{at}{} total:{total}{head}\n{lines}", "", self.names[name]))
    }
}

/// The text that dump_gcov prints of a file: functions, the one with the largest total first.
fn dump(bytes: &[u8], version: u32) -> String {
    let mut reader = Reader { bytes, version, names: Vec::new() };
    assert_eq!([reader.word(), reader.word(), reader.word()], [0x6763_6461, version, 0]);
    let rest = reader.section(0xaa00_0000);
    let names = reader.word();
    reader.names = (0..names).map(|_| reader.name()).collect();
    assert!(reader.names.is_sorted() && reader.names[0].is_empty(), "{:?}", reader.names);
    // A length in words may be up to three bytes too long.
    assert!((0..4).contains(&(reader.bytes.len() as i64 - rest as i64)), "{} {rest}", reader.bytes.len());
    let rest = reader.section(0xac00_0000);
    let mut functions: Vec<(u64, String)> = (0..reader.word())
        .map(|_| {
            let head = reader.count();
            reader.instance(0, Some(head), "")
        })
        .collect();
    assert_eq!(reader.bytes.len(), rest);
    assert_eq!([reader.word(), reader.word(), reader.word()], [0xae00_0000, 1, 0]);
    assert_eq!([reader.word(), reader.word()], [0xaf00_0000, 3 * 128]);
    let sets: Vec<(u32, u64)> = (0..128).map(|_| (reader.word(), reader.count())).collect();
    // The hottest lines first.
    assert!(sets.is_sorted_by(|a, b| a.0 <= b.0 && a.1 >= b.1) && sets[127].1 > 0, "{sets:?}");
    assert!(reader.bytes.is_empty());
    functions.sort_by(|(a, _), (b, _)| b.cmp(a));
    functions.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn branches_are_counted_as_create_gcov_counts_them() {
    for (version, format) in [(1, "autofdo-1"), (2, "autofdo")] {
        let (written, said) = profile(format, "branches.data.gz", &[]);
        assert_eq!(dump(&written, version), read("branches.autofdo"));
        assert!(said.contains("100.00% of the samples are in calc"), "{said}");
    }
}

/// create_gcov leaves out functions of few samples.
#[test]
fn samples_are_counted_as_create_gcov_counts_them() {
    for (version, format) in [(1, "autofdo-1"), (2, "autofdo")] {
        let dumped = dump(&profile(format, "samples.data.gz", &[]).0, version);
        let rest = dumped.strip_prefix(&read("samples.autofdo")).unwrap_or_else(|| panic!("{dumped}"));
        let functions: Vec<&str> = rest.lines().filter(|line| !line.starts_with(' ')).collect();
        assert_eq!(functions, ["climb total:6 head:0", "add total:2 head:0"]);
    }
}

#[test]
fn endings_choose_the_version() {
    let folder = tempfile::tempdir().unwrap();
    let [calc, recording] = ["calc", "samples.data.gz"].map(|name| file(name).to_str().unwrap().to_owned());
    let arguments = ["--binary", &calc, &recording, "-o", "a.afdo", "-o", "a.afdo1", "-o", "a.prof"];
    let run = run_in(folder.path(), &arguments, "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    for (name, format) in [("a.afdo", "autofdo"), ("a.afdo1", "autofdo-1"), ("a.prof", "llvm-prof")] {
        let written = std::fs::read(folder.path().join(name)).unwrap();
        assert!(written == profile(format, "samples.data.gz", &[]).0, "{name}");
    }
}

#[test]
fn a_later_build_is_told_how_much_still_fits_gcc() {
    let said = |built: &str| {
        let built = file(built).to_str().unwrap().to_owned();
        profile("autofdo", "samples.data.gz", &["--stale-against", &built]).1
    };
    assert!(said("calc").contains("100.00% of the counts fit"), "{}", said("calc"));
    let next = said("calc-next");
    assert!(next.contains("84.84% of the counts fit") && next.contains("stale: 15.16% weigh"), "{next}");
}

/// autofdo's own reader sees in it what is read here.
#[test]
fn dump_gcov_reads_it() {
    if !works("dump_gcov") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for name in ["samples", "branches"] {
        let (written, _) = profile("autofdo-1", &format!("{name}.data.gz"), &[]);
        std::fs::write(folder.path().join("a.gcov"), &written).unwrap();
        let mut command = Command::new("dump_gcov");
        let out = command.args(["--gcov_version=1", "a.gcov"]).current_dir(folder.path()).output().unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
        assert_eq!(text(&out.stdout), dump(&written, 1));
    }
}

/// GCC takes the file without a word, and optimizes by it: other code than by the same counts of functions that the
/// program has not. The other version is refused.
#[test]
fn gcc_optimizes_by_it() {
    if !works("gcc 12 to 15") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let code = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let mut command = Command::new("gcc");
        command.args(["-O2", "-S", "-o", "-", &format!("-fauto-profile={name}")]).arg(file("calc.c"));
        command.current_dir(folder.path()).output().unwrap()
    };
    let written = profile("autofdo", "branches.data.gz", &[]).0;
    let by_profile = code("profile.afdo", &written);
    assert!(
        by_profile.status.success() && by_profile.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&by_profile.stderr)
    );
    let mut renamed = written.clone();
    for name in ["sum", "main", "climb", "add", "mix", "next", "weigh"] {
        let name = format!("{name}\0");
        let at = renamed.windows(name.len()).position(|at| at == name.as_bytes()).unwrap();
        renamed[at] = b'_';
    }
    let by_others = code("others.afdo", &renamed);
    assert!(by_others.status.success(), "{}", String::from_utf8_lossy(&by_others.stderr));
    assert!(by_profile.stdout != by_others.stdout, "the counts change nothing");

    let refused = code("old.afdo", &profile("autofdo-1", "branches.data.gz", &[]).0);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("version 1 does not match"), "{said}");
}
