//! profile.proto: pprof's profiles as Go writes them, and many converters (austin2pprof, …).
//!
//! A protocol buffer, in most files gzipped. Its eight messages are specified in
//! github.com/google/pprof, `proto/profile.proto`; numbers of fields below are from there.
//! [`raw`] is the text that `go tool pprof -raw` prints of it, [`go_text`] the texts that Go's
//! `debug=1` prints instead.
//!
//! The file is read field by field in one stream; what is kept are the numbers of the samples and
//! the names, in about the file's own size.

mod decode;
pub mod go_text;
pub mod goroutines;
pub mod raw;

use self::decode::read;
use crate::collapse::kit::protobuf::{Content, Fields};
use crate::collapse::{Certainty, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::{Position, Result};
use crate::input::Input;

const INFO: FormatInfo = FormatInfo {
    name: "pprof",
    producer: "Go, austin2pprof, any writer of profile.proto",
    tested: Tested::Seen("Go 1.19, austin2pprof 2.4, @datadog/pprof 5.20"),
    values: "the profile's sample types",
    unit: "the sample type's",
};

/// Collapses profile.proto.
pub struct Pprof;

impl Collapser for Pprof {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo { times: "samples with end_timestamp_ns", clock: None, labels: "the profile's labels" }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let cut = head.len() >= crate::input::HEAD;
        let mut types = 0;
        for field in Fields(head) {
            match field {
                Some((1 | 11, Content::Bytes(bytes))) if is_value_type(bytes) => types += 1,
                Some((2..=6, Content::Bytes(_))) => {}
                Some((13, _)) => {}
                Some((7..=10 | 12 | 14 | 15, Content::Number(_))) => {}
                // The head ends within a field.
                None if cut && types > 0 => break,
                _ => return Certainty::No,
            }
        }
        if types > 0 { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let name = input.name().clone();
        let wants_labels = sink.wants().contexts || sink.exchange().is_some();
        let mut model = read(input, reading, wants_labels)?;
        model.collapse(reading, sink, report).map_err(|e| e.or_at(|| Position::file(name)))
    }
}

/// `ValueType { type = 1, unit = 2 }`, both numbers of strings.
fn is_value_type(bytes: &[u8]) -> bool {
    !bytes.is_empty() && Fields(bytes).all(|field| matches!(field, Some((1 | 2, Content::Number(_)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::push_varint;
    use crate::collapse::CollapseOptions;
    use crate::folded::StackTable;
    use crate::weight::Weight;

    /// A field of bytes.
    fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2];
        push_varint(content.len() as u64, &mut out);
        out.extend_from_slice(content);
        out
    }

    /// A field of a number.
    fn number_field(field: u8, value: u64) -> Vec<u8> {
        let mut out = vec![field << 3];
        push_varint(value, &mut out);
        out
    }

    /// A profile of one sample: the location of this id, which holds the lines, weighs the value.
    fn profile(location: u64, value: u64, lines: &[&[u8]]) -> Vec<u8> {
        let lines: Vec<u8> = lines.iter().flat_map(|line| bytes(4, line)).collect();
        let strings = ["", "cpu", "nanoseconds", "f;", "g(int)", "a.go", "thread", "pool"];
        let label = [number_field(1, 6), number_field(2, 7)].concat();
        [
            bytes(1, &[number_field(1, 1), number_field(2, 2)].concat()),
            bytes(2, &[bytes(1, &[1]), number_field(2, value), bytes(3, &label)].concat()),
            bytes(4, &[number_field(1, location), number_field(3, 0x7f01), lines].concat()),
            bytes(5, &[number_field(1, 1), number_field(2, 3), number_field(4, 5)].concat()),
            bytes(5, &[number_field(1, 2), number_field(2, 4), number_field(4, 5)].concat()),
            strings.iter().flat_map(|text| bytes(6, text.as_bytes())).collect(),
            bytes(11, &[number_field(1, 1), number_field(2, 2)].concat()),
            number_field(12, 10_000),
        ]
        .concat()
    }

    fn collapsed(profile: &[u8], options: &CollapseOptions) -> Result<(String, Report)> {
        assert_eq!(Pprof.detect(profile), Certainty::Yes);
        let input = Input::new("test", Box::new(std::io::Cursor::new(profile.to_vec()))).unwrap();
        let (mut table, mut report) = (StackTable::default(), Report::default());
        Pprof.collapse(input, &Reading::alone(options), &mut table, &mut report)?;
        let mut out = Vec::new();
        table.write(&mut out)?;
        Ok((String::from_utf8(out).unwrap(), report))
    }

    const INNER: &[u8] = &[8, 2, 16, 9];
    const OUTER: &[u8] = &[8, 1, 16, 4];

    #[test]
    fn what_is_inlined_is_below_its_caller() {
        let text = profile(1, 30, &[INNER, OUTER]);
        let (out, report) = collapsed(&text, &CollapseOptions::default()).unwrap();
        assert_eq!((out.as_str(), report.unit()), ("f:;g 30\n", Some("ns")));
        assert_eq!(report.facts.period, Some(Weight::new(10_000)));
        let measured = [&text[..], &number_field(12, 1)].concat();
        assert_eq!(collapsed(&measured, &CollapseOptions::default()).unwrap().1.facts.period, None);
        let all = CollapseOptions {
            inline: true,
            srcline: true,
            threads_as_frames: Some(true),
            ..CollapseOptions::default()
        };
        assert_eq!(collapsed(&text, &all).unwrap().0, "pool;f: (a.go:4);g (a.go:9)_[i] 30\n");
        // A difference of two profiles, and places without a name.
        let text = profile(1, -30i64 as u64, &[]);
        assert_eq!(collapsed(&text, &CollapseOptions::default()).unwrap().0, "[unknown] -30\n");
        let addrs = CollapseOptions { addrs: true, ..CollapseOptions::default() };
        assert_eq!(collapsed(&text, &addrs).unwrap().0, "[unknown <7f01>] -30\n");
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let whole = profile(1, 1, &[INNER]);
        for (bytes, message) in [
            (profile(2, 1, &[INNER]), "a location that is in the profile, found \"1\""),
            (profile(1, 1, &[&[8, 9]]), "a function that is in the profile, found \"9\""),
            ([whole.clone(), number_field(14, 99)].concat(), "the number of one of 8 strings, found \"99\""),
            (
                [whole.clone(), bytes(2, &number_field(1, 1))].concat(),
                "1 values in each sample, found \"0 in sample 2\"",
            ),
            ([whole.clone(), vec![0x12, 0x05, 1]].concat(), "expected 5 bytes, found \"the end after 1\""),
            (
                [whole.clone(), vec![0x12, 0xff, 0xff, 0xff, 0xff, 0x7f]].concat(),
                "of more than 67108864 bytes",
            ),
            ([whole.clone(), bytes(2, &[0x08, 0x80])].concat(), "expected field 2 of profile.proto"),
            ([whole, vec![0x13]].concat(), "expected a field of profile.proto, found \"the tag 19\""),
        ] {
            // A profile cut or broken behind the types may not be detected by its first bytes.
            let input = Input::new("test", Box::new(std::io::Cursor::new(bytes))).unwrap();
            let mut table = StackTable::default();
            let error = Pprof.collapse(
                input,
                &Reading::alone(&CollapseOptions::default()),
                &mut table,
                &mut Report::default(),
            );
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with("test: ") && error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_small_file_cannot_fill_the_memory() {
        // A location of a hundred thousand inlined functions, a hundred thousand times in a stack.
        let lines = vec![&OUTER[..2]; 100_000];
        let mut text = profile(1, 1, &lines);
        text.extend(bytes(2, &[bytes(1, &vec![1; 100_000]), number_field(2, 1)].concat()));
        let error = collapsed(&text, &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.contains("a stack of at most"), "{error}");
    }
}
