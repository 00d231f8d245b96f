//! OTLP files of another maker: each is written by OpenTelemetry's library in both encodings, and has sums that were
//! counted by itself. See `otlp/make.py`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fg_tools::collapse::{CollapseOptions, ValueSelection};
use fg_tools::reading::{ExchangeParts, ReadOptions};
use fg_tools::render::Settings;
use fg_tools::{Profile, Source};

use super::exchange::canonical;
use super::run_in;

/// The sums of the sample types of each pair of files.
type Sums = BTreeMap<String, BTreeMap<String, String>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/render/otlp")
}

fn sums() -> Sums {
    serde_json::from_slice(&std::fs::read(folder().join("sums.json")).unwrap()).unwrap()
}

/// The two files of a name.
fn files(name: &str) -> [PathBuf; 2] {
    ["otlp.gz", "otlp.jsonl.gz"].map(|ending| folder().join(format!("{name}.{ending}")))
}

fn whole(source: Source) -> Profile {
    let options = ReadOptions::default().exchange(ExchangeParts::Whole);
    Profile::read(&[source], &options).unwrap_or_else(|error| panic!("{error}"))
}

fn written(profile: &Profile, format: &str) -> Vec<u8> {
    let mut out = Vec::new();
    profile
        .render(format, &Settings::default(), &mut out)
        .unwrap_or_else(|error| panic!("{format}: {error}"));
    out
}

/// The total of one value, where a profile shows it.
fn total(source: Source, value: &str) -> String {
    let mut collapse = CollapseOptions::default();
    collapse.values = ValueSelection::Named(vec![value.as_bytes().to_vec()]);
    let profile = Profile::read(&[source], &ReadOptions::default().collapse(collapse));
    profile.unwrap_or_else(|error| panic!("{value}: {error}")).total().unwrap().value.to_string()
}

#[test]
fn forty_otlp_files_have_the_sums_of_their_maker_and_come_back() {
    let sums = sums();
    assert!(sums.len() >= 20);
    for (name, sums) in &sums {
        for file in files(name) {
            for (value, expected) in sums {
                assert_eq!(total(Source::new(&file), value), *expected, "{} {value}", file.display());
                // Written and read again, by both encodings.
                for format in ["otlp", "otlp-json"] {
                    let back = Source::bytes(written(&whole(Source::new(&file)), format));
                    assert_eq!(total(back, value), *expected, "{} by {format}: {value}", file.display());
                }
            }
        }
    }
}

#[test]
fn both_encodings_are_one_profile_and_nothing_is_lost_on_the_way() {
    for name in sums().keys() {
        // Values beyond 64 bits are none of pprof's: those are compared by their sums.
        let lines = |profile: &Profile| canonical(&written(profile, "pprof"));
        let [protobuf, json] = files(name).map(|file| whole(Source::new(&file)));
        let expected = lines(&protobuf);
        assert_eq!(expected, lines(&json), "{name}: protobuf and JSON");
        for format in ["otlp", "otlp-json"] {
            let back = whole(Source::bytes(written(&protobuf, format)));
            assert_eq!(expected, lines(&back), "{name} by {format}");
        }
    }
}

#[test]
fn links_to_traces_are_labels_and_links_again() {
    let [file, _] = files("links");
    let profile = whole(Source::new(&file));
    let pprof = canonical(&written(&profile, "pprof")).join("\n");
    for label in [
        "trace_id=000102030405060708090a0b0c0d0e0f0 ",
        "span_id=01020304050607080 ",
        "span_id=01020304050607090 ",
    ] {
        assert!(pprof.contains(label), "{label}: {pprof}");
    }
    let json: serde_json::Value = serde_json::from_slice(&written(&profile, "otlp-json")).unwrap();
    let links = &json["dictionary"]["linkTable"];
    let trace = "000102030405060708090a0b0c0d0e0f";
    let link = |span: &str| serde_json::json!({"traceId": trace, "spanId": span});
    let expected = serde_json::json!([{}, link("0102030405060708"), link("0102030405060709")]);
    assert_eq!(*links, expected);
    let samples = &json["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][0]["samples"];
    let linked: Vec<u64> =
        samples.as_array().unwrap().iter().filter_map(|s| s["linkIndex"].as_u64()).collect();
    assert_eq!(linked.len(), 3, "{samples}");
    assert_eq!(
        json["dictionary"]["attributeTable"],
        serde_json::json!([{}]),
        "no label is an attribute, too"
    );
}

/// The recording in its producer's own format could not be filtered with the rest.
#[test]
fn an_original_payload_is_left_out_and_said() {
    let folder = tempfile::tempdir().unwrap();
    for file in files("payload") {
        let file = file.to_str().unwrap();
        let quiet = run_in(folder.path(), &["--format", "otlp", "-o", "out.otlp", file], "");
        assert!(quiet.status == 0 && !quiet.stderr.contains("payload"), "{}", quiet.stderr);
        let talks = run_in(folder.path(), &["-v", "--format", "otlp", "-o", "out.otlp", file], "");
        assert!(
            talks.stderr.contains("an original payload (pprofgz, 25 bytes) is left out"),
            "{}",
            talks.stderr
        );
        let again = run_in(folder.path(), &["-v", "--format", "otlp-json", "-o", "-", "out.otlp"], "");
        let written = String::from_utf8(again.stdout).unwrap();
        assert!(written.contains("resourceProfiles") && !written.contains("riginalPayload"), "{written}");
        assert!(!again.stderr.contains("payload"), "{}", again.stderr);
    }
}
