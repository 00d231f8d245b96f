//! Labels at the root of stacks: selected, dropped, renamed, and left alone by everything else.

use std::process::Command;

use super::feed::{feed, text};
use super::recordings::corpus;
use super::{filter, trouble};

const TIMED: &str = "# labels: time, thread\n\
    time=000000.000s;thread=a;main;f 1\n\
    time=000000.020s;thread=a;main;f 2\n\
    time=000000.040s;thread=b;main;g 4\n";

#[test]
fn operations_on_frames_do_not_see_labels() {
    let labels = "# labels: time, thread\n";
    for (arguments, stacks) in [
        (
            &["--skip-roots", "1"][..],
            "time=000000.000s;thread=a;f 1\ntime=000000.020s;thread=a;f 2\ntime=000000.040s;thread=b;g 4\n",
        ),
        (
            &["--reverse"],
            "time=000000.000s;thread=a;f;main 1\ntime=000000.020s;thread=a;f;main 2\n\
             time=000000.040s;thread=b;g;main 4\n",
        ),
        (&["--rooted-at", "time|thread"], ""),
        (&["--focus", "=b"], ""),
        (&["--focus", "g"], "time=000000.040s;thread=b;main;g 4\n"),
        (
            &["--depth", "1"],
            "time=000000.000s;thread=a;main 1\ntime=000000.020s;thread=a;main 2\n\
             time=000000.040s;thread=b;main 4\n",
        ),
        (&["--hide", "main", "--with-label", "thread=b"], "time=000000.040s;thread=b;g 4\n"),
    ] {
        let input = feed(Command::new(env!("CARGO_BIN_EXE_fg-filter")).args(arguments), TIMED);
        assert_eq!(text(&input.stdout), format!("{labels}{stacks}"), "{arguments:?}");
    }
}

#[test]
fn what_is_dropped_is_forgotten_by_the_header() {
    assert_eq!(
        filter(&["--drop-label", "time"], TIMED),
        "# labels: thread\nthread=a;main;f 3\nthread=b;main;g 4\n"
    );
    assert_eq!(
        filter(
            &["--drop-label", "time", "--rename-label", "thread=worker", "--with-label", "worker~b|c"],
            TIMED
        ),
        "# labels: worker\nworker=b;main;g 4\n"
    );
    // A frame that looks like a label is one only where the header says so.
    assert_eq!(filter(&["--skip-roots", "1"], "k=v;main 1\n"), "main 1\n");
}

#[test]
fn labels_that_are_not_there_are_an_error() {
    assert!(
        trouble(&["--with-label", "endpoint=/api"], TIMED)
            .contains("the stacks have the labels time, thread")
    );
    assert!(trouble(&["--time", "1s.."], "main 1\n").contains("the stacks have no labels"));
    for wrong in [
        "--time=5s",
        "--time=5s..4s",
        "--with-label=x",
        "--with-label=x~(",
        "--rename-label=time=x",
        "--drop-label=",
    ] {
        trouble(&[wrong], TIMED);
    }
    trouble(&["--rename-label", "endpoint=path"], TIMED);
    // To leave one out is no mistake.
    let dropped =
        feed(Command::new(env!("CARGO_BIN_EXE_fg-filter")).args(["--drop-label", "endpoint"]), TIMED);
    assert_eq!((dropped.status.code(), text(&dropped.stdout).as_str()), (Some(0), TIMED));
    let remark = "fg-filter: --drop-label endpoint: no stack has this label\n";
    assert_eq!(text(&dropped.stderr), remark);
    let nothing = feed(Command::new(env!("CARGO_BIN_EXE_fg-filter")).args(["--time", "9s.."]), TIMED);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(text(&nothing.stderr).contains("nothing ran in this range"), "{}", text(&nothing.stderr));
}

#[test]
fn a_recording_is_cut_as_its_labelled_text_is() {
    let Some(corpus) = corpus() else { return };
    let recording = corpus.join("austin/v4-wall.mojo");
    let recording = recording.to_str().unwrap();
    // A pattern and other operations see no label that only --time asked for.
    let stacks = |arguments: &[&str], input: &str| {
        let output = feed(Command::new(env!("CARGO_BIN_EXE_fg-filter")).args(arguments), input);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let direct =
        stacks(&["--no-header", "-e", "^P", "--time", "100ms..300ms", "--skip-roots", "2", recording], "");
    assert!(!direct.contains("time=") && !direct.contains("thread="), "{direct}");
    let folded =
        feed(Command::new(env!("CARGO_BIN_EXE_fg-collapse")).args(["--label", "time=1ms", recording]), "");
    let operations = ["--no-header", "--time", "100ms..300ms", "--drop-label", "time", "--skip-roots", "2"];
    assert_eq!(stacks(&operations, &text(&folded.stdout)), direct);
    let halves = ["..500ms", "500ms.."].map(|range| {
        let count = stacks(&["-c", "--time", range, recording], "");
        count.split(' ').nth(4).unwrap().parse::<u64>().unwrap()
    });
    // MANIFEST.md: what austin said.
    assert_eq!(halves[0] + halves[1], 4_171_618);
}
