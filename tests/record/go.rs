//! Programs of Go's without symbols and unwind tables, as `go run` builds them.

use std::fs;
use std::process::Command;

use super::installed::works;
use super::{fg_record, recorded, stacks, text};
use crate::skip::skip;

/// A function without a frame, called by one with a small frame and by one with a large one.
const PROGRAM: &str = r#"package main

import "fmt"

//go:noinline
func leaf(n, x int) int {
	for i := 0; i < n; i++ {
		x = x*31 + i
	}
	return x
}

//go:noinline
func small(n int) int { return leaf(n, 1) + 1 }

//go:noinline
func large(n int) int {
	var all [1000]int
	for i := range all {
		all[i] = leaf(n/1000, i)
	}
	return all[n%1000]
}

func main() { fmt.Println(small(300000000) + large(300000000)) }
"#;

#[test]
fn stripped_go_programs_have_the_caller_of_a_leaf() {
    if !works("go") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("orders.go"), folder.path().join("orders"));
    fs::write(&source, PROGRAM).expect("a source");
    let mut go = Command::new("go");
    go.args(["build", "-ldflags=-s -w", "-o"]).arg(&program).arg(&source).env("GO111MODULE", "off");
    let built = go.output().expect("go starts");
    if !built.status.success() {
        skip(format!("go builds nothing: {}", text(&built.stderr)));
        return;
    }
    let Some(output) = recorded(fg_record().arg("--").arg(&program)) else { return };
    let folded = stacks(&text(&output.stdout));
    let whole = |caller: &str| folded.contains(&format!(";main.main;main.{caller};main.leaf"));
    assert!(whole("small") && whole("large"), "{output:?}");
    // The runtime interrupts what computes for long by a signal, whose handler has a stack of its own.
    let of_leaf = folded.lines().filter(|line| line.contains("main.leaf") && !line.contains(";runtime.sig"));
    let cut: Vec<&str> = of_leaf.filter(|line| !line.contains(";runtime.main;main.main;main.")).collect();
    assert!(cut.is_empty(), "without its caller: {cut:?}");
}
