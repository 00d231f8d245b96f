//! A reader's folder: programs of their own in each language, and what comes with the project.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

use super::page::project;
use super::stand_ins;
use crate::installed::outcome;

/// The reader's own programs: small, and busy for a few tenths of a second.
const PROGRAMS: &[(&str, &str)] = &[
    ("app.py", PYTHON),
    ("app.js", JAVASCRIPT),
    ("App.java", JAVA),
    ("app.rb", RUBY),
    ("app.php", PHP),
    ("app.lua", LUA),
    ("go.mod", "module app\n\ngo 1.18\n"),
    ("app_test.go", GO),
    ("Cargo.toml", CARGO),
    ("src/main.rs", RUST),
    ("src/bin/server.rs", RUST),
    ("benches/parse.rs", RUST),
];

const PYTHON: &str = "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(27))\n";
const JAVASCRIPT: &str =
    "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\nconsole.log(fib(32));\n";
const JAVA: &str = "public class App {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] arguments) { System.out.println(fib(38)); }
}\n";
const RUBY: &str = "def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)\nputs fib(27)\n";
const PHP: &str =
    "<?php\nfunction fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }\necho fib(18), \"\\n\";\n";
const LUA: &str =
    "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end\nprint(fib(36))\n";
const GO: &str = "package app

import \"testing\"

var kept [][]byte

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func BenchmarkFib(b *testing.B) {
	for i := 0; i < b.N; i++ {
		fib(20)
		kept = append(kept, make([]byte, 4096))
	}
}
";
const CARGO: &str =
    "[package]\nname = \"example\"\nversion = \"0.1.0\"\nedition = \"2021\"\ndefault-run = \"example\"

[features]\ntls = []\n\n[[bench]]\nname = \"parse\"\nharness = false

[profile.release]\ndebug = \"line-tables-only\"\n";
const RUST: &str =
    "fn fib(n: u32) -> u32 { if n < 2 { n } else { std::hint::black_box(fib(n - 1)) + fib(n - 2) } }
