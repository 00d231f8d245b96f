//! Attributes that a user gives to single functions: links above all.
//!
//! ```text
//! main<TAB>href=https://example.org/main.c<TAB>title=where it all begins
//! vfs_read<TAB>class=kernel<TAB>target=_blank
//! ```
//!
//! The file may come from somewhere else than the user's own keyboard, so only what is known to
//! be harmless is taken: no scripts, no styles, no identifiers that the viewer uses itself.

use std::collections::HashMap;

use crate::error::{Error, Position, Result};
use crate::input::lines;

/// Attributes by function name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameAttributes {
    by_name: HashMap<Vec<u8>, Attributes>,
}

/// The attributes of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The target of a click with the link key, or on a static picture.
    pub href: Option<String>,
    /// The window in which a link opens; `_top` by default.
    pub target: Option<String>,
    /// The tooltip, instead of the usual one.
    pub title: Option<String>,
    /// A class of the frame's group.
    pub class: Option<String>,
    /// Other attributes of the group, by name.
    pub others: Vec<(String, String)>,
}

/// Something that was left out of a file, and why.
pub type Refused = Error;

/// Attributes of a link that are taken as they are; see also [`is_harmless`].
const OTHERS: [&str; 3] = ["rel", "hreflang", "lang"];
/// The schemes that links may have, besides none.
const SCHEMES: [&str; 5] = ["http", "https", "ftp", "file", "mailto"];

impl NameAttributes {
    /// Reads a file's text; `file` is its name for messages. What is refused is left out, and
    /// said in the list: unknown attributes, links that run scripts, lines without a tab.
    pub fn parse(text: &[u8], file: &str) -> (NameAttributes, Vec<Refused>) {
        let mut all = NameAttributes::default();
        let mut refused = Vec::new();
        for (n, line) in lines(text).enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.trim_ascii().is_empty() || line[0] == b'#' && memchr::memchr(b'\t', line).is_none() {
                continue;
            }
            let position = || Position::line(file, n as u64 + 1);
            let mut fields = line.split(|&b| b == b'\t');
            let name = fields.next().unwrap_or_default();
            let mut attributes = all.by_name.remove(name).unwrap_or_default();
            let mut any = false;
            for field in fields.filter(|field| !field.is_empty()) {
                any = true;
                if let Err(error) = attributes.add(field) {
                    refused.push(error.or_at(position));
                }
            }
            if !any {
                let error = Error::malformed("a name, a tab and attr=value", line);
                refused.push(error.or_at(position));
            }
            all.by_name.insert(name.to_vec(), attributes);
        }
        (all, refused)
    }

    /// The attributes of a function.
    pub fn get(&self, name: &[u8]) -> Option<&Attributes> {
        if self.by_name.is_empty() { None } else { self.by_name.get(name) }
    }
}

impl Attributes {
    fn add(&mut self, field: &[u8]) -> Result<()> {
        let text = String::from_utf8_lossy(field);
        let Some((key, value)) = text.split_once('=') else {
            return Err(Error::malformed("attr=value", field));
        };
        let value = unquoted(value).to_owned();
        match key {
            "href" | "xlink:href" if is_safe_link(&value) => self.href = Some(value),
            "href" | "xlink:href" => {
                return Err(Error::malformed("a link to http, https, ftp, file, mailto or a path", field));
            }
            "target" => self.target = Some(value),
            "title" => self.title = Some(value),
            "class" => self.class = Some(value),
            _ if is_harmless(key) => {
                self.others.retain(|(known, _)| known != key);
                self.others.push((key.to_owned(), value));
            }
            _ => {
                let expected =
                    "href, target, title, class, rel, hreflang, lang, aria-… or data-… as attribute";
                return Err(Error::malformed(expected, field));
            }
        }
        Ok(())
    }
}

fn is_harmless(key: &str) -> bool {
    let tail = key.strip_prefix("aria-").or_else(|| key.strip_prefix("data-"));
    OTHERS.contains(&key)
        || tail.is_some_and(|tail| {
            tail.len() > 1 && tail.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        })
}

/// A value may stand in quotes.
fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value)
}

/// Judges a link as a browser reads it: blanks and control characters do not count.
fn is_safe_link(link: &str) -> bool {
    let read: String = link.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    let end = read.find([':', '/', '?', '#']).unwrap_or(read.len());
    !read[end..].starts_with(':') || SCHEMES.contains(&read[..end].to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_attributes() {
        let text = b"main\thref=https://example.org/?a=b\ttitle=\"the start\"\tclass=own\n\
            a b;c\ttarget=_blank\trel=noopener\tdata-kind=x\tdata-kind=y\r\n\n# no tab here\nmain\ttarget=x\n";
        let (all, refused) = NameAttributes::parse(text, "f");
        assert!(refused.is_empty(), "{refused:?}");
        let main = all.get(b"main").unwrap();
        assert_eq!(main.href.as_deref(), Some("https://example.org/?a=b"));
        assert_eq!(main.title.as_deref(), Some("the start"));
        assert_eq!((main.class.as_deref(), main.target.as_deref()), (Some("own"), Some("x")));
        let other = all.get(b"a b;c").unwrap();
        assert_eq!(other.others, [("rel".into(), "noopener".into()), ("data-kind".into(), "y".into())]);
        assert_eq!(all.get(b"nosuch"), None);
    }

    #[test]
    fn links_that_run_scripts_are_refused_and_said() {
        for link in [
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            " java\u{1}script:alert(1)",
            "java\u{a0}script:x",
            "vbscript:x",
            "data:text/html,<script>",
            ":x",
        ] {
            let text = format!("main\thref={link}\tclass=kept");
            let (all, refused) = NameAttributes::parse(text.as_bytes(), "attributes");
            assert_eq!((refused.len(), all.get(b"main").unwrap().href.as_ref()), (1, None), "{link}");
            assert!(refused[0].to_string().starts_with("attributes:1: expected a link to"), "{link}");
            assert_eq!(all.get(b"main").unwrap().class.as_deref(), Some("kept"));
        }
        for link in ["main.c", "/a:b", "?q=a:b", "#x:y", "HTTPS://x", "mailto:a@b", "", "../x?javascript:"] {
            assert!(is_safe_link(link), "{link}");
        }
    }

    #[test]
    fn what_runs_or_clashes_is_refused() {
        let text =
            b"f\tonclick=alert(1)\tstyle=x\tid=search\tdata-x=1\taria-\tg_extra=x\tdata-a\"b=1\nno tab\n";
        let (all, refused) = NameAttributes::parse(text, "f");
        assert_eq!(refused.len(), 8, "{refused:?}");
        assert_eq!(all.get(b"f"), Some(&Attributes::default()));
    }
}
