//! Tools of other makers that tests run.
//!
//! A tool that is installed may not work: it may want a newer C library, another kernel's headers or
//! rights that nobody has in a container. Each is given a small real job, once for all tests of a
//! program; a test of one that fails is skipped with the tool's own words.

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::skip::skip;

/// The jobs: scripts for a shell, in an empty folder, that succeed where the tool works.
const JOBS: &[(&str, &str)] = &[
    ("austin", AUSTIN),
    ("bpftrace", BPFTRACE),
    ("c++", "echo 'int main() { return 0; }' >a.cpp && c++ -o a a.cpp && ./a"),
    ("cargo", "cargo --version"),
    ("cc", "echo 'int main(void) { return 0; }' >a.c && cc -pthread -o a a.c && ./a"),
    ("duckdb and pyarrow", "${ARROW_PYTHON:-python3} -c 'import duckdb, pyarrow.parquet'"),
    ("debuginfod-find", "debuginfod-find --version | grep -q debuginfod"),
    ("dot", "echo 'digraph { a -> b }' | dot -Tsvg >a.svg && grep -q '<svg' a.svg"),
    ("go", "go version && go tool pprof -h 2>&1 | grep -q usage"),
    ("dump_gcov", DUMP_GCOV),
    ("gcc 12 to 15", GCC),
    ("erl", ERLANG),
    ("java", JAVA),
    ("luajit", "echo 'for i = 1, 1e7 do end' >a.lua && luajit -jp=G,out a.lua && test -s out"),
    (
        "node",
        "echo 'for (let i = 0; i < 1e7; i++);' >a.js && node --cpu-prof --cpu-prof-name=a a.js && test -s a",
    ),
    ("php with xdebug", "php -v && php -m | grep -qx xdebug || { echo 'no extension xdebug'; false; }"),
    ("rbspy", RBSPY),
    ("llvm-profdata", "printf 'f:1:1\\n 1: 1\\n' >a.prof && llvm-profdata show --sample a.prof"),
    ("llvm-symbolizer", "echo 0x1000 | llvm-symbolizer --obj=/bin/sh --no-demangle --inlines"),
    ("nm", "nm --no-demangle -D /bin/sh >/dev/null"),
    (
        "objcopy",
        "echo 'int main(void) { return 0; }' >a.c && cc -o a a.c && objcopy --only-keep-debug a b && readelf -n a",
    ),
    ("perf record", PERF_RECORD),
    ("node", "node -e 0"),
    ("perf script", PERF_SCRIPT),
    ("profile-bpfcc", BPFCC),
    ("py-spy", PY_SPY),
    ("python3", "python3 -c 'import sys, time'"),
    ("rustc", "echo 'fn main() {}' >a.rs && rustc -o a a.rs && ./a"),
    ("tar", "echo text >a && tar cf a.tar a && tar tf a.tar"),
    ("tmux", "tmux -S tmux -f /dev/null new-session -d 'sleep 60' && tmux -S tmux kill-server"),
];

const BUSY: &str = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done";
/// The rate may be limited.
const PERF_RECORD: &str = "perf record -q -o data -- sh -c \"$BUSY\" && test -s data &&
    perf record -q -e cpu-clock -F 1999 --call-graph dwarf -o more -- sh -c \"$BUSY\" && test -s more";
/// It prints its help and succeeds; a broken one ends by a signal.
const DUMP_GCOV: &str = "dump_gcov -help >help 2>&1; test $? -lt 126 && grep -q gcov_version help";
const GCC: &str = "version=$(gcc -dumpversion) && echo 'int main(void) { return 0; }' >a.c && gcc -o a a.c && ./a &&
    case ${version%%.*} in 12 | 13 | 14 | 15) ;; *) echo \"gcc $version reads another version of profiles\"; false ;; esac";
const PERF_SCRIPT: &str = "gzip -dc \"$PROJECT/tests/perf_data/golden/calc.data.gz\" >data &&
    perf script -i data >text && test -s text";
