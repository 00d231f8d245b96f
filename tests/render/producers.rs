//! Tests that every output states the total of each producer's recording, in its unit.
//!
//! The totals are the producers' own, as `case.toml` beside each recording states them; the way a
//! person reads them is worked out by hand.

use std::path::Path;

use fg_tools::folded::Kind;
use fg_tools::render::RowKind;
use fg_tools::render::colour::ColourScheme;
use fg_tools::render::{FORMATS, Format, MinWidth, Settings, SvgOptions, Target, write};
use fg_tools::{Profile, Source};

use super::Picture;

/// A recording and its total.
struct Case {
    /// The file below `tests/`, or folded text.
    input: &'static str,
    /// The exact total, in the unit.
    total: &'static str,
    unit: Option<&'static str>,
    /// The total as a person reads it.
    shown: &'static str,
    /// The samples that it stands for, where all weigh the same and that is not the unit.
    samples: Option<&'static str>,
}

const fn case(
    input: &'static str,
    (total, unit): (&'static str, Option<&'static str>),
    shown: &'static str,
    samples: Option<&'static str>,
) -> Case {
    Case { input, total, unit, shown, samples }
}

const CASES: &[Case] = &[
    case("perf_data/golden/calc.data.gz", ("55000000", Some("ns")), "55 ms", Some("55 samples")),
    case(
        "fixtures/perf-script/cpp-fp/input.txt.gz",
        ("975951896", Some("ns")),
        "976 ms",
        Some("487 samples"),
    ),
    case("fixtures/pprof/cpu/input.pb.gz", ("1090000000", Some("ns")), "1.09 s", Some("109 samples")),
    case("fixtures/pprof/heap/input.pb.gz", ("5881145", Some("bytes")), "5.88 MB", None),
    case("fixtures/pprof/block/input.pb.gz", ("1617533940", Some("ns")), "1.62 s", None),
    case("fixtures/py-spy/raw/input.txt", ("292", Some("samples")), "292 samples", None),
    case("fixtures/austin/v3-wall/input.txt", ("4118847", Some("us")), "4.12 s", None),
    case("fixtures/austin/v3-memory/input.txt", ("13377536", Some("bytes")), "13.4 MB", None),
    case("fixtures/austin-mojo/v4-cpu/input.mojo", ("2411218", Some("us")), "2.41 s", None),
    case("fixtures/speedscope/py-spy-threads/input.json", ("3.56", Some("s")), "3.56 s", Some("178 samples")),
    case("fixtures/callgrind/c/input.txt", ("979896", Some("instructions")), "979,896 instructions", None),
    case(
        "fixtures/heaptrack/allocations/input.txt",
        ("4968", Some("allocations")),
        "4,968 allocations",
        None,
    ),
    case("fixtures/bcc/offcputime-libbpf/input.txt", ("2100507", Some("us")), "2.1 s", None),
    case("fixtures/dhat/c/input.json", ("136585", Some("bytes")), "137 kB", None),
    case("fixtures/massif/c/input.txt", ("111395", Some("bytes")), "111 kB", None),
    case("fixtures/cpuprofile/node/input.json", ("1041053", Some("us")), "1.04 s", None),
    case("fixtures/heapprofile/node/input.json", ("794512", Some("bytes")), "795 kB", None),
    case("fixtures/jfr-json/execution-sample/input.json", ("39", Some("samples")), "39 samples", None),
    case("fixtures/xdebug/format1/input.xt", ("8838", Some("us")), "8.84 ms", None),
    case("fixtures/strace/follow/input.txt", ("45", Some("calls")), "45 calls", None),
    case("fixtures/pyinstrument/plain/input.json", ("0.619851", Some("s")), "620 ms", None),
    case("fixtures/firefox/samply/input.json", ("91", Some("samples")), "91 samples", None),
    case("fixtures/folded/heaptrack-allocations/input.txt", ("4968", None), "4,968", None),
    case("# unit: cycles\nmain 12345678901\n", ("12345678901", Some("cycles")), "12.3 G cycles", None),
    case(
        "# unit: ns\n# period: 2000000 ns\nmain 324000000\n",
        ("324000000", Some("ns")),
        "324 ms",
        Some("162 samples"),
    ),
];

/// The path of a recording, however its name ends.
fn find(input: &str) -> std::path::PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(input);
    if path.exists() {
        return path;
    }
    let folder = path.parent().unwrap();
    let files = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
    let is_input =
        |name: &std::path::PathBuf| name.file_name().unwrap().to_string_lossy().starts_with("input");
    files
        .map(|entry| entry.unwrap().path())
        .find(is_input)
        .unwrap_or_else(|| panic!("no input in {folder:?}"))
}

