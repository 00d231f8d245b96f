//! Labels from the path of a recording: `{service}/{version}/{host}/*`.

use regex::bytes::{Captures, Regex};

use crate::error::{Error, Result};
use crate::folded::sanitize_frame;
use crate::profile::clean_key;

/// A pattern of paths with names for some of their parts.
///
/// `{name}` stands for one or more characters of a part, `*` for any characters of a part, and `**/` for any
/// number of whole parts. A path fits if all of it does.
#[derive(Clone, Debug)]
pub(crate) struct PathPattern {
    text: String,
    regex: Regex,
    names: Vec<String>,
}

impl PathPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for a brace without its other, and for names that are empty or come twice.
    pub(crate) fn parse(text: &str) -> Result<PathPattern> {
        let wrong = |what: String| Err(Error::setting(format!("{text:?}: {what}")));
        let mut names: Vec<String> = Vec::new();
        let mut regex = String::from("(?s-u)\\A");
        let mut rest = text.trim_start_matches("./");
        while let Some(first) = rest.chars().next() {
            let taken = if let Some(named) = rest.strip_prefix('{') {
                let Some(end) = named.find('}') else {
                    return wrong("a { needs its }, as in {service}/*".into());
                };
                let name = clean_key(&named.as_bytes()[..end]);
                if name.is_empty() || named[..end].contains(['{', '/', '*']) {
                    return wrong("a name is wanted between braces, as in {service}/*".into());
                }
                if names.contains(&name) {
                    return wrong(format!("{{{name}}} stands there twice"));
                }
                names.push(name);
                regex.push_str("([^/]+)");
                end + 2
            } else if rest.starts_with("**/") {
                regex.push_str("(?:.*/)?");
                3
            } else if first == '*' {
                regex.push_str("[^/]*");
                1
            } else if first == '}' {
                return wrong("a } needs its {, as in {service}/*".into());
            } else {
                regex.push_str(&regex::escape(&rest[..first.len_utf8()]));
                first.len_utf8()
            };
            rest = &rest[taken..];
        }
        regex.push_str("\\z");
        let regex = match Regex::new(&regex) {
            Ok(regex) => regex,
            Err(e) => return wrong(e.to_string().lines().last().unwrap_or_default().to_owned()),
        };
        Ok(PathPattern { text: text.to_owned(), regex, names })
    }

    /// Returns true if a part of the path has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    /// The names, as messages list them.
    pub(crate) fn names(&self) -> String {
        crate::error::some_of(&self.names)
    }

    /// All labels of a path, with their values.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for a path that does not fit.
    #[cfg(feature = "parquet")]
    pub(crate) fn labels(&self, path: &[u8]) -> Result<Vec<(String, Vec<u8>)>> {
        let found = self.captures(path)?;
        let labels = self.names.iter().zip(1..);
        Ok(labels.filter_map(|(name, at)| Some((name.clone(), found.get(at)?.as_bytes().to_vec()))).collect())
    }

    fn captures<'p>(&self, path: &'p [u8]) -> Result<Captures<'p>> {
        self.regex.captures(path).ok_or_else(|| {
            let what = format!("its path does not fit --path-pattern {}", self.text);
            Error::setting(what)
        })
    }

    /// The root frames `key=value` of these keys, for a path.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for a path that does not fit.
    pub(crate) fn frames(&self, path: &[u8], keys: &[String]) -> Result<Vec<Vec<u8>>> {
        let found = self.captures(path)?;
        let frame = |key: &String| {
            let at = self.names.iter().position(|name| name == key)?;
            let mut frame = format!("{key}=").into_bytes();
            sanitize_frame(found.get(at + 1)?.as_bytes(), &mut frame);
            Some(frame)
        };
        Ok(keys.iter().filter_map(frame).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(pattern: &str, path: &str, keys: &[&str]) -> Option<String> {
        let keys: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
        let frames = PathPattern::parse(pattern).unwrap().frames(path.as_bytes(), &keys).ok()?;
        Some(String::from_utf8(frames.join(&b';')).unwrap())
    }

    #[test]
    fn parts_of_a_path_are_labels() {
        let pattern = "{service}/{version}/{host}/*";
        let keys = ["service", "version", "host"];
        assert_eq!(
            frames(pattern, "api/2.3/node 7/x.pb.gz", &keys).unwrap(),
            "service=api;version=2.3;host=node 7"
        );
        assert_eq!(frames(pattern, "api/2.3/n/x.pb.gz", &["host", "service"]).unwrap(), "host=n;service=api");
        for path in ["api/2.3/x.pb.gz", "api/2.3/n/y/x.pb.gz", "api//n/x", ""] {
            assert_eq!(frames(pattern, path, &keys), None, "{path}");
        }
    }

    #[test]
    fn a_part_can_be_divided_and_parts_be_passed_over() {
        let keys = ["service", "version"];
        let pattern = "./**/{service}-{version}.pb.gz";
        for path in ["api-gw-2.3.pb.gz", "eu/west/api-gw-2.3.pb.gz"] {
            assert_eq!(frames(pattern, path, &keys).unwrap(), "service=api-gw;version=2.3");
        }
        assert_eq!(frames(pattern, "api-2-pb.gz", &keys), None);
        assert_eq!(frames("{a}", "x;y", &["a"]).unwrap(), "a=x:y");
        assert_eq!(frames("a.b/(*)", "aXb/(1)", &[]), None);
        assert_eq!(frames("a.b/(*)", "a.b/(1)", &[]).unwrap(), "");
    }

    #[test]
    fn mistakes_in_a_pattern_are_named() {
        for (pattern, message) in [
            ("{a", "needs its }"),
            ("a}", "needs its {"),
            ("{}/x", "a name"),
            ("{a}/{a}", "twice"),
            ("{a/b}", "a name"),
        ] {
            let error = PathPattern::parse(pattern).unwrap_err().to_string();
            assert!(error.contains(message) && error.contains(pattern), "{error}");
        }
    }
}
