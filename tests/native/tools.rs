//! Other tools asked about this very program, whichever the compiler and linker made it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fg_tools::symbolize::{Search, Symbolizer, SymbolizerOptions};

use super::installed::works;
use super::{RAW, module, names, nowhere, objects, resolve};

/// The output of a program for this input; `None` if the program does not work here.
fn run(program: &str, arguments: &[&str], input: &str) -> Option<String> {
    if !works(program) {
        return None;
    }
    let command = Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = command.expect("it starts");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Addresses of functions, as `nm` lists them: by address, all their names.
fn functions() -> Option<BTreeMap<u64, Vec<String>>> {
    let text = run("nm", &["--no-demangle", this_program().to_str().unwrap()], "")?;
    let mut functions: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let [address, kind, name] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
        if matches!(kind, "T" | "t" | "W" | "w" | "i") {
            let address = u64::from_str_radix(address, 16).unwrap();
            functions.entry(address).or_default().push(name.to_owned());
        }
    }
    (functions.len() > 1000).then_some(functions)
}

#[test]
#[cfg(target_os = "linux")]
fn nm_has_the_same_functions() {
    let Some(functions) = functions() else { return };
    let object = Search::default().open(&module(&this_program())).unwrap();
    let symbolizer =
        Symbolizer::new(&object, SymbolizerOptions { inline: false, demangle: false, srcline: false });
    for (address, all) in &functions {
        let found = names(&resolve(&symbolizer, *address));
        // nm writes versions of symbols that the table does not have.
        let same =
            |name: &String| found.iter().any(|found| name.split('@').next() == found.split('@').next());
        assert!(all.iter().any(same), "{address:#x}: {found:?} is none of {all:?}");
    }
}

/// Compares inlined functions and lines at every `step`th address of the code with llvm-symbolizer's, and
/// returns the number of inlined frames; `None` if llvm-symbolizer is not installed.
fn agrees_with_llvm_symbolizer(path: &Path, step: usize) -> Option<usize> {
    let object = nowhere().open(&module(path)).unwrap();
    let symbolizer = Symbolizer::new(&object, RAW);
    let addresses: Vec<u64> = object.section(b".text").unwrap().svma.step_by(step).collect();
    let input: String = addresses.iter().map(|at| format!("{at:#x}\n")).collect();
    let file = format!("--obj={}", path.display());
    let text = run("llvm-symbolizer", &[&file, "--no-demangle", "--inlines"], &input)?;
    let answers: Vec<&str> = text.trim_end().split("\n\n").collect();
    assert_eq!(answers.len(), addresses.len());
    let mut inlined = 0;
    for (address, answer) in addresses.iter().zip(answers) {
        let expected: Vec<&str> = answer.lines().step_by(2).filter(|name| *name != "??").collect();
        let frames = resolve(&symbolizer, *address);
        let found = names(&frames);
        assert_eq!(found.len(), expected.len(), "{address:#x}: {found:?}, llvm-symbolizer: {expected:?}");
        let depth = expected.len().saturating_sub(1);
        assert_eq!(found[..depth], expected[..depth], "{address:#x}");
        let lines =
            answer.lines().skip(1).step_by(2).filter_map(|place| place.split(':').nth(1)?.parse().ok());
        let lines: Vec<u32> = lines.take(found.len()).collect();
        let own: Vec<u32> =
            frames.iter().map(|frame| frame.place.as_ref().map_or(0, |place| place.line)).collect();
        assert_eq!(own, lines, "{address:#x}: {found:?}");
        inlined += depth;
    }
    Some(inlined)
}

#[test]
fn llvm_symbolizer_finds_the_same_in_rust() {
    let Some(inlined) = agrees_with_llvm_symbolizer(&objects().join("rusty.so"), 1) else { return };
    assert!(inlined > 500, "{inlined}");
}

#[test]
#[cfg(target_os = "linux")]
fn llvm_symbolizer_finds_the_same_in_cplusplus() {
    let temporary = tempfile::tempdir().unwrap();
    let source = objects().join("library.cpp");
    for version in ["-gdwarf-5", "-gdwarf-4"] {
        let program = temporary.path().join(version);
        let arguments = [version, "-O2", "-std=c++17", "-x", "c++", source.to_str().unwrap(), "-o"];
        let arguments = [&arguments[..], &[program.to_str().unwrap()]].concat();
        if run("c++", &arguments, "").is_none() {
            return;
        }
        let Some(inlined) = agrees_with_llvm_symbolizer(&program, 3) else { return };
        assert!(inlined > 5000, "{inlined}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn stubs_of_functions_that_are_chosen_at_the_start_have_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("chosen.c");
    let program = folder.path().join("chosen");
    let text = "static int one(int x) { return x + 1; }\n\
        static void *pick(void) { return one; }\n\
        int chosen(int) __attribute__((ifunc(\"pick\")));\n\
        int main(int n, char **v) { return chosen(n); }\n";
    std::fs::write(&source, text).unwrap();
    let (source, path) = (source.to_str().unwrap(), program.to_str().unwrap());
    for (flags, expected) in
        [(&["-O0"][..], "chosen@plt"), (&["-O0", "-static"], "memcpy@plt"), (&["-O0", "-s"], "*ABS*+")]
    {
        let arguments = [flags, &["-Wl,-z,lazy", "-o", path, source]].concat();
        if run("cc", &arguments, "").is_none() || !program.exists() {
            eprintln!("skipped: cc {flags:?} makes no program here");
            return;
        }
        let object = nowhere().open(&module(&program)).unwrap();
        let symbolizer = Symbolizer::new(&object, RAW);
        let stubs = [".plt", ".plt.sec", ".plt.got"].map(|name| object.section(name.as_bytes()));
        let addresses = stubs.into_iter().flatten().flat_map(|stubs| stubs.svma);
        let found: Vec<String> = addresses.flat_map(|at| names(&resolve(&symbolizer, at))).collect();
        assert!(!found.iter().any(|name| name == "@plt"), "{flags:?}: {found:?}");
        assert!(found.iter().any(|name| name.starts_with(expected)), "{flags:?}: {found:?}");
        std::fs::remove_file(&program).unwrap();
    }
}
