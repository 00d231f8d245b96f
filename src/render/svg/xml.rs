//! XML that is well-formed whatever goes into it: the one place that escapes.

use std::fmt::{self, Write as _};
use std::io::Write;

use crate::error::Result;

/// Writes elements, and closes them.
///
/// Element and attribute names are ours; values and texts may hold anything.
pub(super) struct Xml<'w> {
    out: &'w mut dyn Write,
    line: String,
    open: Vec<Element>,
    /// A start tag is not yet ended by `>`.
    in_tag: bool,
    layout: Lines,
    ascii: bool,
}

struct Element {
    name: &'static str,
    has_elements: bool,
    has_text: bool,
}

/// The places of line breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lines {
    /// Before elements down to this depth: a frame on a line.
    To(usize),
    /// Before every element, which is indented.
    Pretty,
}

impl<'w> Xml<'w> {
    /// Begins a document; `ascii` writes all other characters as references.
    pub(super) fn new(out: &'w mut dyn Write, encoding: &str, ascii: bool, layout: Lines) -> Self {
        let line = format!("<?xml version=\"1.0\" encoding=\"{encoding}\" standalone=\"no\"?>");
        Xml { out, line, open: Vec::new(), in_tag: false, layout, ascii }
    }

    /// Begins an element; attributes follow, then texts and elements, then [`Xml::end`].
    pub(super) fn start(&mut self, name: &'static str) -> Result<&mut Self> {
        self.end_tag();
        let depth = self.open.len();
        let breaks = match self.open.last_mut() {
            Some(parent) => {
                parent.has_elements = true;
                !parent.has_text && self.layout_breaks(depth)
            }
            None => true,
        };
        if breaks {
            self.break_line(depth);
        }
        self.line.push('<');
        self.line.push_str(name);
        self.in_tag = true;
        self.open.push(Element { name, has_elements: false, has_text: false });
        // Frames are short, and many: one write for some of them.
        if self.line.len() > 1 << 14 {
            self.out.write_all(self.line.as_bytes())?;
            self.line.clear();
        }
        Ok(self)
    }

    fn layout_breaks(&self, depth: usize) -> bool {
        match self.layout {
            Lines::To(deepest) => depth <= deepest,
            Lines::Pretty => true,
        }
    }

    fn break_line(&mut self, depth: usize) {
        self.line.push('\n');
        if self.layout == Lines::Pretty {
            self.line.extend(std::iter::repeat_n("  ", depth));
        }
    }

    fn end_tag(&mut self) {
        if std::mem::take(&mut self.in_tag) {
            self.line.push('>');
        }
    }

    /// Adds an attribute to the element that was begun last.
    pub(super) fn attr(&mut self, name: &str, value: impl fmt::Display) -> &mut Self {
        debug_assert!(self.in_tag, "attributes come before contents");
        let ascii = self.ascii;
        self.line.push(' ');
        self.line.push_str(name);
        self.line.push_str("=\"");
        // Writing to a string cannot fail.
        let _ = write!(Escaper { out: &mut self.line, ascii }, "{value}");
        self.line.push('"');
        self
    }

    /// Adds text.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.end_tag();
        if let Some(element) = self.open.last_mut() {
            element.has_text = true;
        }
        let ascii = self.ascii;
        let _ = Escaper { out: &mut self.line, ascii }.write_str(text);
        self
    }

    /// Adds a line of text, with a line break behind it.
    pub(super) fn line(&mut self, text: &str) -> &mut Self {
        self.text(text);
        self.line.push('\n');
        self
    }

    /// Adds a script or a style sheet of our own, as it is. It must not hold `]]>`.
    pub(super) fn cdata(&mut self, parts: &[&str]) -> &mut Self {
        self.end_tag();
        if let Some(element) = self.open.last_mut() {
            element.has_text = true;
        }
        self.line.push_str("<![CDATA[\n");
        for part in parts {
            debug_assert!(!part.contains("]]>"), "this would end the section");
            self.line.push_str(part);
        }
        self.line.push_str("]]>");
        self
    }

    /// Ends the element that was begun last.
    pub(super) fn end(&mut self) {
        let Some(element) = self.open.pop() else { return };
        if self.in_tag && !element.has_text {
            self.in_tag = false;
            self.line.push_str("/>");
            return;
        }
        let depth = self.open.len();
        if element.has_elements && !element.has_text && self.layout_breaks(depth + 1) {
            self.break_line(depth);
        }
        self.line.push_str("</");
        self.line.push_str(element.name);
        self.line.push('>');
    }

    /// Ends the document.
    pub(super) fn finish(mut self) -> Result<()> {
        while !self.open.is_empty() {
            self.end();
        }
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())?;
        self.out.flush()?;
        Ok(())
    }
}

struct Escaper<'s> {
    out: &'s mut String,
    ascii: bool,
}

impl fmt::Write for Escaper<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Nearly all of nearly every text needs no care.
        let needs_care = |byte: &u8| !matches!(byte, b' '..=b'~') || b"&<>\"'".contains(byte);
        let plain = text.as_bytes().iter().position(needs_care).unwrap_or(text.len());
        let (plain, rest) = text.split_at(plain);
        self.out.push_str(plain);
        for c in rest.chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                '\'' => self.out.push_str("&#39;"),
                ' '..='~' => self.out.push(c),
                _ if self.ascii => write!(self.out, "&#{};", u32::from(visible(c)))?,
                _ => self.out.push(visible(c)),
            }
        }
        Ok(())
    }
}

/// Characters that XML forbids or that are invisible become ones that are allowed and visible.
pub(super) fn visible(c: char) -> char {
    match u32::from(c) {
        // The pictures of control characters stand in their order.
        n @ 0..=0x1f => char::from_u32(0x2400 + n).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        0x80..=0x9f | 0xfffe | 0xffff => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an attribute and a text of this value as a strict parser reads them back.
    fn round_trip(value: &str, ascii: bool) -> (String, String) {
        let mut bytes = Vec::new();
        let mut xml = Xml::new(&mut bytes, "UTF-8", ascii, Lines::To(1));
        xml.start("a").unwrap().attr("b", value).text(value).end();
        xml.finish().unwrap();
        assert!(!ascii || bytes.is_ascii());
        let text = String::from_utf8(bytes).unwrap();
        let document = roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{value:?}: {e}\n{text}"));
        let root = document.root_element();
        (root.attribute("b").unwrap().to_owned(), root.text().unwrap_or_default().to_owned())
    }

    #[test]
    fn every_character_comes_back_or_is_replaced_by_a_visible_one() {
        for c in (0..=0x1_0000).chain([0x1_f600, 0x1_fffe, 0x10_ffff]).filter_map(char::from_u32) {
            let expected = visible(c).to_string();
            for ascii in [false, true] {
                let read = round_trip(&c.to_string(), ascii);
                assert_eq!(read, (expected.clone(), expected.clone()), "{c:?}");
            }
        }
        assert_eq!((visible('\u{1b}'), visible('\n'), visible('\u{7f}')), ('␛', '␊', '␡'));
    }

    #[test]
    fn markup_stays_text() {
        for text in ["]]>", "<!--", "</a><script>x</script>", "\" onload=\"x", "' x='", "&amp;&#0;&bogus;"] {
            assert_eq!(round_trip(text, false), (text.to_owned(), text.to_owned()));
        }
    }
}
