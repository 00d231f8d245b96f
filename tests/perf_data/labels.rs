//! Labels of samples: fields of tracepoints, control groups, processors.

use std::process::{Command, Stdio};

use fg_tools::collapse::{CollapseOptions, ValueSelection};
use fg_tools::profile::{Label, Profile};
use fg_tools::reading::ReadOptions;
use fg_tools::{Source, Weight};

use super::kit::*;
use super::skip::skip;
use super::{below, root_with_maps};

const CODE: u64 = 0x7000_0000;

const KMALLOC: &str = "\u{17}\u{8}Dtracing0.6\0name: kmalloc\nID: 571\nformat:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
    \tfield:const void * ptr;\toffset:8;\tsize:8;\tsigned:0;\n\
    \tfield:size_t bytes_req;\toffset:16;\tsize:8;\tsigned:0;\n\
    \nprint fmt: \"ptr=%p\"\n";

fn labelled(profile: &Profile, labels: &[&str]) -> String {
    let labels: Vec<Label> = labels.iter().map(|label| Label::parse(label).unwrap()).collect();
    let mut out = Vec::new();
    profile.labelled(&labels).unwrap().stacks().write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn fields_of_tracepoints_and_control_groups_are_labels() {
    for big_endian in [false, true] {
        let root = root_with_maps(&[(1, &[(CODE, "f"), (CODE + 0x100, "g")])]);
        let event = Event {
            kind: 2,
            config: 571,
            fields: USUAL | RAW | CGROUP,
            name: "kmem:kmalloc",
            period: 1,
            ..Event::default()
        };
        let mut r = Recording::new(Style { big_endian, ..PLAIN }, &[event]);
        r.tracing_data(KMALLOC);
        r.comm(1, 1, 0, b"app", false);
        r.mmap(1, 0, CODE, 0x1000, 0, "//anon");
        r.cgroup(0, 77, "/system.slice/app.service");
        for (time, size, cgroup, function) in [(100, 64u64, 77, 0), (200, 8, 77, 1), (300, 16, 5, 1)] {
            let number = |n: u64| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
            let raw = [number(571), number(0xffff), number(size)].concat();
            let chain = vec![USER, CODE + 0x100 * function];
            r.sample(&Sample { pid: 1, tid: 1, time, period: 1, chain, raw, cgroup, ..Sample::default() });
        }
        let options = ReadOptions::default().samples(true).collapse(below(root.path()));
        let profile = Profile::read(&[Source::bytes(r.bytes())], &options).unwrap();
        assert_eq!(
            labelled(&profile, &["cgroup", "bytes_req", "ptr"]),
            "cgroup=/system.slice/app.service;bytes_req=64;ptr=0xffff;app;f 1\n\
             cgroup=/system.slice/app.service;bytes_req=8;ptr=0xffff;app;g 1\n\
             cgroup=5;bytes_req=16;ptr=0xffff;app;g 1\n"
        );
        let (weighed, left_out) = profile.weighed_by("bytes_req").unwrap();
        assert_eq!((weighed.total().unwrap().value, left_out), (Weight::new(88), 0));
    }
}

/// The output of perf itself on the fields of events that it records here.
#[test]
fn fields_of_tracepoints_agree_with_perf_script() {
    let folder = tempfile::tempdir().unwrap();
    let perf = |arguments: &[&str]| {
        let mut perf = Command::new("perf");
        perf.args(arguments).current_dir(folder.path()).stdin(Stdio::null()).output()
    };
    let record =
        ["record", "-q", "-e", "sched:sched_switch", "-o", "x.data", "--", "sh", "-c", "sleep 0.05; ls /"];
    match perf(&record) {
        Ok(out) if out.status.success() => {}
        _ => return skip("perf records no tracepoints here"),
    }
    let text = perf(&["script", "-i", "x.data"]).expect("perf was there").stdout;
    let labels = ["prev_comm", "prev_pid", "prev_state", "next_pid", "processor"];
    let mut options = CollapseOptions::default();
    options.values = ValueSelection::Named(vec![b"sched:sched_switch".to_vec()]);
    let options = ReadOptions::default().samples(true).collapse(options);
    let of = |source: Source, format: &str| {
        labelled(&Profile::read(&[source], &options.clone().format(format)).unwrap(), &labels)
    };
    let read = of(Source::new(folder.path().join("x.data")), "perf-data");
    assert!(read.contains("prev_state=S;"), "{read}");
    assert_eq!(read, of(Source::bytes(text), "perf-script"));
}
