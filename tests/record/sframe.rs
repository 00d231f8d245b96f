//! Programs whose only unwind tables are SFrame's, which GNU's assembler makes on request.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::installed::works;
use super::skip::skip;
use super::{fg_record, recorded, text};

/// A program with frames of several kinds, and the C library's between them.
const PROGRAM: &str = r#"
#include <stdlib.h>
#include <string.h>
static volatile unsigned long x;
__attribute__((noinline)) void spin(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; x++; }
static int by_value(const void *a, const void *b) { spin(300); return (*(int *)a > *(int *)b) - (*(int *)a < *(int *)b); }
__attribute__((noinline)) int sorted(int n) { int v[512]; for (int i = 0; i < n; i++) v[i] = i * 7919 % n; qsort(v, n, sizeof *v, by_value); return v[n / 2]; }
__attribute__((noinline)) int deep(int n) { char room[48]; memset(room, n, sizeof room); if (!n) { spin(100000); return 1; } return deep(n - 1) + room[n % 48]; }
__attribute__((noinline)) int sized(int n) { char room[n]; memset(room, 1, n); spin(100000); return deep(3) + room[n / 2]; }
int main(void) { int r = 0; for (int i = 0; i < 200; i++) r += sorted(300 + i) + deep(20) + sized(100 + i % 50); return r == 1; }
"#;

/// Compiles with tables of both kinds; `None`, said, if the assembler makes none of these.
fn built(folder: &Path) -> Option<std::path::PathBuf> {
    if !works("cc") {
        return None;
    }
    let (source, app) = (folder.join("app.c"), folder.join("app"));
    fs::write(&source, PROGRAM).expect("a source");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-Wa,--gsframe", "-o"]);
    let output = compiler.arg(&app).arg(&source).output().expect("cc starts");
    let listed = Command::new("objdump").arg("-h").arg(&app).output();
    let Ok(listed) = listed.as_ref().map(|listed| text(&listed.stdout)) else {
        skip("objdump is not installed");
        return None;
    };
    if !listed.contains(".sframe") {
        skip(format_args!("as makes no .sframe: {}", text(&output.stderr)));
        return None;
    }
    Some(app)
}

/// Takes the usual tables out of a program.
fn without_eh_frame(app: &Path) {
    let mut objcopy = Command::new("objcopy");
    objcopy.args(["-R", ".eh_frame", "-R", ".eh_frame_hdr"]).arg(app);
    // It would warn of a segment that is empty now.
    assert!(objcopy.output().expect("objcopy starts").status.success());
}

/// The stacks that a recording has, without its header.
fn collapsed(recording: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fg-collapse")).arg(recording).output();
    text(&output.expect("fg-collapse starts").stdout)
}

#[test]
fn both_kinds_of_tables_tell_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(app) = built(folder.path()) else { return };
    let recording = folder.path().join("perf.data");
    let mut command = fg_record();
    command.args(["--raw", "-F", "997", "-o"]).arg(&recording).arg("--").arg(&app);
    let Some(output) = recorded(&mut command) else { return };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let by_eh_frame = collapsed(&recording);
    without_eh_frame(&app);
    let by_sframe = collapsed(&recording);
    assert!(
        by_eh_frame.contains(";main;sorted;") && by_eh_frame.contains(";by_value;spin "),
        "{by_eh_frame}"
    );
    assert_eq!(by_sframe, by_eh_frame);
}

#[test]
fn stacks_are_whole_while_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(app) = built(folder.path()) else { return };
    without_eh_frame(&app);
    let Some(output) = recorded(fg_record().args(["-F", "997", "--"]).arg(&app)) else { return };
    let folded = text(&output.stdout);
    let (mut all, mut whole) = (0, 0);
    for line in folded.lines().filter(|line| !line.starts_with('#')) {
        let (stack, weight) = line.rsplit_once(' ').expect("a weight");
        // The loader and the beginning of the program have no `main`.
        if !stack.contains("spin") {
            continue;
        }
        let weight: u64 = weight.parse().expect("a number");
        all += weight;
        whole += if stack.contains(";main;") { weight } else { 0 };
    }
    assert!(all > 0 && whole * 10 >= all * 9, "{whole} of {all}: {folded}");
    assert!(folded.contains(";main;deep;deep;deep;"), "{folded}");
}
