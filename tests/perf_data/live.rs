//! Recordings made now, where perf is there and may: our stacks against those of `perf script`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use fg_tools::collapse::CollapseOptions;

use super::fold;
use super::installed::works;

/// The minimum share of the weight with the same stack, in percent. Differences seen on glibc 2.36
/// with perf 6.1: functions that perf takes for the next one, when a call that does not return
/// ends them; the callers of `clone3` in a thread just made, which libunwind does not find; names
/// of indirect functions' PLT stubs. Usually it is above 99; on a busy machine more samples are of threads
/// just made (97.75 was seen), and a stack that is wrong by rule costs more than a tenth. The programs compute for
/// as long, however busy the machine is, and are recorded again where perf has lost what it did not read in time.
const SAME: f64 = 95.0;

const C: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
__attribute__((noinline)) static unsigned long hash(const char *s) { unsigned long h = 5381; while (*s) h = h * 33 + *s++; return h; }
static int by_name(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }
__attribute__((noinline)) static unsigned long deep(int n, unsigned long x) { if (!n) return hash("leaf") ^ x; return deep(n - 1, x * 3 + n) ^ n; }
__attribute__((noinline)) unsigned long work(int n) {
  char **names = malloc(n * sizeof *names);
  unsigned long h = 0;
  for (int i = 0; i < n; i++) { names[i] = malloc(32); snprintf(names[i], 32, "item-%d", (i * 7919) % n); }
  qsort(names, n, sizeof *names, by_name);
  for (int i = 0; i < n; i++) { h ^= hash(names[i]) ^ deep(i % 20, h); free(names[i]); }
  free(names);
  return h;
}
int main(void) {
  unsigned long x = 0;
  for (clock_t end = clock() + CLOCKS_PER_SEC * 7 / 10; clock() < end;) x ^= work(2000);
  return x == 1;
}
"#;

const CPP: &str = r#"
#include <algorithm>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>
namespace shop {
struct Item { std::string name; int price; };
template <class T> struct Pool {
  std::vector<T> all;
  long sum(std::function<long(const T&)> f) const { long s = 0; for (auto& t : all) s += f(t); return s; }
};
struct Shape { virtual ~Shape() {} virtual long visit(int) const = 0; };
struct Deep : Shape { long visit(int d) const override { long s = 1; for (int i = 0; d && i < 3; i++) s += visit(d - 1) * i; return s; } };
namespace { long scramble(long x) { for (int i = 0; i < 100; i++) x = x * 6364136223846793005L + 1442695040888963407L; return x; } }
long sorted(long x) { std::vector<long> v; for (int i = 0; i < 5000; i++) v.push_back(scramble(x + i) >> 20); std::sort(v.begin(), v.end(), [](long a, long b) { return a > b; }); return v[10]; }
long counted(long x) { std::map<std::string, int> m; for (int i = 0; i < 2000; i++) m["k" + std::to_string((x + i * 7919) % 500)]++; return m.size(); }
}
int main() {
  // The processor time of both threads.
  std::clock_t end = std::clock() + CLOCKS_PER_SEC * 8 / 10;
  long total = 0;
  auto run = [&] {
    shop::Deep d; const shop::Shape& s = d; shop::Pool<shop::Item> p; long x = 1;
    for (int i = 0; i < 1000; i++) p.all.push_back({std::to_string(i), i});
    while (std::clock() < end) x ^= shop::sorted(x) ^ shop::counted(x & 0xffff) ^ s.visit(9) ^ p.sum([](const shop::Item& i) { return (long)i.price * (long)i.name.size(); });
    return x;
  };
  std::thread other([&] { total = run(); });
  long x = run();
  other.join();
  return total + x == 1;
}
"#;

const RUST: &str = r#"
use std::collections::{BTreeMap, HashMap};
trait Visit { fn visit(&self, depth: u32) -> u64; }
struct Leaf(u64);
struct Node(Vec<Box<dyn Visit>>);
impl Visit for Leaf { fn visit(&self, d: u32) -> u64 { (0..50).map(|k| self.0.rotate_left(k + d)).fold(0, |a, b| a ^ b) } }
impl Visit for Node { fn visit(&self, d: u32) -> u64 { self.0.iter().map(|c| c.visit(d + 1)).fold(0, u64::wrapping_add) } }
fn tree(depth: u32, seed: u64) -> Box<dyn Visit> {
    if depth == 0 { Box::new(Leaf(seed)) } else { Box::new(Node((0..3).map(|k| tree(depth - 1, seed * 3 + k)).collect())) }
}
fn count(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text.split_whitespace() { *words.entry(word.to_owned()).or_insert(0) += 1; }
    words
}
fn main() {
    let work = || {
        let mut x = 0;
        for _ in 0..1500 {
            x ^= tree(6, x | 1).visit(0);
            let text: String = (0..2000u64).map(|k| format!("w{} ", (k * 7919) % 401)).collect();
            let mut words: Vec<_> = count(&text).into_iter().collect();
            words.sort();
            x ^= words.into_iter().collect::<BTreeMap<_, _>>().len() as u64;
        }
        x
    };
    let other = std::thread::Builder::new().name("worker 1".into()).spawn(work).unwrap();
    std::process::exit(i32::from(work() ^ other.join().unwrap() == 1));
}
"#;

