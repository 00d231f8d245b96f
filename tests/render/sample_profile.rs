//! `--format llvm-prof`: profiles for compilers. `calc.c` was built by clang 22 with `-O2 -gmlt
//! -fdebug-info-for-profiling`, `calc-next` from the same with another line in `weigh`. `branches.prof` is what
//! llvm-profgen 22.1 makes of `branches.data`; `samples.prof` has the lines and counts that it makes of the
//! addresses of `samples.data`.

use std::path::Path;
use std::process::Command;

use super::installed::works;
use super::{run_in, text};

fn file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/render/sample_profile");
    folder.join(name).to_str().unwrap().to_owned()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap()
}

/// Makes a profile; what was written, and what was said.
#[track_caller]
fn profile(arguments: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let run = run_in(folder.path(), &[&["--format", "llvm-prof"], arguments].concat(), "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    (text(run.stdout), run.stderr)
}

#[test]
fn branches_are_counted_as_llvm_profgen_counts_them() {
    let (written, said) = profile(&["--binary", &file("calc"), &file("branches.data.gz")]);
    assert_eq!(written, read("branches.prof"));
    let part = "100.00% of the samples are in calc; 100.00% of its code between branches are in functions with \
                debug information, 99.89% at lines; 5 functions";
    assert!(said.contains(part), "{said}");
}

#[test]
fn samples_are_counted_by_line_and_discriminator() {
    assert_eq!(profile(&["--binary", &file("calc"), &file("samples.data.gz")]).0, read("samples.prof"));
    // The weights of samples that weigh the same are counts.
    let counted = profile(&["--count-samples", "--binary", &file("calc"), &file("samples.data.gz")]).0;
    assert_eq!(counted, read("samples.prof"));
}

/// The program is where it was recorded, below another root.
#[test]
fn the_program_with_most_samples_is_found() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("src")).unwrap();
    std::fs::copy(file("calc"), root.path().join("src/calc")).unwrap();
    let root = root.path().to_str().unwrap();
    for name in ["samples", "branches"] {
        let (written, _) = profile(&["--symfs", root, &file(&format!("{name}.data.gz"))]);
        assert_eq!(written, read(&format!("{name}.prof")));
    }
}

#[test]
fn a_later_build_is_told_how_much_still_fits() {
    let of = |built: &str| {
        let built = file(built);
        let arguments = ["--binary", &file("calc"), "--stale-against", &built, &file("samples.data.gz")];
        let (written, said) = profile(&arguments);
        assert_eq!(written, read("samples.prof"));
        said.lines()
            .filter(|line| line.contains("stale") || line.contains(" fit "))
            .map(str::to_owned)
            .collect()
    };
    let same: Vec<String> = of("calc");
    assert!(same.len() == 1 && same[0].contains("100.00% of the counts fit"), "{same:?}");
    let next: Vec<String> = of("calc-next");
    // The lines of `weigh`, wherever it is inlined.
    assert!(
        next[0].contains("87.56% of the counts fit") && next[1].ends_with("stale: 12.44% weigh"),
        "{next:?}"
    );
}

#[test]
fn what_cannot_be_made_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let samples = file("samples.data.gz");
    let calc = file("calc");
    let source = file("calc.c");
    for (arguments, stdin, expected) in [
        (vec![], "main;f 1\n", "made from addresses, which this input has not"),
        (vec!["--binary", "/bin/sh", &samples], "", "no sample is in /bin/sh"),
        (vec!["--binary", &source, &samples], "", "cannot be used"),
        (vec![&samples], "", "was not found; --binary FILE names another place"),
        (vec!["--binary", &calc, "--stale-against", "/nowhere", &samples], "", "/nowhere was not found"),
    ] {
        let run = run_in(folder.path(), &[&["-q", "--format", "llvm-prof"], &arguments[..]].concat(), stdin);
        assert_eq!((run.status, run.stdout.len()), (2, 0), "{}", run.stderr);
        assert!(run.stderr.contains(expected) && run.stderr.lines().count() == 1, "{}", run.stderr);
    }
}

/// Filters leave out stacks, and which branches were theirs is not known.
#[test]
fn filtered_branches_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::copy(file("calc"), folder.path().join("src/calc")).unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_fg-filter"))
        .args(["--ignore", "^main$", "--symfs", ".", "-o", "out.prof", &file("branches.data.gz")])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = text(&out.stderr);
    assert!(
        !out.status.success() && said.contains("the branches of the others cannot be told apart"),
        "{said}"
    );
}

