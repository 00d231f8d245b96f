//! `node --prof-process --preprocess`: V8's log, made into JSON (seen: Node 20).
//!
//! ```text
//! {"code": [{"name": "/usr/bin/node", "type": "SHARED_LIB"},
//!           {"name": "fib /app/a.js:3:13", "type": "JS", "kind": "Opt", "func": 0, …}],
//!  "functions": […],
//!  "ticks": [{"tm": 549, "vm": 0, "s": [1, 79, -1, 22128288, 0, 5]}], "scripts": […]}
//! ```
//! The stack of a tick, leaf first, is pairs of the number of a code and a place in it; -1 is an
//! address without a name. A tick counts as one sample.
//! The source is Node's `deps/v8/tools/profview`, which draws the same file.

use crate::collapse::kit::clean_symbol::clean_symbol;
use crate::collapse::kit::json::{HeadKeys, Json};
use crate::collapse::kit::names::{ANONYMOUS, FrameNames};
use crate::collapse::kit::naming::split_srcline;
use crate::collapse::kit::trie::{PathId, Trie};
use crate::collapse::kit::values::Values;
use crate::collapse::{Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Kind as CodeKind, Place, sanitize_frame};
use crate::input::Input;
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "v8-ticks",
    producer: "node --prof-process --preprocess",
    tested: Tested::Seen("Node 20"),
    values: "ticks",
    unit: "samples",
};

/// Collapses V8's processed logs.
pub struct Ticks;

impl Collapser for Ticks {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        let Some(keys) = HeadKeys::read(head).filter(|keys| !keys.array) else { return Certainty::No };
        let code = keys.has_all(&["code.name", "code.type"]);
        if code || keys.has_all(&["ticks.tm", "ticks.s"]) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let mut codes = Vec::new();
        let mut ticks = Vec::new();
        let mut stacks = Trie::default();
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "code" => read_codes(&mut json, reading, &mut codes, sink)?,
                "ticks" => read_ticks(&mut json, &mut stacks, &mut ticks)?,
                _ => json.skip()?,
            }
        }
        json.end(report);
        let mut values = Values::single(reading, "ticks", "samples");
        let no_stack = sink.frame(crate::collapse::kit::names::NO_STACK);
        let mut stack = Vec::new();
        for mut path in ticks {
            stack.clear();
            // The trie begins at the leaf, as ticks do: what is read from its end is root first.
            while let Some((above, code)) = stacks.above(path) {
                let Some(&frame) = codes.get(code as usize) else {
                    return Err(json.no_entry("codes", code as usize, codes.len()));
                };
                stack.push(frame);
                path = above;
            }
            if stack.is_empty() {
                stack.push(no_stack);
            }
            values.sample(&stack, &[Weight::ONE], sink)?;
        }
        values.finish(report)
    }
}

/// Reads the array `code` into frames.
fn read_codes(
    json: &mut Json,
    options: &CollapseOptions,
    codes: &mut Vec<FrameId>,
    sink: &mut dyn Sink,
) -> Result<()> {
    let (mut key, mut name, mut kind, mut tier) =
        (String::new(), String::new(), String::new(), String::new());
    let mut names = FrameNames::default();
    json.begin_array()?;
    while json.next_item()? {
        name.clear();
        kind.clear();
        tier.clear();
        if json.null()? {
            codes.push(names.plain(b"[unknown]", sink));
            continue;
        }
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "name" => name.push_str(json.text()?),
                "type" => kind.push_str(json.text()?),
                "kind" => tier.push_str(json.text()?),
                _ => json.skip()?,
            }
        }
        codes.push(match kind.as_str() {
            "SHARED_LIB" => names.module(name.as_bytes(), 0, &CollapseOptions::default(), sink),
            "JS" => names.build_at(&function_place(name.as_bytes(), &tier), sink, |out| {
                write_function(name.as_bytes(), out);
                if options.jit && tier != "Builtin" {
                    out.extend_from_slice(b"_[j]");
                }
            }),
            "CPP" => names.build_at(&Place { kind: CodeKind::User, ..Place::default() }, sink, |out| {
                clean_symbol(name.as_bytes(), out)
            }),
            _ => names.plain(name.as_bytes(), sink),
        });
    }
    Ok(())
}

/// The place of `fib /app/a b.js:3:13`; built-in functions were compiled beforehand.
fn function_place<'a>(name: &'a [u8], tier: &str) -> Place<'a> {
    let place = memchr::memchr(b' ', name).map_or(&b""[..], |space| &name[space + 1..]);
    let digits = place.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let place = place[..place.len() - digits].strip_suffix(b":").filter(|_| digits > 0).unwrap_or(place);
    let (file, start_line) = split_srcline(place);
    let kind = if tier == "Builtin" { CodeKind::User } else { CodeKind::Jit };
    Place { file, start_line, kind, ..Place::default() }
}

/// `fib /app/a b.js:3:13` as `fib (/app/a b.js:3)`, as in a `.cpuprofile`.
fn write_function(name: &[u8], out: &mut Vec<u8>) {
    let Some(space) = memchr::memchr(b' ', name) else { return sanitize_frame(name, out) };
    let (function, place) = (&name[..space], &name[space + 1..]);
    let digits = place.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let line = place[..place.len() - digits].strip_suffix(b":").filter(|_| digits > 0).unwrap_or(place);
    sanitize_frame(if function.is_empty() { ANONYMOUS } else { function }, out);
    out.extend_from_slice(b" (");
    sanitize_frame(line, out);
    out.push(b')');
}

/// Reads the array `ticks`: where each is in the trie.
fn read_ticks(json: &mut Json, stacks: &mut Trie, ticks: &mut Vec<PathId>) -> Result<()> {
    let mut key = String::new();
    let mut codes: Vec<u32> = Vec::new();
    json.begin_array()?;
    while json.next_item()? {
        codes.clear();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "s" => {
                    json.begin_array()?;
                    let mut place = false;
                    while json.next_item()? {
                        let number = json.integer()?;
                        // The first number of each pair counts; an unknown address is passed over.
                        if !place && number >= 0 {
                            codes.push(u32::try_from(number).map_err(|_| {
                                Error::malformed("the number of a code", number.to_string().as_bytes())
                                    .at(json.place())
                            })?);
                        }
                        place = !place;
                    }
                }
                _ => json.skip()?,
            }
        }
        ticks.push(codes.iter().fold(Trie::ROOT, |path, &code| stacks.below(path, code)));
    }
    Ok(())
}
