//! Traces as text, and their stacks.

use super::*;
use crate::collapse::{CollapseOptions, ValueSelection};
use crate::folded::StackTable;

fn collapsed(events: &str, options: &CollapseOptions) -> (String, Vec<String>) {
    let text = format!("[{events}");
    let input = Input::new("test", Box::new(std::io::Cursor::new(text.clone()))).unwrap();
    assert_eq!(Trace.detect(text.as_bytes()), Certainty::Yes);
    let (mut table, mut report) = (StackTable::default(), Report::default());
    Trace.collapse(input, &Reading::alone(options), &mut table, &mut report).unwrap();
    let mut out = Vec::new();
    table.write(&mut out).unwrap();
    (String::from_utf8(out).unwrap(), report.notes)
}

fn event(phase: &str, name: &str, at: &str, more: &str) -> String {
    format!(r#"{{"ph":"{phase}","name":"{name}","pid":1,"tid":2,"ts":{at}{more}}},"#)
}

#[test]
fn time_is_that_of_what_was_begun_last() {
    let events = [
        // Not in the order of time.
        event("X", "c", "4", r#","dur":2.5"#),
        event("B", "a", "0", ""),
        event("B", "b;", "1", r#","args":{"filename":"x.py","line":3}"#),
        event("E", "b;", "3", ""),
        event("E", "", "10", ""),
        event("X", "d", "10", r#","dur":1"#),
        event("X", "e", "10", r#","dur":1"#),
        event("i", "instant", "11", ""),
        event("E", "never begun", "12", ""),
        event("B", "never ended", "13", ""),
        event("X", "f", "14", r#","dur":9"#),
    ];
    let (out, notes) = collapsed(&events.concat(), &CollapseOptions::default());
    assert_eq!(out, "a 5.5\na;b: (x.py:3) 2\na;c 2.5\nd;e 1\nnever ended 1\nnever ended;f 9\n");
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("1 events end") && notes[1].starts_with("1 events have no stack"));
}

#[test]
fn what_nests_badly_loses_no_time_of_what_it_is_in() {
    let events = [event("X", "a", "0", r#","dur":10"#), event("X", "b", "5", r#","dur":10"#)];
    let said = "1 events outlast the event they lie in, as no call does; what is behind its end is left out";
    let (out, notes) = collapsed(&events.concat(), &CollapseOptions::default());
    assert_eq!((&out[..], &notes[..]), ("a 5\na;b 5\n", &[said.to_owned()][..]));
    // So do beginnings and ends, as `go build -debug-trace` has them.
    let events = [
        event("B", "a", "0", ""),
        event("B", "b", "5", ""),
        event("E", "a", "10", ""),
        event("E", "b", "15", ""),
    ];
    let (out, notes) = collapsed(&events.concat(), &CollapseOptions::default());
    assert_eq!((&out[..], &notes[..]), ("a 5\na;b 5\n", &[said.to_owned()][..]));
    // Rounding is no overlap.
    let events = [event("X", "a", "0", r#","dur":10"#), event("X", "b", "5", r#","dur":6"#)];
    assert_eq!(
        collapsed(&events.concat(), &CollapseOptions::default()),
        ("a 5\na;b 5\n".to_owned(), Vec::new())
    );
}

#[test]
fn threads_that_are_named_are_frames() {
    let name = |tid: u32, name: &str| {
        format!(r#"{{"ph":"M","name":"thread_name","pid":1,"tid":{tid},"args":{{"name":"{name}"}}}},"#)
    };
    let span = |tid: u32| format!(r#"{{"ph":"X","name":"f","pid":1,"tid":{tid},"ts":1,"dur":2}},"#);
    let text = [name(1, "main"), span(1), span(2), name(2, "")].concat();
    assert_eq!(collapsed(&text, &CollapseOptions::default()).0, "f 2\nmain;f 2\n");
    let tid = CollapseOptions { tid: true, ..CollapseOptions::default() };
    assert_eq!(collapsed(&text, &tid).0, "[unnamed]-1/2;f 2\nmain-1/1;f 2\n");
    assert_eq!(collapsed(&[name(1, "main"), span(1)].concat(), &CollapseOptions::default()).0, "f 2\n");
}

#[test]
fn a_profile_in_pieces_is_what_counts() {
    let node = |id: u32, name: &str, parent: &str| {
        format!(r#"{{"id":{id},"callFrame":{{"functionName":"{name}","url":"","lineNumber":-1}}{parent}}}"#)
    };
    let piece = |at: u32, nodes: &str, samples: &str, deltas: &str| {
        format!(
            r#"{{"args":{{"data":{{"cpuProfile":{{"nodes":[{nodes}],"samples":[{samples}]}},"timeDeltas":[{deltas}]}}}},"ph":"P","name":"ProfileChunk","pid":1,"tid":9,"id":"0x1","ts":{at}}},"#
        )
    };
    let first = piece(1, &[node(1, "(root)", ""), node(2, "f", r#","parent":1"#)].join(","), "2", "5");
    let second = piece(2, &node(3, "g", r#","parent":2"#), "3,1", "7,1");
    let end = r#"{"args":{"data":{"endTime":20}},"ph":"P","name":"ProfileChunk","pid":1,"tid":9,"id":"0x1","ts":3},"#;
    let profile = event("P", "Profile", "0", r#","id":"0x1""#);
    let other = event("X", "other", "1", r#","dur":100"#);
    // As Chrome writes the pieces: in any order.
    for text in [
        [&profile[..], &first, &second, end, &other],
        [end, &second, &other, &first, &profile],
        [&second, &profile, end, &first, &other],
    ] {
        let (folded, notes) = collapsed(&text.concat(), &CollapseOptions::default());
        assert_eq!((folded.as_str(), notes.len()), ("(root) 7\nf 7\nf;g 1\n", 0), "{notes:?}");
    }
    let text = [&profile[..], &first, &second, end, &other];
    let events = CollapseOptions {
        values: crate::collapse::ValueSelection::Named(vec![b"events".to_vec()]),
        ..CollapseOptions::default()
    };
    assert_eq!(collapsed(&text.concat(), &events).0, "other 100\n");
    // The piece with the nodes of the others is lost.
    let (folded, notes) = collapsed(&[&profile[..], &second, end].concat(), &CollapseOptions::default());
    assert_eq!(folded, "g 1\n");
    assert_eq!(
        notes,
        [
            "1 samples (12 us) are of nodes that do not exist; they are left out",
            "1 nodes name a parent or child that does not exist"
        ]
    );
    // Another profile of the same number begins: its nodes are its own.
    let again = event("P", "Profile", "30", r#","id":"0x1""#);
    let third = piece(31, &node(2, "h", ""), "2,2", "1,4");
    let (folded, notes) = collapsed(
        &[&profile[..], &first, &second, end, &again, &third].concat(),
        &CollapseOptions::default(),
    );
    assert_eq!((folded.as_str(), notes.len()), ("(root) 7\nf 7\nf;g 1\nh 4\n", 0), "{notes:?}");
}

/// A trace as PyTorch writes it: Python, an operator, a launch, and a kernel on stream 7.
fn pytorch() -> String {
    [
        r#"{"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"python"}},"#,
        r#"{"ph":"M","name":"thread_name","pid":0,"tid":7,"args":{"name":"stream 7"}},"#,
        r#"{"ph":"X","cat":"python_function","name":"train.py(12): step","pid":9,"tid":9,"ts":0,"dur":100},"#,
        r#"{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":10,"dur":20,"args":{"External id":5}},"#,
        r#"{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":12,"dur":3,"args":{"External id":5,"correlation":91}},"#,
        r#"{"ph":"X","cat":"kernel","name":"void gemm<4>(float*)","pid":0,"tid":7,"ts":31,"dur":12.5,"args":{"External id":5,"correlation":91}},"#,
        r#"{"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":30,"dur":80},"#,
        r#"{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":9,"ts":11,"args":{"Bytes":64,"Device Type":1}},"#,
        r#"{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":9,"ts":40,"args":{"Bytes":8,"Device Type":0}},"#,
        r#"{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":9,"ts":41,"args":{"Bytes":-8,"Device Type":0}},"#,
        r#"{"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler","ts":0,"dur":900},"#,
    ]
    .concat()
}

fn choose(names: &[&str]) -> CollapseOptions {
    let names = names.iter().map(|name| name.as_bytes().to_vec()).collect();
    CollapseOptions { values: crate::collapse::ValueSelection::Named(names), ..CollapseOptions::default() }
}

#[test]
fn kernels_are_below_the_stack_that_launched_them() {
    let host = "step (train.py:12) 80\nstep (train.py:12);aten::mm 17\n\
                step (train.py:12);aten::mm;cudaLaunchKernel 3\n";
    let (folded, notes) = collapsed(&pytorch(), &CollapseOptions::default());
    assert_eq!((folded.as_str(), notes.len()), (host, 1), "{notes:?}");
    let launched = "step (train.py:12);aten::mm;cudaLaunchKernel;void gemm<4> 12.5\n";
    let (folded, notes) = collapsed(&pytorch(), &choose(&["gpu"]));
    assert_eq!((folded.as_str(), notes.len()), (launched, 1), "{notes:?}");
    let both = collapsed(&pytorch(), &choose(&["events", "gpu"])).0;
    assert_eq!(both, format!("{host}{launched}"));
    for (value, expected) in
        [("allocated", "step (train.py:12) 8\n"), ("gpu-allocated", "step (train.py:12);aten::mm 64\n")]
    {
        assert_eq!(collapsed(&pytorch(), &choose(&[value])).0, expected);
    }
}

#[test]
fn kernels_without_their_launch_are_below_their_operator_or_nothing() {
    let without_call = pytorch().replace(r#","correlation":91"#, "");
    assert_eq!(
        collapsed(&without_call, &choose(&["gpu"])).0,
        "step (train.py:12);aten::mm;void gemm<4> 12.5\n"
    );
    let other_call = pytorch().replacen(r#""correlation":91"#, r#""correlation":90"#, 1);
    assert_eq!(
        collapsed(&other_call, &choose(&["gpu"])).0,
        "step (train.py:12);aten::mm;void gemm<4> 12.5\n"
    );
    let none = other_call.replacen(r#""External id":5"#, r#""External id":6"#, 2);
    let (folded, notes) = collapsed(&none, &choose(&["gpu"]));
    assert_eq!(folded, "[no stack];void gemm<4> 12.5\n");
    assert!(notes.iter().any(|note| note.contains("the launch of 1 pieces")), "{notes:?}");
}

#[test]
fn a_graph_launches_many_kernels() {
    let kernel = |at: u32, name: &str| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{at},"dur":1,"args":{{"correlation":3}}}},"#
        )
    };
    let graph = r#"{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":9,"tid":9,"ts":0,"dur":9,"args":{"correlation":3}},"#;
    let text = [&kernel(20, "a"), &kernel(21, "b"), graph, &kernel(22, "a")].map(|text| text.to_owned());
    assert_eq!(collapsed(&text.concat(), &choose(&["gpu"])).0, "cudaGraphLaunch;a 2\ncudaGraphLaunch;b 1\n");
}

#[test]
fn work_of_jax_is_in_processes_of_devices() {
    let text = [
        r#"{"ph":"M","name":"process_name","pid":1,"args":{"name":"/device:GPU:0"}},"#,
        r#"{"ph":"M","name":"process_name","pid":701,"args":{"name":"/host:CPU"}},"#,
        r#"{"ph":"X","name":"$train.py:7 step","pid":701,"tid":1,"ts":0,"dur":50},"#,
        r#"{"ph":"X","name":"cuLaunchKernel","pid":701,"tid":1,"ts":5,"dur":2,"args":{"correlation_id":"4"}},"#,
        r#"{"ph":"X","name":"fusion","pid":1,"tid":14,"ts":9,"dur":6,"args":{"correlation_id":"4","hlo_op":"fusion"}},"#,
        r#"{"ph":"X","name":"jit_step","pid":1,"tid":2,"ts":9,"dur":6},"#,
    ]
    .concat();
    assert_eq!(
        collapsed(&text, &CollapseOptions::default()).0,
        "step (train.py:7) 48\nstep (train.py:7);cuLaunchKernel 2\n"
    );
    let (folded, notes) = collapsed(&text, &choose(&["gpu"]));
    assert_eq!(folded, "step (train.py:7);cuLaunchKernel;fusion 6\n");
    assert_eq!(notes, ["1 events summarise the work of a device; they are left out"]);
}

#[test]
fn binary_fractions_become_the_decimals_that_were_meant() {
    for (text, meant) in [
        ("10.749000000000001", "10.749"),
        ("9.9999999999999995e-07", "0.000001"),
        ("-61.404000000000003", "-61.404"),
        ("6096.138000000035", "6096.138"),
        ("4720987.302000002", "4720987.302"),
        ("4826972857.8950005", "4826972857.895"),
        ("1716400000123456.789", "1716400000123456.789"),
        ("1716400000123456.78912345", "1716400000123456.789"),
        ("0.123456789", "0.123456789"),
        ("0.001989353000681149", "0.001989353000681149"),
        ("12", "12"),
    ] {
        assert_eq!(as_meant(parse_number(text).unwrap()).to_string(), meant, "{text}");
    }
}

#[test]
fn spans_of_compilers_say_what_they_are_about() {
    let detail = |name: &str, at: &str| {
        event("X", name, at, &format!(r#","dur":2,"args":{{"detail":"/usr/include/{name};h"}}"#))
    };
    let sum = event("X", "Total Source", "0", r#","dur":9,"args":{"count":3,"avg ms":3}"#);
    let other = event("X", "Total", "6", r#","dur":1,"cat":"x","args":{"count":3,"detail":"d"}"#);
    let (out, notes) = collapsed(
        &[detail("Source", "0"), sum, detail("Source", "4"), other].concat(),
        &CollapseOptions::default(),
    );
    assert_eq!((out.as_str(), notes.len()), ("Source /usr/include/Source:h 4\nTotal 1\n", 0));
    let check = [
        event("B", "checkSourceFile", "0", r#","cat":"check","args":{"path":"a.ts"}"#),
        event("X", "checkExpression", "1", r#","dur":2,"cat":"check","args":{"pos":3,"path":"a.ts"}"#),
        event("E", "checkSourceFile", "5", r#","cat":"check","args":{"path":"a.ts"}"#),
    ];
    let (out, _) = collapsed(&check.concat(), &CollapseOptions::default());
    let include = event("X", "include", "0", r#","dur":3,"args":{"location":"/app/CMakeLists.txt:2"}"#);
    assert_eq!(collapsed(&include, &CollapseOptions::default()).0, "include (/app/CMakeLists.txt:2) 3\n");
    let target = event("X", "build", "0", r#","dur":3,"args":{"location":"https://a/b:c"}"#);
    assert_eq!(collapsed(&target, &CollapseOptions::default()).0, "build 3\n");
    assert_eq!(out, "checkSourceFile a.ts 3\ncheckSourceFile a.ts;checkExpression 2\n");
}

#[test]
fn asynchronous_spans_nest_by_their_number() {
    let events = [
        event("b", "load", "0", r#","cat":"net","id":"0x1""#),
        event("b", "load", "2", r#","cat":"net","id2":{"odd":[0],"local":"0x2"}"#),
        event("b", "parse", "4", r#","cat":"net","id":"0x1""#),
        // Another category is another task.
        event("e", "load", "5", r#","cat":"other","id":"0x1""#),
        event("e", "parse", "7", r#","cat":"net","id":"0x1""#),
        event("e", "load", "9", r#","cat":"net","id2":{"local":"0x2"}"#),
        event("e", "load", "10", r#","cat":"net","id":"0x1""#),
    ]
    .concat();
    let said = "1 events end that have not begun; they are left out".to_owned();
    let expected = ("load 14\nload;parse 3\n".to_owned(), vec![said]);
    assert_eq!(collapsed(&events, &CollapseOptions::default()), expected);
    // Spans of threads come first, and do not tell the others apart.
    let with = events + &event("X", "a", "3", r#","dur":1"#);
    assert_eq!(collapsed(&with, &CollapseOptions::default()), ("a 1\n".to_owned(), Vec::new()));
    let tasks = CollapseOptions {
        values: crate::collapse::ValueSelection::Named(vec![b"async".to_vec()]),
        ..CollapseOptions::default()
    };
    assert_eq!(collapsed(&with, &tasks), expected);
}

#[test]
fn a_trace_that_is_cut_says_so() {
    let event = event("X", "a", "0", r#","dur":10"#);
    for (text, is_cut) in [
        (format!("[{event}{event}"), false),
        (format!("[{event}{}", &event[..20]), true),
        (format!(r#"{{"traceEvents":[{event}"#), false),
        (format!(r#"{{"traceEvents":[{event}{}"#, &event[..event.len() - 5]), true),
    ] {
        let input = Input::new("test", Box::new(std::io::Cursor::new(text.clone()))).unwrap();
        let (mut table, mut report) = (StackTable::default(), Report::default());
        Trace.collapse(input, &Reading::alone(&CollapseOptions::default()), &mut table, &mut report).unwrap();
        assert_eq!(table.len(), 1);
        let is_object = text.starts_with('{');
        assert_eq!(report.not_understood.ends_within_record.is_some(), is_cut || is_object, "{text}");
    }
    let input = Input::new("test", Box::new(std::io::Cursor::new(event[..20].to_owned()))).unwrap();
    let (mut table, mut report) = (StackTable::default(), Report::default());
    assert!(
        Trace.collapse(input, &Reading::alone(&CollapseOptions::default()), &mut table, &mut report).is_err(),
        "nothing was read"
    );
}

#[test]
fn whole_profiles_of_older_versions_are_what_counts() {
    let node = |id: u32, name: &str, children: &str| {
        format!(
            r#"{{"id":{id},"callFrame":{{"functionName":"{name}","url":"","lineNumber":-1}},"hitCount":1,"children":[{children}]}}"#
        )
    };
    let profile = |thread: u32, name: &str| {
        let nodes = [node(1, "(root)", "2"), node(2, name, "")].join(",");
        format!(
            r#"{{"ph":"I","name":"CpuProfile","cat":"disabled-by-default-devtools.timeline","pid":1,"tid":{thread},"ts":500,"args":{{"data":{{"cpuProfile":{{"nodes":[{nodes}],"startTime":100,"endTime":180,"samples":[2,2],"timeDeltas":[10,30]}}}}}}}},"#
        )
    };
    let text = [event("X", "task", "4", r#","dur":2"#), profile(2, "f"), profile(3, "g")].concat();
    assert_eq!(collapsed(&text, &CollapseOptions::default()), ("f 70\ng 70\n".to_owned(), Vec::new()));
}

#[test]
fn older_kernels_of_pytorch_are_the_work_of_a_gpu() {
    let launch = r#","dur":3,"cat":"Runtime","args":{"correlation":91}"#;
    let kernel = r#","dur":12,"cat":"Kernel","args":{"correlation":91,"stream":7}"#;
    let text = [event("X", "cudaLaunchKernel", "20", launch), event("X", "gemm", "31", kernel)].concat();
    let gpu = CollapseOptions {
        values: ValueSelection::Named(vec![b"gpu".to_vec()]),
        ..CollapseOptions::default()
    };
    assert_eq!(collapsed(&text, &gpu).0, "cudaLaunchKernel;gemm 12\n");
}