const BPFCC: &str = "sh -c 'while :; do :; done' & busy=$!; trap 'kill $busy' EXIT
    profile-bpfcc -f -F 99 -p $busy 1 >folded && grep -q ' [0-9]*$' folded || { cat folded >&2; false; }";
const BPFTRACE: &str = "sh -c 'while :; do :; done' & busy=$!; trap 'kill $busy' EXIT
    bpftrace -o text -e \"profile:hz:99 /pid == $busy/ { @[ustack] = count(); } interval:s:1 { exit(); }\" &&
    grep -q '^@\\[' text";
const ERLANG: &str = "erl +JPperf map -noshell -eval 'halt().'";
const JAVA: &str = "javac -version && java -version &&
    echo 'public class A { public static void main(String[] a) { } }' >A.java && javac A.java &&
    java -XX:StartFlightRecording=filename=a.jfr A && test -s a.jfr";
const RBSPY: &str = "ruby --version && rbspy --version && echo 'x = 0; 5_000_000.times { x += 1 }' >a.rb &&
    rbspy record --silent --raw-file a.gz --file a.svg -- ruby a.rb && test -s a.gz";
/// The interpreter itself: pyenv and its like put a script in its place.
const PY_SPY: &str =
    "python=$(python3 -c 'import sys; print(sys.executable)') && echo \"$PYTHON_BUSY\" >job.py &&
    py-spy record --format raw --output text -- \"$python\" job.py && test -s text";
/// Now and then it looks at a program before it is Python, and gives up.
const AUSTIN: &str =
    "python=$(python3 -c 'import sys; print(sys.executable)') && echo \"$PYTHON_BUSY\" >job.py &&
    austin --version && for try in 1 2 3 4 5; do austin -o text \"$python\" job.py && test -s text && exit; done; false";
const PYTHON_BUSY: &str = "import time
end = time.process_time() + 0.3
while time.process_time() < end: sum(range(1000))";

/// Far more than any of the jobs needs on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Returns true if a tool of [`JOBS`] works here; if not, says that the test is skipped.
pub fn works(tool: &str) -> bool {
    let failure = outcome(tool);
    if let Some(words) = &failure {
        skip(format_args!("{tool} does not work here: {words}"));
    }
    failure.is_none()
}

/// The words of a tool of [`JOBS`] that does not work here.
pub fn outcome(tool: &str) -> Option<String> {
    /// The words of those that failed.
    type Outcome = Arc<OnceLock<Option<String>>>;
    static OUTCOMES: OnceLock<Mutex<HashMap<String, Outcome>>> = OnceLock::new();
    let outcomes = OUTCOMES.get_or_init(Mutex::default);
    let outcome = Arc::clone(
        outcomes.lock().unwrap_or_else(PoisonError::into_inner).entry(tool.to_owned()).or_default(),
    );
    outcome.get_or_init(|| failure(tool)).clone()
}

/// The words of a tool that does not do its job.
fn failure(tool: &str) -> Option<String> {
    let (_, job) = JOBS.iter().find(|(name, _)| *name == tool).unwrap_or_else(|| panic!("no job for {tool}"));
    let folder = tempfile::tempdir().expect("a folder");
    let said = std::fs::File::create(folder.path().join("said")).expect("a file");
    let mut command = Command::new("sh");
    command.args(["-c", job]).current_dir(folder.path());
    command.env("PROJECT", env!("CARGO_MANIFEST_DIR")).env("BUSY", BUSY).env("PYTHON_BUSY", PYTHON_BUSY);
    command.stdin(Stdio::null()).stdout(said.try_clone().expect("a file")).stderr(said);
    let mut child = command.spawn().expect("sh starts");
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        if began.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            return Some(format!("no answer within {} s", LIMIT.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let said = std::fs::read(folder.path().join("said")).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let words: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    (!status.success()).then(|| format!("{} ({status})", words.join(" / ")))
}
