//! Headers and labels of folded text, on whatever text comes: facts are written as they were read, and
//! labels divide the weights without a loss.
//!
//! The first line is a list of labels as `--label` takes them, with blanks between; the rest is folded text.
#![no_main]

use fg_tools::profile::{Label, header};
use fg_tools::reading::ReadOptions;
use fg_tools::{Profile, Source};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(end) = data.iter().position(|&b| b == b'\n') else { return };
    let (labels, text) = (String::from_utf8_lossy(&data[..end]), &data[end + 1..]);
    if let Ok(facts) = header::read(text) {
        let written = header::write(&facts);
        for line in written.lines() {
            let last = line.rsplit(char::is_whitespace).next().unwrap_or_default();
            let is_stack = last.starts_with(|c: char| c.is_ascii_digit()) && last.parse::<f64>().is_ok();
            assert!(!is_stack && line.starts_with("# "), "a stack to other programs: {line}");
        }
        let again = header::read(written.as_bytes()).expect("what was written");
        assert_eq!(header::write(&again), written);
        let private = header::write(&facts.private());
        assert!(facts.host.as_ref().is_none_or(|_| !private.contains("# host: ")), "{private}");
    }
    let options = ReadOptions::default().format("folded").samples(true);
    let Ok(profile) = Profile::read(&[Source::bytes(text)], &options) else { return };
    let labels: Vec<Label> = labels.split(' ').filter_map(|label| Label::parse(label).ok()).collect();
    match profile.labelled(&labels) {
        Ok(labelled) => {
            assert_eq!(labelled.total().ok(), profile.total().ok(), "with labels");
            let mut out = Vec::new();
            labelled.write_folded(&mut out).expect("it fits in memory");
            let back = Profile::read(&[Source::bytes(out.clone())], &options);
            let back = back.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out)));
            assert_eq!(back.total().ok(), labelled.total().ok(), "{}", String::from_utf8_lossy(&out));
        }
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
    }
});
