//! The keys in the first bytes of a JSON text, by which formats are recognised.

use std::collections::BTreeSet;

/// The keys in the first bytes of a JSON text, each with those above it: `meta.version`; arrays
/// are passed through, so `nodes.callFrame` is a key of the nodes in the array `nodes`.
#[derive(Debug, Default)]
pub struct HeadKeys {
    paths: BTreeSet<String>,
    /// True if the outermost value is an array.
    pub array: bool,
}

/// The keys that tell formats apart stand no deeper.
const KEY_DEPTH: usize = 3;

impl HeadKeys {
    /// The keys, if the text begins as an object or an array does.
    pub fn read(head: &[u8]) -> Option<HeadKeys> {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        let mut keys = HeadKeys { array: head.first() == Some(&b'['), ..HeadKeys::default() };
        if !keys.array && head.first() != Some(&b'{') {
            return None;
        }
        // For each open bracket whether it is an object's, and where its key ends in `path`.
        let mut open: Vec<(bool, usize)> = Vec::new();
        let mut path = String::new();
        let mut objects = 0;
        let mut at = 0;
        while let Some(&byte) = head.get(at) {
            at += 1;
            match byte {
                b'{' | b'[' => {
                    open.push((byte == b'{', path.len()));
                    objects += usize::from(byte == b'{');
                }
                b'}' | b']' => {
                    let Some((object, len)) = open.pop() else { break };
                    objects -= usize::from(object);
                    path.truncate(len);
                    if open.is_empty() {
                        break;
                    }
                }
                b'"' => {
                    let Some(end) = end_of_text(&head[at..]) else { break };
                    let text = &head[at..at + end];
                    at += end + 1;
                    let rest = head[at..].trim_ascii_start();
                    if let Some(&(true, len)) = open.last()
                        && rest.first() == Some(&b':')
                        && objects <= KEY_DEPTH
                    {
                        path.truncate(len);
                        if len > 0 {
                            path.push('.');
                        }
                        path.push_str(&String::from_utf8_lossy(text));
                        keys.paths.insert(path.clone());
                    }
                }
                _ => {}
            }
        }
        Some(keys)
    }

    /// Returns whether there is such a key.
    pub fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Returns whether there are all of these.
    pub fn has_all(&self, paths: &[&str]) -> bool {
        paths.iter().all(|path| self.has(path))
    }
}

/// The end of a text whose opening quote has been read.
fn end_of_text(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', &bytes[at..])?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
        if at > bytes.len() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_an_incomplete_text() {
        let keys =
            HeadKeys::read(br#" {"a":{"b\"":[1,{"c":"d"}]},"e":"f:","g":[{"h":{"i":{"j":1}}},{"k"#).unwrap();
        let all: Vec<&str> = keys.paths.iter().map(String::as_str).collect();
        assert_eq!(all, ["a", "a.b\\\"", "a.b\\\".c", "e", "g", "g.h", "g.h.i"]);
        assert!(HeadKeys::read(br#"[{"ph":"B"}"#).unwrap().has("ph"));
        assert!(HeadKeys::read(b"a;b 1").is_none() && HeadKeys::read(b"").is_none());
        assert!(!HeadKeys::read(b"{\"a\\").unwrap().has("a"));
    }
}
