//! Files that are gone when the recording ends: they are kept open while they are there.

use std::fs;
use std::process::Command;

use super::installed::works;
use super::{fg_record, recorded, share, stacks, text};

/// A program that deletes itself.
const PROGRAM: &str = r#"
#include <unistd.h>
static volatile unsigned long x;
__attribute__((noinline)) void inner(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; x++; }
__attribute__((noinline)) void outer(long n) { inner(n); x++; }
int main(int argc, char **argv) { unlink(argv[0]); outer(300000000); return 0; }
"#;

/// A program that puts another file in the place of a library that it uses.
const USER: &str = r#"
#include <stdio.h>
void in_library(long n);
int main(int argc, char **argv) { if (rename(argv[1], argv[2])) return 1; in_library(300000000); return 0; }
"#;

const LIBRARY: &str = r#"
static volatile unsigned long x;
__attribute__((noinline)) void in_depth(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; x++; }
void in_library(long n) { in_depth(n); x++; }
"#;

const OTHER_LIBRARY: &str = r#"
static volatile unsigned long x;
__attribute__((noinline)) void of_another(long n) { for (long i = 0; i < n; i++) x += i; x++; }
__attribute__((noinline)) void and_more(long n) { of_another(n); x++; }
void in_library(long n) { and_more(n); x++; }
"#;

fn compile(folder: &std::path::Path, name: &str, source_text: &str, options: &[&str]) {
    let source = folder.join(format!("{name}.c"));
    fs::write(&source, source_text).expect("a source");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-g", "-o", name]).arg(&source).args(options).current_dir(folder);
    assert!(compiler.status().expect("cc starts").success(), "{name}");
}

#[test]
fn a_program_that_deletes_itself_has_its_functions() {
    if !works("cc") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for build_id in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        compile(folder.path(), "passing", PROGRAM, &[build_id]);
        let Some(output) = recorded(fg_record().arg("--").arg(folder.path().join("passing"))) else { return };
        assert!(!folder.path().join("passing").exists());
        let folded = text(&output.stdout);
        assert!(share(&folded, "inner") > 0.5, "{build_id}: {output:?}");
        assert!(stacks(&folded).contains(";main;outer;inner"), "{build_id}: {folded}");
    }
}

#[test]
fn a_library_that_was_replaced_has_its_own_functions() {
    if !works("cc") {
        return;
    }
    for build_id in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        let folder = tempfile::tempdir().expect("a folder");
        compile(folder.path(), "libwork.so", LIBRARY, &["-shared", "-fPIC", build_id]);
        compile(folder.path(), "user", USER, &["-L.", "-l:libwork.so", "-Wl,-rpath,$ORIGIN"]);
        compile(folder.path(), "other.so", OTHER_LIBRARY, &["-shared", "-fPIC", build_id]);
        let mut command = fg_record();
        command.arg("--").arg(folder.path().join("user"));
        command.args([folder.path().join("other.so"), folder.path().join("libwork.so")]);
        let Some(output) = recorded(&mut command) else { return };
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let folded = text(&output.stdout);
        assert!(share(&folded, "in_depth") > 0.5, "{build_id}: {output:?}");
        assert!(stacks(&folded).contains(";main;in_library;in_depth"), "{build_id}: {folded}");
        assert!(!folded.contains("of_another"), "{build_id}: {folded}");
    }
}
