//! A frame of any name through every output: a file that its own readers take, and from which the same
//! stacks come back where the format holds stacks.

use fg_tools::reading::ReadOptions;
use fg_tools::render::{FORMATS, Settings};
use fg_tools::{Profile, Source, Weight};

/// Names of many scripts, with brackets, quotes, marks, control characters, and bytes that are no text.
pub(super) const NAMES: &[&[u8]] = &[
    "größe".as_bytes(),
    "имя".as_bytes(),
    "関数名".as_bytes(),
    "دالة".as_bytes(),
    "พิมพ์".as_bytes(),
    "e\u{301}\u{200d}\u{202e}\u{feff}x".as_bytes(),
    "🔥👩‍👩‍👧".as_bytes(),
    "\u{fffd}\u{ffff}\u{10ffff}\u{85}\u{2028}\u{2029}".as_bytes(),
    b"<T>",
    b"</script><script>alert(1)</script>",
    b"<!--",
    b"]]>",
    b"&amp;&#0",
    b"Vec<Vec<u8>>::new",
    b"operator<<",
    b"operator()",
    b"[brackets]",
    b"[unknown]",
    b"{closure#0}",
    b"{{vtable.shim}}",
    b"\"quoted\"",
    b"'single'",
    b"`tick`",
    b"back\\slash",
    b"\\u0041\\n",
    b"a\tb",
    b"a\x01\x1b[31mb\x7f\x00c",
    b"a\xff\xfe\x80b",
    b"a:b",
    b"a=b",
    b"a|b",
    b"a,b",
    b"a  b",
    b" a",
    b"a ",
    b"# hash",
    b"#",
    b"12345",
    b"1.5",
    b"f 12",
    b"f 12 34",
    b"0x1f",
    b"-",
    b"--",
    b"all",
    b"root",
    b"(root)",
    b"(idle)",
    b"[self]",
    b"[other]",
    b"f_[k]",
    b"f_[i]_[j]",
    b"__proto__",
    b"constructor",
    b"hasOwnProperty",
    b"null",
    b"true",
    b"NaN",
    b"%s%n%d",
    b"$1 ${x} `id`",
    b"f (file.py:12)",
    b"f (/lib/x.so)",
    b"module`function",
    b"lib.so!f+0x12",
    b"time=000001.000s",
    b"thread=main",
    b"main;lex",
    b"two\nlines",
    b"carriage\rreturn",
    b"_ZN3foo3barE",
];

/// A change to a name.
pub(super) type Change = fn(&[u8]) -> Vec<u8>;

/// The formats that hold stacks, and what is lost of a name in them.
pub(super) const HOLDS: &[(&str, Change)] = &[
    ("collapsed", <[u8]>::to_vec),
    ("json", <[u8]>::to_vec),
    ("pprof", <[u8]>::to_vec),
    ("otlp", as_text),
    ("otlp-json", as_text),
    ("speedscope", as_text),
    ("firefox", as_text),
    ("chrome-trace", as_text),
    ("html", <[u8]>::to_vec),
];

/// Folded text is told by what its lines look like, and not taken on trust with these: `--format folded`
/// reads them.
const NOT_TOLD: &[(&[u8], &str)] =
    &[(b"a\x01\x1b[31mb\x7f\x00c", "a binary file has zero bytes"), (b" a", "an indented text is no stack")];

/// Bytes that are no UTF-8 are replaced.
fn as_text(name: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(name).into_owned().into_bytes()
}

fn profile(name: &[u8]) -> Profile {
    let mut builder = Profile::builder();
    builder.add([&b"main"[..], name, b"leaf"], Weight::new(3)).unwrap();
    builder.add([&b"main"[..], name], Weight::new(4)).unwrap();
    builder.add([name], Weight::new(5)).unwrap();
    builder.finish().unwrap()
}

fn folded(profile: &Profile) -> Vec<u8> {
    let mut out = Vec::new();
    profile.stacks().write(&mut out).unwrap();
    out
}

#[test]
fn a_frame_of_any_name_comes_back_from_every_format_that_holds_stacks() {
    let mut wrong = Vec::new();
    for name in NAMES {
        let profile = profile(name);
        for (format, lossy) in HOLDS {
            let mut out = Vec::new();
            profile.render(format, &Settings::default(), &mut out).unwrap();
            // As a user has it: the format is told by content.
            let is_told = *format != "collapsed" || NOT_TOLD.iter().all(|(not, _)| not != name);
            let options = ReadOptions::default();
            let options = if is_told { options } else { options.format("folded") };
            let back = Profile::read(&[Source::bytes(out)], &options);
            let what = format!("{:?} as {format}", String::from_utf8_lossy(name));
            match back {
                Ok(back) if folded(&back) == lossy(&folded(&profile)) => {}
                Ok(back) => {
                    wrong.push(format!("{what} comes back as {:?}", String::from_utf8_lossy(&folded(&back))))
                }
                Err(e) => wrong.push(format!("{what}: {e}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_frame_of_any_name_is_in_a_file_that_its_readers_take() {
    for name in NAMES {
        let profile = profile(name);
        for format in FORMATS.iter().filter(|format| format.name != "png" && !format.takes("binary")) {
            let mut out = Vec::new();
            profile.render(format.name, &Settings::default().peek(".").list("."), &mut out).unwrap();
            let what = format!("{:?} as {}", String::from_utf8_lossy(name), format.name);
            let text = || std::str::from_utf8(&out).unwrap_or_else(|e| panic!("{what}: {e}"));
            match format.name {
                "pprof" | "otlp" | "parquet" | "collapsed" => {}
                "svg" => {
                    let document =
                        roxmltree::Document::parse(text()).unwrap_or_else(|e| panic!("{what}: {e}"));
                    let scripts = document.descendants().filter(|node| node.tag_name().name() == "script");
                    assert_eq!(scripts.count(), 1, "{what}");
                }
                "html" => {
                    let text = text().to_ascii_lowercase();
                    let count = |tag: &str| text.matches(tag).count();
                    assert_eq!(count("<script"), count("</script"), "{what}");
                    assert!(!text.contains("alert(1)"), "{what}");
                }
                "json" | "speedscope" | "firefox" | "chrome-trace" | "otlp-json" => {
                    serde_json::from_str::<serde_json::Value>(text())
                        .unwrap_or_else(|e| panic!("{what}: {e}"));
                }
                // For a terminal, or a page of Markdown.
                _ => {
                    let is_odd = |c: char| c.is_control() && c != '\n' && (c != '\t' || format.name != "tsv");
                    assert!(!text().contains(is_odd), "{what}: {:?}", text());
                }
            }
        }
    }
}