impl Case {
    fn profile(&self) -> Profile {
        let source = match self.input.starts_with('#') {
            true => Source::bytes(self.input),
            false => Source::new(find(self.input)),
        };
        Profile::read(&[source], &Default::default()).unwrap_or_else(|e| panic!("{}: {e}", self.input))
    }

    /// `325 ms (162 samples)`.
    fn in_full(&self) -> String {
        self.samples.map_or(self.shown.to_owned(), |samples| format!("{} ({samples})", self.shown))
    }
}

#[test]
fn every_output_states_the_total_in_its_unit() {
    for case in CASES {
        let profile = case.profile();
        let [mut svg, mut top, mut markdown, mut json] = [(); 4].map(|()| Vec::new());
        let outputs: Vec<(&Format, &mut dyn Target)> = vec![
            (Format::by_name("svg").unwrap(), &mut svg),
            (Format::by_name("top").unwrap(), &mut top),
            (Format::by_name("markdown").unwrap(), &mut markdown),
            (Format::by_name("json").unwrap(), &mut json),
        ];
        write(&profile, outputs, &Settings::default()).unwrap();
        let input = case.input;

        let picture = Picture::parse(std::str::from_utf8(&svg).unwrap());
        let listed =
            case.samples.map_or(case.shown.to_owned(), |samples| format!("{}, {samples}", case.shown));
        assert_eq!(picture.frames[0].title, format!("all ({listed}, 100.00%)"), "{input}");
        assert_eq!(picture.frames[0].exact.1, case.total, "{input}");
        let subtitle = picture.element("subtitle");
        assert_eq!(subtitle.is_some(), case.unit.is_some(), "{input}: {subtitle:?}");
        assert!(subtitle.is_none_or(|text| text.starts_with(case.shown)), "{input}");

        let top = String::from_utf8(top).unwrap();
        let total = if case.unit.is_some() { case.in_full() } else { format!("total {}", case.shown) };
        assert!(top.lines().any(|line| line.starts_with(&format!("{total}, "))), "{input}: {top}");
        let markdown = String::from_utf8(markdown).unwrap();
        assert!(markdown.contains(&format!("**{}**\n", case.in_full())), "{input}: {markdown}");

        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(json["total"].to_string(), case.total, "{input}");
        assert_eq!(json["unit"].as_str(), case.unit, "{input}");
    }
}

#[test]
fn pprof_states_the_unit_and_the_exact_total() {
    for case in CASES {
        let mut pprof = Vec::new();
        let result = case.profile().pprof(&Settings::default(), &mut pprof);
        result.unwrap();
        let back = Profile::from_bytes(pprof).unwrap();
        // Times are nanoseconds there.
        let (unit, zeros) = match case.unit {
            Some("us") => (Some("ns"), "000"),
            Some("ms") => (Some("ns"), "000000"),
            Some("s") => (Some("ns"), "000000000"),
            unit => (unit, ""),
        };
        let total = match case.total.split_once('.') {
            Some((whole, part)) => format!("{whole}{part:0<9}").trim_start_matches('0').to_owned(),
            None => format!("{}{zeros}", case.total),
        };
        assert_eq!(back.total().unwrap().value.to_string(), total, "{}", case.input);
        assert_eq!(back.facts().unit.as_deref(), unit, "{}", case.input);
        assert_eq!(back.facts().command, case.profile().facts().command, "{}", case.input);
        assert_eq!(back.facts().start, case.profile().facts().start, "{}", case.input);
    }
}

/// The weight of each leaf's module, as `perf report --sort dso` prints it for the same recording.
const MODULES: [(&str, u64); 4] = [
    ("[kernel]", 84_168_336),
    ("libc.so.6", 12_024_048),
    ("libstdc++.so.6.0.30", 16_032_064),
    ("orders", 863_727_448),
];

#[test]
fn modules_are_those_of_perf_report() {
    let profile = Profile::from_path(find("fixtures/perf-script/cpp-fp/input.txt.gz")).unwrap();
    let mut table = Vec::new();
    profile.render("tsv", &Settings::default().by(RowKind::Module), &mut table).unwrap();
    let table = String::from_utf8(table).unwrap();
    let mut rows: Vec<(&str, u64)> = table
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            (cells[0], cells[1].parse().unwrap())
        })
        .filter(|(_, weight)| *weight > 0)
        .collect();
    rows.sort_unstable();
    assert_eq!(rows, MODULES);
}

