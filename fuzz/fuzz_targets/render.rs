//! Every output format, of whatever folded text comes.
//!
//! The first byte chooses the format, by its place in the list, the second the options. A file for
//! another program must be one, names must stay text in it, and what `fg-collapse` reads too must
//! come back as the same stacks with the same weights.
//!
//! ```sh
//! fuzz/seed                # the expected stacks of the fixtures as a corpus to begin with
//! RUSTC_BOOTSTRAP=1 cargo fuzz run render -- -max_total_time=3600 -rss_limit_mb=2048 -timeout=20
//! ```
#![no_main]

use std::io::Cursor;

use fg_tools::collapse::{CollapseOptions, Report, registry};
use fg_tools::folded::{Order, StackTable};
use fg_tools::input::{Input, Source};
use fg_tools::reading::Opened;
use fg_tools::render::{FORMATS, Format, Settings, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [format, flags, text @ ..] = data else { return };
    let Some(format) = FORMATS.get(usize::from(*format)) else { return };
    let bit = |n: u8| flags >> n & 1 == 1;
    let mut settings = Settings::default();
    settings.picture.pretty = bit(0);
    settings.picture.inverted = bit(1);
    settings.terminal.root_at_bottom = bit(2);
    settings.private = bit(3);
    settings.order = [Order::Frame, Order::Input, Order::Time][usize::from(flags >> 6) % 3];

    let input = Opened::Folded(vec![Source::bytes(text)]);
    let Some(out) = rendered(format, &settings, &input) else { return };
    match format.name {
        "svg" => is_picture(&out),
        "html" => is_page(&out),
        "json" | "speedscope" | "firefox" => _ = json(&out),
        "text" | "tree" | "bottom-up" | "top" | "peek" | "list" | "markdown" => is_text(&out),
        "dot" => assert!(out.ends_with(b"}\n"), "a graph has an end"),
        _ => {}
    }
    let stacks = Format::by_name("collapsed").expect("it is there");
    let Some(stacks) = rendered(stacks, &Settings::default(), &input) else { return };
    comes_back(format, settings.order, &stacks, &out);
});

fn rendered(format: &Format, settings: &Settings, input: &Opened) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let result = write(input, vec![(format, &mut out)], settings);
    if let Err(error) = &result {
        assert!(!error.to_string().contains('\n'), "a message is one line: {error}");
    }
    result.is_ok().then_some(out)
}

/// Checks that a picture is XML in which names are only text.
fn is_picture(out: &[u8]) {
    let text = std::str::from_utf8(out).expect("UTF-8");
    let document = roxmltree::Document::parse(text).expect("XML");
    let scripts =
        document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "script")));
    assert!(scripts.count() <= 1);
    for node in document.descendants().filter(|node| node.is_element()) {
        let known =
            ["svg", "g", "defs", "style", "script", "rect", "text", "title", "linearGradient", "stop"];
        let name = node.tag_name().name();
        assert!(
            known.contains(&name) || ["desc", "metadata", "a", "path", "pattern"].contains(&name),
            "{name}"
        );
        assert!(node.attributes().all(|a| !a.name().starts_with("on")), "{node:?}");
    }
}

/// Checks that no text in a page opens or ends a script.
fn is_page(out: &[u8]) {
    let text = std::str::from_utf8(out).expect("UTF-8").to_ascii_lowercase();
    assert_eq!(text.matches("</script").count(), text.matches("<script").count());
    assert!(!text.contains("<!--"), "after which a script does not end where it seems to");
}

fn json(out: &[u8]) -> serde_json::Value {
    serde_json::from_slice(out).expect("JSON")
}

/// Checks that a text has no control characters for a terminal.
fn is_text(out: &[u8]) {
    let odd = out.iter().find(|b| b.is_ascii_control() && !matches!(b, b'\n' | b'\t'));
    assert!(odd.is_none(), "{odd:?} in {}", String::from_utf8_lossy(out));
}

/// Checks that `fg-collapse` reads the same stacks back from formats that hold whole profiles.
fn comes_back(format: &Format, order: Order, stacks: &[u8], out: &[u8]) {
    let reader = match format.name {
        "collapsed" => "folded",
        "json" => "fg-json",
        name @ ("pprof" | "speedscope" | "firefox") => name,
        _ => return,
    };
    let Some((expected, columns, fractions)) = table(stacks, "folded") else { return };
    let lossy = match format.name {
        // These three formats drop empty frame names.
        "pprof" => columns == 2 || fractions || has_empty_frames(&expected),
        "speedscope" | "firefox" => {
            columns == 2 || std::str::from_utf8(stacks).is_err() || has_empty_frames(&expected)
        }
        _ => order == Order::Time,
    };
    if lossy {
        return;
    }
    let (back, ..) = table(out, reader).expect("it is read again");
    // In folded text a frame may hold a carriage return, elsewhere it is made a blank.
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\r', " ");
    let (back, expected) = (text(&back), text(&expected));
    assert_eq!(back, expected, "as {}", format.name);
}

fn has_empty_frames(folded: &[u8]) -> bool {
    let stacks = folded.split(|&b| b == b'\n').filter_map(|line| line.rsplitn(2, |&b| b == b' ').nth(1));
    stacks.into_iter().any(|stack| stack.split(|&b| b == b';').any(<[u8]>::is_empty))
}

/// The folded text of an input, its number of weights a line, and true if they have fractions.
fn table(bytes: &[u8], format: &str) -> Option<(Vec<u8>, usize, bool)> {
    let input = Input::new("fuzz", Box::new(Cursor::new(bytes.to_vec()))).ok()?;
    let mut table = StackTable::default();
    let format = registry::by_name(format).expect("it is compiled in");
    format.collapse(input, &CollapseOptions::default(), &mut table, &mut Report::default()).ok()?;
    let mut out = Vec::new();
    table.write(&mut out).expect("it fits in memory");
    let columns = table.columns() as usize + 1;
    // Most formats do not write stacks of weight 0.
    let weighs = |line: &&[u8]| line.rsplit(|&b| b == b' ').take(columns).any(|weight| weight != b"0");
    let lines: Vec<&[u8]> =
        out.split_inclusive(|&b| b == b'\n').filter(|line| weighs(&line.trim_ascii_end())).collect();
    let fractions = lines
        .iter()
        .any(|line| line.rsplit(|&b| b == b' ').next().is_some_and(|weight| weight.contains(&b'.')));
    (!lines.is_empty()).then(|| (lines.concat(), columns, fractions))
}
