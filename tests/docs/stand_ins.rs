//! Profilers that play back real recordings, and the folder that examples begin in.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::page::project;

/// Real programs' names, and the script that stands in for each: `$1 …` are the arguments of the
/// example, `play CASE` writes the recording of a fixture.
const STAND_INS: &[(&str, &str)] = &[
    (
        "perf",
        r#"case $1 in
        record) echo recorded > perf.data ;;
        script) test -e perf.data && play perf-script/system-wide ;;
        *) exit 3 ;;
        esac"#,
    ),
    ("austin", r#"test "$1 $2" = "-s -o" && play austin/v3-cpu > "$3""#),
    ("py-spy", r#"test "$1 $2 $3 $4" = "record -f raw -o" && play py-spy/raw > "$5""#),
    ("profile-bpfcc", r#"test "$1 $2" = "-f -p" && test "$3" = "$PID" && play folded/bcc-profile-folded"#),
    ("go", r#"test "$1 $6" = "test -cpuprofile" && play pprof/cpu > "$7""#),
    ("node", r#"test "$1" = --cpu-prof && play cpuprofile/node > "${2#*=}""#),
    (
        "java",
        r#"test "$1" = -XX:StartFlightRecording=settings=profile,filename=app.jfr && play jfr/jdk25 > app.jfr"#,
    ),
    ("asprof", r#"test "$3 $4 $5" = "-o collapsed -f" && play folded/rbspy > "$6""#),
    ("dotnet-trace", r#"test "$1 $2 $4" = "collect -o -p" && play nettrace/samples > "$3""#),
    ("rbspy", r#"test "$1 $2" = "record --raw-file" && play rbspy-raw/threads > "$3""#),
    (
        "php",
        r#"test "$2 $4" = "xdebug.mode=profile xdebug.output_dir=." && play callgrind/xdebug > cachegrind.out.1"#,
    ),
    ("luajit", r#"test "$1" = "-jp=G,out.folded" && play folded/rbspy > out.folded"#),
];

const FIB: &str = "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(25))\n";

/// A program that computes for some tenths of a second.
const APP: &str = "#!/bin/sh\ni=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done\n";

/// The fixture's input, decompressed.
pub fn recording(case: &str) -> Vec<u8> {
    let folder = project().join("tests/fixtures").join(case);
    let input = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let input = input.map(|entry| entry.unwrap().path());
    let input =
        input.into_iter().find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("input"));
    unpacked(&input.expect("an input"))
}

fn unpacked(path: &Path) -> Vec<u8> {
    let file = fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut bytes = Vec::new();
    if path.extension().is_some_and(|ending| ending == "gz") {
        flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    } else {
        (&file).read_to_end(&mut bytes).unwrap();
    }
    bytes
}

fn golden(name: &str) -> PathBuf {
    project().join("tests/perf_data/golden").join(name)
}

fn write_script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The folders of a reader: programs that stand in, and a folder to work in.
pub struct Reader {
    root: TempDir,
    pub folder: PathBuf,
}

impl Reader {
    /// A reader with all that the examples take for granted.
    pub fn new() -> Reader {
        let root = tempfile::tempdir().unwrap();
        install_stand_ins(&root.path().join("bin"));
        let folder = root.path().join("reader");
        fs::create_dir(&folder).unwrap();
        let perf = recording("perf-script/cpp-fp");
        let heap = recording("pprof/heap");
        let collapsed = |case: &str| fs::read(project().join("tests/fixtures").join(case)).unwrap();
        let run = |name: &str| fs::read(project().join("tests/diff/recordings").join(name)).unwrap();
        for (name, bytes) in [
            ("fib.py", FIB.into()),
            ("app.py", FIB.into()),
            ("app.js", b"while (0);\n".to_vec()),
            ("perf.data", unpacked(&golden("calc.data.gz"))),
            ("server.perf.data", unpacked(&golden("calc.data.gz"))),
            ("sched.perf", recording("perf-sched/sleeps")),
            ("stall.mojo", recording("austin-mojo/stall")),
            ("stall.pb.gz", gzip(&recording("pprof/stall"))),
            ("a.perf.gz", gzip(&perf)),
            ("b.perf.zst", zstd(&perf)),
            ("heap-later.pb.gz", gzip(&heap)),
            ("heap.pb.gz", gzip(&heap)),
            ("out.folded", collapsed("perf-script/system-wide/expected.folded")),
            ("rustc.folded", unpacked(&project().join("docs/gallery/rustc.folded.gz"))),
            ("before.folded", run("before-1.folded")),
            ("after.folded", run("slow-1.folded")),
        ] {
            fs::write(folder.join(name), bytes).unwrap();
        }
        for n in 1..=5 {
            fs::write(folder.join(format!("before-{n}.folded")), run(&format!("before-{n}.folded"))).unwrap();
            fs::write(folder.join(format!("after-{n}.folded")), run(&format!("slow-{n}.folded"))).unwrap();
        }
        write_script(&folder.join("app"), APP);
        let pictures = folder.join("docs/gallery");
        fs::create_dir_all(&pictures).unwrap();
        fs::copy(project().join("docs/gallery/rustc.folded.gz"), pictures.join("rustc.folded.gz")).unwrap();
        // The machine that perf.data is from.
        let bin = folder.join("server/home/user/app/golden");
        fs::create_dir_all(&bin).unwrap();
        fs::copy(golden("root/home/user/app/golden/calc"), bin.join("calc")).unwrap();
        Reader { root, folder }
    }

    /// The `PATH` of an example: our programs first, then the stand-ins before or after the real ones.
    pub fn search_path(&self) -> OsString {
        let built = Path::new(env!("CARGO_BIN_EXE_fg-collapse")).parent().unwrap();
        let others = env::var_os("PATH").unwrap_or_default();
        let mut folders = vec![built.to_owned()];
        folders.extend(env::split_paths(&others));
        let stand_ins = self.root.path().join("bin");
        let place = if env::var_os("FG_REAL_PROFILERS").is_some() { folders.len() } else { 1 };
        folders.insert(place, stand_ins);
        env::join_paths(folders).unwrap()
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, bytes).unwrap();
    gz.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Writes the programs that stand in, and the recordings that they play back.
fn install_stand_ins(folder: &Path) {
    fs::create_dir(folder).unwrap();
    for (name, script) in STAND_INS {
        let play = r#"play() { cat "$(dirname "$0")/$(echo "$1" | tr / -)"; }"#;
        write_script(&folder.join(name), &format!("#!/bin/sh\n{play}\n{script}\n"));
        for case in script.split("play ").skip(1).filter_map(|rest| rest.split_whitespace().next()) {
            let case = case.trim_end_matches('"');
            fs::write(folder.join(case.replace('/', "-")), recording(case)).unwrap();
        }
    }
    // `--open` starts no browser on the machine of the tests.
    write_script(&folder.join("browser"), "#!/bin/sh\ntest -s \"${1#file://}\"\n");
}