#[test]
fn kernel_frames_have_the_kernel_s_colour() {
    let profile = Profile::from_path(find("fixtures/perf-script/cpp-fp/input.txt.gz")).unwrap();
    let mut svg = Vec::new();
    let palette = ColourScheme::by_name("java").unwrap();
    profile.svg(&SvgOptions::default().palette(palette), &mut svg).unwrap();
    let picture = Picture::parse(std::str::from_utf8(&svg).unwrap());
    let mut kernel_frames = 0;
    for frame in &picture.frames[1..] {
        let name = &frame.title[..frame.title.rfind(" (").unwrap()];
        let place = profile.places().get(name.as_bytes());
        let is_kernel = place.is_some_and(|place| place.kind == Kind::Kernel);
        // Only orange, the kernel's, has no blue in it.
        assert_eq!(frame.fill.ends_with("00"), is_kernel, "{} {}", frame.title, frame.fill);
        kernel_frames += usize::from(is_kernel);
    }
    assert!(kernel_frames > 10, "{kernel_frames}");
}

#[test]
fn other_viewers_are_told_modules_files_and_kinds() {
    let profile = Profile::from_path(find("fixtures/perf-script/cpp-fp/input.txt.gz")).unwrap();
    let mut firefox = Vec::new();
    profile.firefox(&Settings::default(), &mut firefox).unwrap();
    let firefox: serde_json::Value = serde_json::from_slice(&firefox).unwrap();
    let thread = &firefox["threads"][0];
    let texts = thread["stringArray"].as_array().unwrap();
    let modules: Vec<&str> = thread["resourceTable"]["name"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| texts[name.as_u64().unwrap() as usize].as_str().unwrap())
        .collect();
    assert!(modules.contains(&"orders") && modules.contains(&"libc.so.6"), "{modules:?}");
    let categories = thread["frameTable"]["category"].as_array().unwrap();
    assert!([1, 2].iter().all(|kind| categories.contains(&(*kind).into())), "{categories:?}");
    let mut pprof = Vec::new();
    profile.pprof(&Settings::default(), &mut pprof).unwrap();
    let back = Profile::from_bytes(pprof).unwrap();
    let module = |name: &str| back.places().get(name.as_bytes()).map(|place| place.module.to_vec());
    assert_eq!(module("shop::Deep::visit").as_deref(), Some(&b"orders"[..]));
}

#[test]
fn a_private_output_names_no_host_folder_or_argument() {
    let text = "# unit: ns\n# command: /home/lovelace/app --key=secret\n# host: lovelace-laptop\n\
        # warning: no symbols for /home/lovelace/lib/libx.so.1 (38%)\n# comment: lovelace's\nmain 5\n";
    let profile = Profile::from_bytes(text).unwrap();
    let apart = ["peek", "list", "png", "html", "pprof"];
    let is_apart = |format: &Format| apart.contains(&format.name) || format.takes("binary");
    for format in FORMATS.iter().filter(|format| !is_apart(format)) {
        let mut out = Vec::new();
        profile.render(format.name, &Settings::default().private(true), &mut out).unwrap();
        let out = String::from_utf8_lossy(&out);
        assert!(!out.contains("lovelace") && !out.contains("secret"), "{}: {out}", format.name);
    }
    let mut pprof = Vec::new();
    profile.pprof(&Settings::default().private(true), &mut pprof).unwrap();
    let facts = format!("{:?}", Profile::from_bytes(pprof).unwrap().facts());
    assert!(facts.contains("app") && !facts.contains("lovelace") && !facts.contains("secret"), "{facts}");
}

/// Samples in the order of time are calls one after the other, not the sum of all.
#[test]
fn a_recording_with_times_is_a_flame_chart() {
    let options = fg_tools::reading::ReadOptions::default().samples(true);
    let source = Source::new(find("fixtures/perf-script/cpp-fp/input.txt.gz"));
    let profile = Profile::read(&[source], &options).unwrap();
    let chart = |flame_chart| {
        let mut svg = Vec::new();
        let options = SvgOptions::default().flame_chart(flame_chart).min_width(MinWidth::Pixels(0.0));
        profile.svg(&options, &mut svg).unwrap();
        Picture::parse(std::str::from_utf8(&svg).unwrap())
    };
    let (graph, chart) = (chart(false), chart(true));
    assert_eq!(graph.frames[0].exact, chart.frames[0].exact);
    // Neighbouring samples share their callers, and a function that comes again is drawn again.
    assert!(chart.frames.len() > 3 * graph.frames.len(), "{} {}", chart.frames.len(), graph.frames.len());
    let folded = Profile::from_bytes("main 5\n").unwrap();
    let error = folded.svg(&SvgOptions::default().flame_chart(true), &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("--flamechart and --order input need times"), "{error}");
}
