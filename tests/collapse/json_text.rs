//! JSON texts that say the same in another shape: other blanks, other orders of keys.

use std::ops::Range;

/// A value, as it stands in its text.
pub enum Json<'a> {
    /// A number, a word or a string.
    Plain(&'a [u8]),
    List(Vec<Json<'a>>),
    /// Keys, with their quotes, and values.
    Object(Vec<(&'a [u8], Json<'a>)>),
}

/// The values of a text, one behind the other; `None` if it is no JSON.
pub fn values(mut text: &[u8]) -> Option<Vec<Json<'_>>> {
    let mut values = Vec::new();
    loop {
        text = text.trim_ascii_start();
        if text.is_empty() {
            return matches!(values.first(), Some(Json::List(_) | Json::Object(_))).then_some(values);
        }
        values.push(value(&mut text)?);
    }
}

fn value<'a>(text: &mut &'a [u8]) -> Option<Json<'a>> {
    *text = text.trim_ascii_start();
    match text.first()? {
        b'[' => items(text, b']', value).map(Json::List),
        b'{' => {
            let pair = |text: &mut &'a [u8]| {
                let key = plain(text)?;
                eat(text, b':')?;
                Some((key, value(text)?))
            };
            items(text, b'}', pair).map(Json::Object)
        }
        _ => plain(text).map(Json::Plain),
    }
}

/// The items between two brackets, with commas between.
fn items<'a, T>(
    text: &mut &'a [u8],
    end: u8,
    mut item: impl FnMut(&mut &'a [u8]) -> Option<T>,
) -> Option<Vec<T>> {
    *text = &text[1..];
    let mut items = Vec::new();
    if eat(text, end).is_some() {
        return Some(items);
    }
    loop {
        items.push(item(text)?);
        match eat(text, b',') {
            Some(()) => {}
            None => return eat(text, end).map(|()| items),
        }
    }
}

fn eat(text: &mut &[u8], byte: u8) -> Option<()> {
    *text = text.trim_ascii_start().strip_prefix(&[byte])?;
    Some(())
}

/// A number, a word, or a string with its quotes.
fn plain<'a>(text: &mut &'a [u8]) -> Option<&'a [u8]> {
    *text = text.trim_ascii_start();
    let len = match text.first()? {
        b'"' => {
            let mut at = 1;
            while *text.get(at)? != b'"' {
                at += if text[at] == b'\\' { 2 } else { 1 };
            }
            at + 1
        }
        _ => text.iter().position(|b| b",:]} \t\r\n".contains(b)).unwrap_or(text.len()),
    };
    let (plain, rest) = text.split_at(len);
    *text = rest;
    (len > 0).then_some(plain)
}

/// The ways to write a value.
#[derive(Clone, Copy)]
pub struct Style {
    /// The text before each item of a list or an object.
    pub before: &'static str,
    /// The text behind each comma and colon.
    pub behind: &'static str,
    /// Write keys in the opposite order.
    pub reversed: bool,
}

impl Json<'_> {
    pub fn write(&self, style: Style, out: &mut Vec<u8>) {
        let separate = |n: usize, out: &mut Vec<u8>| {
            if n > 0 {
                out.push(b',');
                out.extend_from_slice(style.behind.as_bytes());
            }
            out.extend_from_slice(style.before.as_bytes());
        };
        match self {
            Json::Plain(text) => out.extend_from_slice(text),
            Json::List(items) => {
                out.push(b'[');
                for (n, item) in items.iter().enumerate() {
                    separate(n, out);
                    item.write(style, out);
                }
                out.push(b']');
            }
            Json::Object(pairs) => {
                out.push(b'{');
                let forwards = pairs.iter();
                let pairs: Vec<_> =
                    if style.reversed { forwards.rev().collect() } else { forwards.collect() };
                for (n, (key, value)) in pairs.into_iter().enumerate() {
                    separate(n, out);
                    out.extend_from_slice(key);
                    out.push(b':');
                    out.extend_from_slice(style.behind.as_bytes());
                    value.write(style, out);
                }
                out.push(b'}');
            }
        }
    }
}

/// The same values in another style, each on a line of its own; `None` if the text is no JSON.
pub fn restyled(text: &[u8], style: Style) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for value in values(text)? {
        value.write(style, &mut out);
        out.push(b'\n');
    }
    Some(out)
}

/// A value in its text.
pub struct Place {
    /// The keys that lead to it, without the indices of lists.
    pub path: String,
    pub value: Range<usize>,
    /// The start of its key, if it is in an object.
    pub key: Option<usize>,
}

/// The places of all values of a text, the outermost ones too; `None` if it is no JSON.
pub fn places(text: &[u8]) -> Option<Vec<Place>> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.trim_ascii_start().is_empty() {
        place(&mut rest, text.len(), "", None, &mut found)?;
    }
    let is_document = |place: &Place| matches!(text[place.value.start], b'[' | b'{');
    found.last().is_some_and(is_document).then_some(found)
}

/// Adds the place of the next value of the last bytes of a text, behind those within it.
fn place(rest: &mut &[u8], len: usize, path: &str, key: Option<usize>, found: &mut Vec<Place>) -> Option<()> {
    *rest = rest.trim_ascii_start();
    let start = len - rest.len();
    match rest.first()? {
        b'[' => {
            let path = format!("{path}[]");
            items(rest, b']', |rest| place(rest, len, &path, None, found))?;
        }
        b'{' => {
            items(rest, b'}', |rest| {
                *rest = rest.trim_ascii_start();
                let start = len - rest.len();
                let key = String::from_utf8_lossy(plain(rest)?).into_owned();
                eat(rest, b':')?;
                place(rest, len, &format!("{path}.{}", key.trim_matches('"')), Some(start), found)
            })?;
        }
        _ => drop(plain(rest)?),
    }
    found.push(Place { path: path.to_owned(), value: start..len - rest.len(), key });
    Some(())
}