/// Returns true if a command succeeds; discards its output.
fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// A name without the parts by which the C library tells apart the names that it gives a function:
/// perf takes the longest, of old versions too, we take the plainest.
fn plain(name: &str) -> &str {
    if name.ends_with("@plt") {
        // perf 6.1 has no names for the stubs of functions that are chosen at the start.
        return "@plt";
    }
    // perf does not tell functions without a symbol apart.
    let name = name.split_once("+0x").map_or(name, |(module, _)| module).trim_end_matches(']');
    let name = name.split_once("@GLIBC").map_or(name, |(name, _)| name);
    let name = name.trim_end_matches('@').trim_start_matches('_');
    let name = ["GI_", "IO_"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    match name.trim_start_matches('_') {
        "cfree" | "libc_free" => "free",
        name => name,
    }
}

fn weights(text: &str) -> BTreeMap<String, u64> {
    let mut weights = BTreeMap::new();
    for line in text.lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("folded text");
        // perf does not say that a stack is cut off.
        let stack = stack.replacen(";[truncated]", "", 1);
        let frames: Vec<&str> = stack.split(';').map(plain).collect();
        *weights.entry(frames.join(";")).or_default() += weight.parse::<u64>().expect("a number");
    }
    weights
}

/// Records a program, and compares; an error tells the differences.
fn compare(folder: &Path, program: &str, record: &[&str]) -> Result<(), String> {
    let data = folder.join("perf.data");
    let mut perf = Command::new("perf");
    perf.current_dir(folder).args(["record", "-q", "-e", "cpu-clock", "-F", "1999", "-o", "perf.data"]);
    if !succeeds(perf.args(record).arg("--").arg(folder.join(program))) {
        panic!("perf record does not record {program}, but does record a shell");
    }
    let mut script = Command::new("perf");
    let script =
        script.current_dir(folder).args(["script", "--no-inline", "-i", "perf.data"]).stdin(Stdio::null());
    let output = script.output().expect("perf starts");
    assert!(output.status.success(), "{output:?}");
    let text = folder.join("perf.txt");
    std::fs::write(&text, output.stdout).expect("the folder can be written");
    let (theirs, _) = fold(&text, &CollapseOptions::default()).expect("perf's text collapses");
    let (ours, report) = fold(&data, &CollapseOptions { no_inline: true, ..CollapseOptions::default() })
        .expect("perf's recording collapses");
    let (ours, theirs) = (weights(&ours), weights(&theirs));
    let total: u64 = theirs.values().sum();
    assert_eq!(ours.values().sum::<u64>(), total, "{program} {record:?}");
    let same: u64 = theirs.iter().map(|(stack, weight)| *weight.min(ours.get(stack).unwrap_or(&0))).sum();
    let percent = 100.0 * same as f64 / total as f64;
    let mut worst: Vec<_> =
        ours.iter().filter(|(stack, weight)| theirs.get(*stack) != Some(weight)).collect();
    worst.sort_by_key(|(_, weight)| std::cmp::Reverse(**weight));
    worst.truncate(5);
    let mut others: Vec<_> =
        theirs.iter().filter(|(stack, weight)| ours.get(*stack) != Some(weight)).collect();
    others.sort_by_key(|(_, weight)| std::cmp::Reverse(**weight));
    others.truncate(5);
    eprintln!("{program} {record:?}: {percent:.2}% the same");
    if percent >= SAME {
        return Ok(());
    }
    Err(format!(
        "{program} {record:?}: {percent:.2}%, ours {worst:#?}\nperf: {others:#?}\n{:?}",
        report.notes
    ))
}

fn check(source: &str, file: &str, compiler: &str, flags: &[&str]) {
    if ![compiler, "perf record", "perf script"].into_iter().all(works) {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(file);
    std::fs::write(&path, source).expect("the folder can be written");
    let program = folder.path().join("program");
    let built = Command::new(compiler).args(flags).arg("-o").arg(&program).arg(&path).output();
    let built = built.expect("the compiler starts");
    assert!(built.status.success(), "{built:?}");
    for record in [["--call-graph", "dwarf"].as_slice(), &["-g"]] {
        let compare = || compare(folder.path(), "program", record);
        let compared = compare().or_else(|_| compare()).or_else(|_| compare());
        if let Err(differences) = compared {
            panic!("{differences}");
        }
    }
}

#[test]
fn c_programs_have_the_stacks_that_perf_gives_them() {
    check(C, "calc.c", "cc", &["-O2", "-g", "-fno-omit-frame-pointer"]);
}

#[test]
fn cplusplus_programs_have_the_stacks_that_perf_gives_them() {
    check(CPP, "orders.cpp", "c++", &["-O2", "-g", "-pthread"]);
}

#[test]
fn rust_programs_have_the_stacks_that_perf_gives_them() {
    check(RUST, "tree.rs", "rustc", &["--edition", "2024", "-O", "-C", "debuginfo=1"]);
}
