//! `--rename`: rewrite frame names as sed does.

use regex::bytes::Regex;

use crate::filter::frames::NewNames;
use crate::filter::operation::{Example, OpOptions, Operation, OperationGroup, Rewrite, Stage};
use crate::folded::{FrameId, StackTable, sanitize_frame};
use crate::search::{Case, name_regex};

pub(in crate::filter) const RENAME: Operation = Operation {
    name: "rename",
    value: Some("s/R/TEXT/"),
    group: OperationGroup::Names,
    about: "Replace what matches R in frame names by TEXT",
    details: "`$1` or `${name}` in TEXT is what a group of R matched, `$0` all of it, `$$` a \
              dollar sign. Any character may stand for `/`. `s/R/TEXT/g` replaces every match in a \
              name, `i` ignores case, which counts otherwise, as in sed. A name that is left empty becomes [empty].",
    examples: &[
        Example {
            arguments: &["--rename", r"s/^worker-\d+$/worker/"],
            input: "worker-1;f 1\nworker-2;f 2\nx-worker-3;f 4\n",
            output: "worker;f 3\nx-worker-3;f 4\n",
        },
        Example {
            arguments: &["--rename", r"s|(?<file>\w+)/(\w+)|$2 in ${file} for $$1, not $0|"],
            input: "a/b;c 1\n",
            output: "b in a for $1, not a/b;c 1\n",
        },
        Example {
            arguments: &["--rename", "s/A/;/gi"],
            input: "axa;b 1\nb;a 2\n",
            output: ":x:;b 1\nb;: 2\n",
        },
        Example {
            arguments: &["--rename", "s/a|b$//"],
            input: "a;b 1\nab;c 2\n",
            output: "[empty];[empty] 1\nb;c 2\n",
        },
    ],
    build,
};

fn build(value: &str, options: OpOptions) -> crate::Result<Stage> {
    let wrong = || crate::Error::setting(format!("{value:?} is not of the form s/R/TEXT/"));
    let rest = value.strip_prefix('s').ok_or_else(wrong)?;
    let delimiter = rest.chars().next().filter(|c| !c.is_alphanumeric() && *c != '\\').ok_or_else(wrong)?;
    let mut parts = split(&rest[delimiter.len_utf8()..], delimiter).into_iter();
    let (Some(expression), Some(text), Some(flags), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(wrong());
    };
    let mut every = false;
    // As in sed: what is replaced is said exactly.
    let mut case = if options.case == Case::Ignored { Case::Ignored } else { Case::Exact };
    for flag in flags.chars() {
        match flag {
            'g' => every = true,
            'i' => case = Case::Ignored,
            other => {
                return Err(crate::Error::setting(format!(
                    "{value:?} has the flag {other:?}; there are g and i"
                )));
            }
        }
    }
    let regex = name_regex(&expression, case)?;
    Ok(Stage::Rewrite(Box::new(Rename { regex, text, every, names: NewNames::default() })))
}

/// Splits at the delimiter, which a backslash makes an ordinary character.
fn split(text: &str, delimiter: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let part = parts.last_mut().expect("it starts with one");
        match c {
            '\\' => match chars.next() {
                Some(next) if next == delimiter => part.push(next),
                Some(next) => part.extend(['\\', next]),
                None => part.push('\\'),
            },
            c if c == delimiter => parts.push(String::new()),
            c => part.push(c),
        }
    }
    parts
}

struct Rename {
    regex: Regex,
    text: String,
    every: bool,
    names: NewNames,
}

/// A name that grows beyond this keeps what it was: a hostile rule could make it any size.
const LONGEST_NAME: usize = if cfg!(test) { 64 << 10 } else { 64 << 20 };

impl Rewrite for Rename {
    fn rewrite(&mut self, stack: &mut Vec<FrameId>, names: &mut StackTable) {
        let Rename { regex, text, every, names: new_names } = self;
        let limit = if *every { usize::MAX } else { 1 };
        new_names.apply(stack, names, |name, new| {
            let mut from = 0;
            let mut out = Vec::new();
            for captures in regex.captures_iter(name).take(limit) {
                let whole = captures.get(0).expect("the whole match is group 0");
                out.extend_from_slice(&name[from..whole.start()]);
                captures.expand(text.as_bytes(), &mut out);
                from = whole.end();
                if out.len() > LONGEST_NAME {
                    return false;
                }
            }
            out.extend_from_slice(&name[from..]);
            sanitize_frame(&out, new);
            true
        });
    }

    fn forget(&mut self) {
        self.names.forget();
    }

    fn remark(&self) -> Option<String> {
        (!self.names.has_changed()).then(|| "changed no name".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_makes_the_delimiter_ordinary() {
        assert_eq!(split(r"a\/b/\d/", '/'), ["a/b", r"\d", ""]);
        assert_eq!(split("ab", '/'), ["ab"]);
    }

    #[test]
    fn wrong_rules_are_refused() {
        for rule in ["", "s", "x/a/b/", "s/a/b", "s/a/b/c", "s/a/b/g/", "sxaxbx", "s\\a\\b\\", "s/(/b/"] {
            assert!(build(rule, OpOptions::default()).is_err(), "{rule}");
        }
    }

    #[test]
    fn a_name_that_would_be_too_long_keeps_what_it_was() {
        let length_of = |text: &str, name: &str| {
            let Stage::Rewrite(mut rename) = build(&format!("s/.+/{text}/"), OpOptions::default()).unwrap()
            else {
                unreachable!("it renames")
            };
            let mut names = StackTable::default();
            let mut stack = vec![names.frame(name.as_bytes())];
            rename.rewrite(&mut stack, &mut names);
            names.name(stack[0]).len()
        };
        let eighth = "x".repeat(LONGEST_NAME / 8);
        assert_eq!(length_of(&"$0".repeat(8), &eighth), LONGEST_NAME);
        assert_eq!(length_of(&"$0".repeat(9), &eighth), eighth.len());
        assert_eq!(length_of(&format!("{}y", "${0}".repeat(8)), &eighth), eighth.len());
    }
}
