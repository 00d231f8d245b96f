//! Profilers that play back real recordings, where the real ones are not installed or do not work.

use std::fs;
use std::path::Path;

use super::reader::{recording, write_program};

/// Another maker's program.
pub struct Tool {
    pub name: &'static str,
    /// Its job in `tests/common/installed.rs`; none if its examples need a process that nobody has here.
    pub job: Option<&'static str>,
    /// The script that stands in: `$1 …` are the arguments of the example, `play CASE` writes the
    /// recording of a fixture.
    script: &'static str,
}

const fn tool(name: &'static str, job: Option<&'static str>, script: &'static str) -> Tool {
    Tool { name, job, script }
}

pub const TOOLS: &[Tool] = &[
    tool(
        "perf",
        Some("perf record"),
        r#"case $1 in
        record) echo recorded > perf.data ;;
        script) test -e perf.data && play perf-script/system-wide ;;
        report) echo report ;;
        *) exit 3 ;;
        esac"#,
    ),
    tool("austin", Some("austin"), r#"while [ "$1" != -o ]; do shift; done; play austin/v3-cpu > "$2""#),
    tool("py-spy", Some("py-spy"), r#"test "$1 $2 $3 $4" = "record -f raw -o" && play py-spy/raw > "$5""#),
    tool(
        "profile-bpfcc",
        Some("profile-bpfcc"),
        r#"test "$1 $2" = "-f -p" && test "$3" = "$PID" && play folded/bcc-profile-folded"#,
    ),
    tool(
        "go",
        Some("go"),
        r#"case "$*" in
        *-cpuprofile*) play pprof/cpu > cpu.pb.gz ;;
        *-memprofile*) while [ "$1" != -memprofile ]; do shift; done; play pprof/heap > "$2" ;;
        *) exit 3 ;;
        esac"#,
    ),
    tool(
        "node",
        Some("node"),
        r#"case "$1 $2" in
        "--cpu-prof app.js") play cpuprofile/node > CPU.1.cpuprofile ;;
        --cpu-prof*) play cpuprofile/node > "${2#*=}" ;;
        *) exit 3 ;;
        esac"#,
    ),
    tool("javac", Some("java"), r#"echo class > App.class"#),
    tool(
        "java",
        Some("java"),
        r#"test "$1" = -XX:StartFlightRecording=settings=profile,filename=app.jfr && play jfr/jdk25 > app.jfr"#,
    ),
    tool("asprof", None, r#"test "$3 $4 $5" = "-o collapsed -f" && play folded/rbspy > "$6""#),
    tool(
        "dotnet-trace",
        None,
        r#"case "$*" in
        *speedscope*) play speedscope/py-spy-threads > trace.speedscope.json ;;
        "collect -o "*) play nettrace/samples > "$3" ;;
        *) exit 3 ;;
        esac"#,
    ),
    tool(
        "rbspy",
        Some("rbspy"),
        r#"case "$2" in
        --raw-file) play rbspy-raw/threads > "$3" ;;
        --format) play folded/rbspy > "$5" ;;
        *) exit 3 ;;
        esac"#,
    ),
    tool(
        "php",
        Some("php with xdebug"),
        r#"test "$2 $4" = "xdebug.mode=profile xdebug.output_dir=." && play callgrind/xdebug > cachegrind.out.1"#,
    ),
    tool("luajit", Some("luajit"), r#"test "$1" = "-jp=G,out.folded" && play folded/rbspy > out.folded"#),
];

/// Writes the programs that stand in, and the recordings that they play back.
pub fn install(folder: &Path) {
    fs::create_dir(folder).unwrap();
    for Tool { name, script, .. } in TOOLS {
        let play = r#"play() { cat "$(dirname "$0")/$(echo "$1" | tr / -)"; }"#;
        write_program(&folder.join(name), format!("#!/bin/sh\n{play}\n{script}\n").as_bytes());
        for case in script.split("play ").skip(1).filter_map(|rest| rest.split_whitespace().next()) {
            let case = case.trim_end_matches('"');
            fs::write(folder.join(case.replace('/', "-")), recording(case)).unwrap();
        }
    }
    // `--open` starts no browser on the machine of the tests.
    write_program(&folder.join("browser"), b"#!/bin/sh\ntest -s \"${1#file://}\"\n");
}
