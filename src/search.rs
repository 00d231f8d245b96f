//! The one rule for "does a name match a search?", used by every program.
//!
//! An expression has the syntax of the `regex` crate and matches anywhere in a name. Case is ignored
//! unless the expression has a capital letter. The viewers cannot call this code:
//! `render/html/page/expression.js` says the same in JavaScript, and both are held against
//! `tests/search/cases.json`.

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::ast::{self, Ast, ClassSetItem};
use regex_syntax::hir::Hir;

use crate::error::{Result, excerpt};

/// The largest size of a compiled expression, in bytes: room for files of some ten thousand fixed
/// strings, none for `(((a{99}){99}){99})`.
const SIZE_LIMIT: usize = 32 << 20;

/// The search's own memory, in bytes; when it is full the search starts it anew.
const CACHE_LIMIT: usize = 8 << 20;

/// The deepest nesting of expressions.
const NEST_LIMIT: u32 = 200;

/// The meaning of upper and lower case in a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// They are the same, unless the expression has a capital letter. `\S` and `\p{Lu}` are none.
    #[default]
    Smart,
    /// They are the same.
    Ignored,
    /// They differ.
    Exact,
}

impl Case {
    /// Returns true if `expression` is searched for without regard to case.
    fn is_ignored(self, expression: &str, syntax: Syntax) -> bool {
        match self {
            Case::Smart => !has_capital(expression, syntax),
            Case::Ignored => true,
            Case::Exact => false,
        }
    }
}

/// The way to read the text of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// A regular expression.
    Regex,
    /// The text itself.
    Plain,
}

/// A regular expression for names.
///
/// # Errors
/// [`crate::ErrorKind::Setting`] names the mistake in the expression, or says it is too large.
pub(crate) fn name_regex(expression: &str, case: Case) -> Result<Regex> {
    compile(&parse(expression, Syntax::Regex, case)?)
}

/// Reads one expression and says on one line what is wrong with it.
pub(crate) fn parse(expression: &str, syntax: Syntax, case: Case) -> Result<Hir> {
    use regex_syntax::Error;

    let escaped;
    let text = match syntax {
        Syntax::Regex => expression,
        Syntax::Plain => {
            escaped = regex_syntax::escape(expression);
            &escaped
        }
    };
    let ignores_case = case.is_ignored(expression, syntax);
    let mut parser =
        ParserBuilder::new().utf8(false).case_insensitive(ignores_case).nest_limit(NEST_LIMIT).build();
    parser.parse(text).map_err(|error| {
        let (what, at) = match &error {
            Error::Parse(error) => (error.kind().to_string(), error.span().start.offset),
            Error::Translate(error) => (error.kind().to_string(), error.span().start.offset),
            _ => ("it is not understood".to_owned(), 0),
        };
        let place = text.get(..at).map_or(1, |before| before.chars().count() + 1);
        let shown = excerpt(expression.as_bytes());
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        let what = format!("regular expression {shown}: {what}, at character {place}");
        crate::Error::setting(what)
    })
}

/// Compiles an expression that was read.
pub(crate) fn compile(hir: &Hir) -> Result<Regex> {
    // The expression as it is written back may have a few more groups than the one that was read.
    RegexBuilder::new(&hir.to_string())
        .nest_limit(16 * NEST_LIMIT)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(CACHE_LIMIT)
        .build()
        .map_err(|_| {
            let what =
                format!("the regular expression takes more than {} MB; use a simpler one", SIZE_LIMIT >> 20);
            crate::Error::setting(what)
        })
}

/// Returns true if an expression has a capital among the characters that it looks for.
fn has_capital(expression: &str, syntax: Syntax) -> bool {
    if !expression.contains(char::is_uppercase) && !expression.contains('\\') {
        return false;
    }
    match syntax {
        Syntax::Plain => expression.contains(char::is_uppercase),
        Syntax::Regex => {
            let mut parser = ast::parse::ParserBuilder::new().nest_limit(NEST_LIMIT).build();
            let Ok(read) = parser.parse(expression) else { return false };
            ast::visit(&read, Capitals::default()).unwrap_or_default()
        }
    }
}

/// Finds capitals among the literals of an expression, as ripgrep's `--smart-case` does.
#[derive(Default)]
struct Capitals {
    found: bool,
}

impl ast::Visitor for Capitals {
    type Output = bool;
    type Err = std::convert::Infallible;

    fn finish(self) -> std::result::Result<bool, Self::Err> {
        Ok(self.found)
    }

    fn visit_pre(&mut self, ast: &Ast) -> std::result::Result<(), Self::Err> {
        if let Ast::Literal(literal) = ast {
            self.found |= literal.c.is_uppercase();
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> std::result::Result<(), Self::Err> {
        self.found |= match item {
            ClassSetItem::Literal(literal) => literal.c.is_uppercase(),
            ClassSetItem::Range(range) => range.start.c.is_uppercase() || range.end.c.is_uppercase(),
            _ => false,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table that the viewers' matcher is held against too, in `tests/browser/search_rule.test.js`.
    const CASES: &str = include_str!("../tests/search/cases.json");

    #[test]
    fn names_match_as_the_shared_table_says() {
        let cases: Vec<serde_json::Value> = serde_json::from_str(CASES).unwrap();
        for one in &cases {
            let pattern = one["pattern"].as_str().unwrap();
            let case = match one.get("case").and_then(|case| case.as_str()) {
                None => Case::Smart,
                Some("ignored") => Case::Ignored,
                Some("exact") => Case::Exact,
                Some(other) => panic!("{other} is no case"),
            };
            let regex = match (name_regex(pattern, case), one.get("refused").is_some()) {
                (Ok(regex), false) => regex,
                (Err(_), true) => continue,
                (Ok(_), true) => panic!("{pattern} is not refused"),
                (Err(error), false) => panic!("{pattern} is refused: {error}"),
            };
            for (key, expected) in [("found", true), ("not", false)] {
                for name in one[key].as_array().unwrap() {
                    let name = name.as_str().unwrap();
                    assert_eq!(regex.is_match(name.as_bytes()), expected, "{pattern} in {name:?}");
                }
            }
        }
    }

    #[test]
    fn plain_text_has_a_capital_if_it_holds_one() {
        assert!(has_capital(r"\S", Syntax::Plain) && !has_capital(r"\S", Syntax::Regex));
        assert!(!has_capital("a.b", Syntax::Plain));
    }
}