/// LLVM's own reader takes the text, and finds the same functions in it.
#[test]
fn llvm_reads_it() {
    if !works("llvm-profdata") {
        return;
    }
    for name in ["samples.prof", "branches.prof"] {
        let out = Command::new("llvm-profdata").args(["show", "--sample", &file(name)]).output().unwrap();
        let shown = text(&out.stdout);
        assert!(out.status.success(), "{}", text(&out.stderr));
        for line in read(name).lines().filter(|line| !line.starts_with(' ')) {
            let [total, function] = line.rsplitn(3, ':').skip(1).collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            assert!(shown.contains(&format!("Function: {function}: {total}, ")), "{line}: {shown}");
        }
    }
}

/// Native code as OpenTelemetry's eBPF profiler writes it, by the conventions of its `reporter/internal/pdata`:
/// no functions, file names without folders, build ids as attributes.
fn otlp(build_id: &str) -> String {
    let location = |address: u64| format!("{{\"mappingIndex\":1,\"address\":\"{address}\"}}");
    let base = 0x5555_5555_4000u64;
    let [sum, main] = [0x19ae, 0x1860].map(|svma| location(base + svma));
    let (start, limit) = (base + 0x1000, base + 0x2000);
    format!(
        "{{\"resourceProfiles\":[{{\"scopeProfiles\":[{{\"profiles\":[{{\"sampleType\":{{\"typeStrindex\":1,\
         \"unitStrindex\":2}},\"samples\":[{{\"stackIndex\":1,\"values\":[\"7\"]}}]}}]}}]}}],\"dictionary\":{{\
         \"stringTable\":[\"\",\"samples\",\"count\",\"calc\",\"process.executable.build_id.gnu\",\"{build_id}\"],\
         \"attributeTable\":[{{}},{{\"keyStrindex\":4,\"value\":{{\"stringValue\":\"{build_id}\"}}}}],\
         \"mappingTable\":[{{}},{{\"memoryStart\":\"{start}\",\"memoryLimit\":\"{limit}\",\"filenameStrindex\":3,\
         \"attributeIndices\":[1]}}],\"locationTable\":[{{}},{sum},{main}],\"stackTable\":[{{}},\
         {{\"locationIndices\":[1,2]}}]}}}}\n"
    )
}

#[test]
fn native_frames_of_otlp_are_named_by_build_id() {
    let folder = tempfile::tempdir().unwrap();
    let collapse = |build_id: &str, arguments: &[&str]| {
        std::fs::write(folder.path().join("in.json"), otlp(build_id)).unwrap();
        let out = Command::new(env!("CARGO_BIN_EXE_fg-collapse"))
            .args([&["--no-header", "--inline", "--srcline", "in.json"], arguments].concat())
            // There perf keeps copies of programs by build id.
            .env("HOME", folder.path())
            .current_dir(folder.path())
            .output()
            .unwrap();
        (text(&out.stdout), text(&out.stderr))
    };
    let build_id = "1c855ff57ce0c8d45639c89a72ce969a9cb86815";
    let (stacks, said) = collapse(build_id, &[]);
    assert!(stacks.ends_with(" 7\n") && !stacks.contains("sum"), "{stacks}");
    assert!(said.contains("no names for 2 places in 1 file; calc was not found"), "{said}");
    // The file by its name, below a folder; and not one of another build.
    std::fs::copy(file("calc"), folder.path().join("calc")).unwrap();
    let (stacks, said) = collapse(build_id, &["--symfs", "."]);
    assert_eq!(stacks, NAMED);
    assert!(said.lines().count() == 1 && said.contains("otlp is read by its description alone"), "{said}");
    let (stacks, said) = collapse(&build_id.replace('1', "2"), &["--symfs", "."]);
    assert!(!stacks.contains("sum") && said.contains("has another build id"), "{said}");
}

/// As llvm-symbolizer has them: 0x19ae is in `sum`, 0x1860 in `next`, which is inlined into `main`.
const NAMED: &str = "main (/src/calc.c:34);next (/src/calc.c:9)_[i];sum (/src/calc.c:22) 7\n";
