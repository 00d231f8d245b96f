//! Commands of our programs in running text and tables are ones that the programs take.

use super::page::pages;
use super::reader::{Profilers, Reader};

/// The commands in backquotes outside of blocks.
fn inline_commands(text: &str) -> impl Iterator<Item = &str> {
    let outside = text.split("\n```").step_by(2);
    let quoted = outside.flat_map(|part| part.split('`').skip(1).step_by(2));
    quoted.filter(|code| code.starts_with("fg-") && code.contains(' ') && !code.contains('\n'))
}

/// Placeholders of the text, and what takes their place.
const PLACES: &[(&str, &str)] =
    &[("FILE", "given"), ("RE", "main"), ("PATTERN", "main"), ("NAME", "server"), ("PID", "$PID"), ("…", "")];

/// Words of a message about the command itself, not about the files it names.
const REFUSED: &[&str] = &[
    "unexpected argument",
    "invalid value",
    "unrecognized",
    "cannot be used with",
    "Usage:",
    "is an old name",
];

#[test]
fn commands_in_the_text_are_taken() {
    let reader = Reader::new();
    reader.put("given", b"main;parse 4\nmain;lex 3\n");
    let mut taken = 0;
    for page in pages() {
        for command in inline_commands(&page.text) {
            let words = command.split(' ').map(|word| {
                PLACES.iter().find(|(place, _)| *place == word).map_or(word, |(_, instead)| *instead)
            });
            let mut words: Vec<&str> = words.collect();
            let is_recording =
                words[0] == "fg-record" && !["bundle", "cargo", "check", "demo"].contains(&words[1]);
            if is_recording {
                // It says which profiler it would run, and runs nothing.
                words.insert(1, "--print-command");
            } else if words[0] == "fg-record" {
                continue;
            }
            // What a command reads stands in a file, in a pipe, or nowhere.
            let text = format!("{} </dev/null", words.join(" "));
            let output = reader.run(&text, Profilers::PlayedBack);
            let said = String::from_utf8_lossy(&output.stderr);
            // Some options have no other profiler.
            if said.contains("'--print-command' cannot be used with") {
                continue;
            }
            let names_a_file = command.contains("FILE") || command.contains('.');
            let refused = REFUSED.iter().any(|words| said.contains(words))
                || names_a_file && said.contains("arguments were not provided");
            assert!(!refused, "{}: `{command}`: {said}", page.name);
            taken += 1;
        }
    }
    assert!(taken > 20, "{taken} commands");
}
