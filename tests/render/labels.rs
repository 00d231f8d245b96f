//! Labels of a recording as root frames, as rows of tables and as weights.

use super::{run, run_in};

/// Two endpoints in two threads, as other programs write events of the kernel.
const EVENTS: &str = "pool 1  7/8 [001] 12.000000: kmem:kmalloc: ptr=0x9 bytes_req=64 zone=a\n\
    \tffff1 kmalloc+0x1 ([kernel.kallsyms])\n\tffff2 serve+0x1 ([kernel.kallsyms])\n\n\
    pool 2  7/9 [000] 13.500000: kmem:kmalloc: ptr=0x9 bytes_req=8 zone=b\n\
    \tffff1 kmalloc+0x1 ([kernel.kallsyms])\n\n\
    pool 2  7/9 [000] 13.600000: kmem:kmalloc: ptr=0x9 zone=b\n\
    \tffff1 kmalloc+0x1 ([kernel.kallsyms])\n\n";

/// Folded text with labels.
const TIMED: &str = "# unit: ns\n# labels: time, endpoint\n\
    time=000000.000s;endpoint=/a;main;f 40\n\
    time=000000.500s;endpoint=/b;main;f 40\n\
    time=000001.000s;endpoint=;main;g 10\n\
    time=000001.500s;endpoint=/b;main;g 90\n";

const FOLDED: &[&str] = &["--format", "collapsed", "--no-header"];

fn written(arguments: &[&str], input: &str) -> String {
    let run = run(arguments, input);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{arguments:?}");
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn labels_of_a_recording_are_drawn_at_the_root() {
    let folded = |labels: &[&str], input| written(&[FOLDED, labels].concat(), input);
    assert_eq!(
        folded(&["--label", "thread"], EVENTS),
        "thread=pool 1;pool_1;serve;kmalloc 1\nthread=pool 2;pool_2;kmalloc 2\n"
    );
    assert_eq!(
        folded(&["--label", "time=1s", "--label", "zone"], EVENTS),
        "time=000000.000s;zone=a;pool_1;serve;kmalloc 1\ntime=000001.000s;zone=b;pool_2;kmalloc 2\n"
    );
    let svg = run(&["--label", "zone"], EVENTS);
    assert!(svg.text().contains("<title>zone=b (2"), "{}", svg.text());
    // What text has of labels is replaced by what is asked for.
    assert_eq!(
        folded(&["--label", "endpoint"], TIMED),
        "endpoint=;main;g 10\nendpoint=/a;main;f 40\nendpoint=/b;main;f 40\nendpoint=/b;main;g 90\n"
    );
}

#[test]
fn a_page_with_labels_keeps_its_time_line() {
    let page =
        |arguments: &[&str]| run(&[&["--format", "html"], arguments].concat(), EVENTS).text().to_owned();
    let has_times = |page: &str| page.contains("data-time-deltas");
    let (plain, labelled) = (page(&[]), page(&["--label", "zone"]));
    assert_eq!(has_times(&plain), has_times(&labelled));
    assert!(has_times(&plain) && !has_times(&page(&["--no-time"])));
}

#[test]
fn values_of_a_label_have_rows() {
    for (format, rows) in [
        (
            "tsv",
            "/b\t130\t72.222222\t130\t72.222222\tns\n/a\t40\t22.222222\t40\t22.222222\tns\n\
                 [no endpoint]\t10\t5.555556\t10\t5.555556\tns\n",
        ),
        ("top", "3 values of endpoint\n"),
        ("markdown", "| `/b` | 130 ns | 72.22% | 130 ns | 72.22% |"),
    ] {
        let table = written(&["--format", format, "--by", "endpoint"], TIMED);
        assert!(table.contains(rows), "{table}");
    }
    // The tree has the label at its roots, and leaf first at its ends.
    let tree = written(&["--format", "markdown", "--by", "endpoint"], TIMED);
    assert!(tree.contains("72.22%  endpoint=/b\n"), "{tree}");
    for more in [&["--reverse"][..], &["--label", "time=1s"], &["--label", "time=1s", "--label", "endpoint"]]
    {
        let table = written(&[&["--format", "tsv", "--by", "endpoint"], more].concat(), TIMED);
        assert!(table.contains("\n/b\t130\t"), "{more:?}: {table}");
    }
    let seconds = written(&["--format", "tsv", "--by", "time=1s", "--sort", "name"], TIMED);
    assert!(seconds.contains("\n000000.000s\t80\t") && seconds.contains("\n000001.000s\t100\t"), "{seconds}");
    let recorded = written(&["--format", "tsv", "--by", "process"], EVENTS);
    assert!(recorded.contains("\n7\t3\t100.000000"), "{recorded}");
}

#[test]
fn numbers_of_a_label_are_the_weights() {
    let run = run(&[FOLDED, &["--weight-by", "bytes_req"]].concat(), EVENTS);
    let said = "fg-render: left out 1 samples without a number as bytes_req\n";
    assert_eq!((run.text(), run.stderr.as_str()), ("pool_1;serve;kmalloc 64\npool_2;kmalloc 8\n", said));
}

#[test]
fn labels_that_cannot_be_shown_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["--label", "endpint"][..], "no label \"endpint\"; it has"),
        (&["--format", "top", "--by", "endpint"], "no label \"endpint\"; it has"),
        (&["--label", "x=1"], "takes no value"),
        (&["--label", "zone", "-o", "a.pb.gz"], "mean nothing to pprof"),
        (&["--by", "zone"], "--by means nothing to svg"),
    ] {
        let run = run_in(folder.path(), arguments, EVENTS);
        assert!(run.status == 2 && run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn order_of_time_needs_times() {
    let written = |text: &str| run(&[FOLDED, &["--order", "time"]].concat(), text);
    let timed = written(
        "# labels: time, thread\ntime=000000.000s;thread=a;main;g 4\ntime=000000.020s;thread=a;main;f 6\n",
    );
    assert_eq!((timed.text(), timed.stderr.as_str()), ("thread=a;main;g 4\nthread=a;main;f 6\n", ""));
    let labelled = written("# labels: thread\nthread=a;main;f 6\nthread=a;main;g 4\n");
    let said = "fg-render: -: the stacks have labels of thread, and none of time: --order time needs times\n";
    assert_eq!((labelled.status, labelled.stderr.replace("standard input", "-").as_str()), (2, said));
    // Plain text is in its own order.
    assert_eq!(written("main;g 4\nmain;f 6\n").text(), "main;g 4\nmain;f 6\n");
}

#[test]
fn json_has_the_values_of_a_label() {
    let json = |arguments: &[&str], input: &str| -> serde_json::Value {
        serde_json::from_str(&written(&[&["--format", "json"], arguments].concat(), input)).unwrap()
    };
    let by = json(&["--by", "endpoint"], TIMED);
    assert_eq!(by["by"], "endpoint");
    assert_eq!(
        by["rows"],
        serde_json::json!([
            {"name": "/b", "self": 130, "total": 130},
            {"name": "/a", "self": 40, "total": 40},
            {"name": "[no endpoint]", "self": 10, "total": 10},
        ])
    );
    assert_eq!(by["functions"].as_array().unwrap().iter().filter(|row| row["name"] == "g").count(), 1);
    let threads = json(&["--by", "thread"], EVENTS);
    assert_eq!(threads["by"], "thread");
    assert_eq!(threads["rows"][0], serde_json::json!({"name": "pool_2", "self": 2, "total": 2}));
    let plain = json(&[], TIMED);
    assert!(plain["by"].is_null() && plain["rows"].is_null());
}