fn main() { println!(\"{}\", fib(34)); }\n";

/// `./app` computes for two tenths of a second; as `./server` it is busy a little, again and again.
const APP: &str = "
#include <stdlib.h>
#include <string.h>
#include <time.h>
static volatile unsigned long sum;
__attribute__((noinline)) void lex(long n) { for (long i = 0; i < n; i++) sum = sum * 31 + i; }
__attribute__((noinline)) void parse(long n) { lex(n); for (long i = 0; i < n; i++) sum += i; }
__attribute__((noinline)) void hash(long n) { for (long i = 0; i < n; i++) sum ^= sum << 5; }
__attribute__((noinline)) void *keep(long n) { void *kept = malloc(n); memset(kept, 1, n); return kept; }
int main(int count, char **arguments) {
  struct timespec pause = {0, 20000000};
  if (strstr(arguments[0], \"server\"))
    for (;;) { parse(300000); hash(300000); nanosleep(&pause, 0); }
  for (int i = 0; i < 20; i++) { parse(1000000); hash(1000000); free(keep(300000)); keep(800000); }
  return 0;
}
";
/// The same where there is no C compiler.
const SCRIPT: &str = "#!/bin/sh
case $0 in
*server) while :; do i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done; sleep 0.02; done ;;
esac
i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done
";

/// Folders in the home of whoever runs the tests, and the variables that name them.
const HOMES: &[(&str, &str)] = &[
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("PYENV_ROOT", ".pyenv"),
    ("GOCACHE", ".cache/go-build"),
    ("GOPATH", "go"),
];

/// The fixture's input, decompressed.
pub fn recording(case: &str) -> Vec<u8> {
    let folder = project().join("tests/fixtures").join(case);
    let input = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let input = input.map(|entry| entry.unwrap().path());
    let input =
        input.into_iter().find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("input"));
    unpacked(&input.expect("an input"))
}

pub fn unpacked(path: &Path) -> Vec<u8> {
    let file = fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut bytes = Vec::new();
    if path.extension().is_some_and(|ending| ending == "gz") {
        flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    } else {
        (&file).read_to_end(&mut bytes).unwrap();
    }
    bytes
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

pub fn write_program(path: &Path, bytes: &[u8]) {
    write(path, bytes);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The bytes of `./app`, compiled once.
fn app() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        if outcome("cc").is_some() {
            return SCRIPT.into();
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("app.c"), APP).unwrap();
        let mut cc = Command::new("cc");
        let status =
            cc.args(["-O1", "-g", "-o", "app", "app.c"]).current_dir(folder.path()).status().unwrap();
        assert!(status.success(), "the C compiler works, and refuses app.c");
        fs::read(folder.path().join("app")).unwrap()
    })
}

/// A process to record, which stops with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The profilers that an example finds.
#[derive(Clone, Copy, PartialEq)]
pub enum Profilers {
    /// The real ones; where there is none, the one that stands in.
    Real,
    /// Those that stand in.
    PlayedBack,
}

/// A clean folder with the reader's programs and `docs/gallery`, and a process `server` that runs.
pub struct Reader {
    root: TempDir,
    server: Server,
    pub folder: PathBuf,
}

impl Reader {
    pub fn new() -> Reader {
        let root = tempfile::tempdir().unwrap();
        stand_ins::install(&root.path().join("bin"));
        fs::create_dir(root.path().join("home")).unwrap();
        let folder = root.path().join("reader");
        for (name, text) in PROGRAMS {
            write(&folder.join(name), text.as_bytes());
        }
        for name in ["app", "app-before", "server"] {
            write_program(&folder.join(name), app());
        }
        let gallery = fs::read_dir(project().join("docs/gallery")).unwrap();
        for path in gallery.map(|entry| entry.unwrap().path()) {
            let name = Path::new("docs/gallery").join(path.file_name().unwrap());
            write(&folder.join(name), &fs::read(&path).unwrap());
        }
        let mut server = Command::new("./server");
        let server = server.current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        Reader { root, server: Server(server.expect("it starts")), folder }
    }

    /// The process that is recorded where an example says `$PID`.
    pub fn pid(&self) -> u32 {
        self.server.0.id()
    }

    /// Writes a file into the folder.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        write(&self.folder.join(name), bytes);
    }

    /// Our programs first, then the system's, before or behind those that stand in.
    fn search_path(&self, profilers: Profilers) -> OsString {
        let built = Path::new(env!("CARGO_BIN_EXE_fg-collapse")).parent().unwrap();
        let others = env::var_os("PATH").unwrap_or_default();
        let mut folders = vec![built.to_owned()];
        folders.extend(env::split_paths(&others));
        let place = if profilers == Profilers::Real { folders.len() } else { 1 };
        folders.insert(place, self.root.path().join("bin"));
        env::join_paths(folders).unwrap()
    }

    /// Runs a command as a shell would.
    pub fn run(&self, command: &str, profilers: Profilers) -> Output {
        let home = self.root.path().join("home");
        let mut shell = Command::new("bash");
        // What other tools have in the home of whoever runs the tests stays there.
        if let Some(old) = env::var_os("HOME") {
            for (name, folder) in HOMES.iter().filter(|(name, _)| env::var_os(name).is_none()) {
                let folder = Path::new(&old).join(folder);
                if folder.is_dir() {
                    shell.env(name, folder);
                }
            }
        }
        // perf writes its recording to standard output where that is a pipe.
        let (said, printed) = (self.root.path().join("said"), self.root.path().join("printed"));
        let status = shell
            .args(["-eu", "-o", "pipefail", "-c", command])
            .current_dir(&self.folder)
            .env("PATH", self.search_path(profilers))
            .env("PID", self.pid().to_string())
            .env("BROWSER", "browser")
            .env("HOME", home)
            .env_remove("XDG_CACHE_HOME")
            // That of the tests is no reader's.
            .env_remove("CARGO_TARGET_DIR")
            .stdin(Stdio::null())
            .stdout(fs::File::create(&printed).unwrap())
            .stderr(fs::File::create(&said).unwrap())
            .status()
            .unwrap();
        Output { status, stdout: fs::read(printed).unwrap(), stderr: fs::read(said).unwrap() }
    }
}
