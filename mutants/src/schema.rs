//! Finds the mutants of a file, and writes the file with all of them in it.
//!
//! A mutant is one small change. Text is only ever inserted, so that mutants may stand inside each other:
//!
//! ```text
//! a < b              (if is(1) { (a) == (b) } else if is(2) { (a) <= (b) } else { a < b })
//! fn f() -> bool {   fn f() -> bool { if is(3) { return true; }
//! Some(0) => …       Some(0) if !is(4) => …
//! ```
//!
//! Patterns, types, constants and what macros are given are left as they are.

use std::collections::HashSet;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, UnOp};

use crate::values;

/// One change of one place.
pub struct Mutant {
    pub file: String,
    pub line: usize,
    /// The source line, without its indentation.
    pub text: String,
    /// `replace < with <= in Weight::add`.
    pub change: String,
    /// The expression of the mutant.
    code: String,
}

/// One way of inserting the mutants of one place.
enum Shape {
    Expression,
    Body,
    Arm,
}

/// The mutants of one place, which exclude each other.
struct Site {
    shape: Shape,
    range: Range<usize>,
    /// Indices into the list of all mutants.
    mutants: Range<usize>,
}

/// A file with the places that are changed in it.
pub struct Schema {
    pub file: String,
    source: String,
    sites: Vec<Site>,
}

/// The text of a file with its mutants, and which part of it belongs to which mutant.
pub struct Written {
    pub text: String,
    parts: Vec<(Range<usize>, usize)>,
    whole: Vec<(Range<usize>, Range<usize>)>,
}

impl Written {
    /// The mutants that a compiler's complaint about this part of the text is about.
    pub fn blamed(&self, at: Range<usize>) -> Vec<usize> {
        let meets = |range: &Range<usize>| range.start < at.end.max(at.start + 1) && at.start < range.end;
        self.parts.iter().filter(|(range, _)| meets(range)).map(|(_, mutant)| *mutant).collect()
    }

    /// The mutants of the smallest place around this part.
    pub fn around(&self, at: Range<usize>) -> Vec<usize> {
        let holds = |range: &Range<usize>| range.start <= at.start && at.end <= range.end;
        let smallest =
            self.whole.iter().filter(|(range, _)| holds(range)).min_by_key(|(range, _)| range.len());
        smallest.map_or_else(Vec::new, |(_, mutants)| mutants.clone().collect())
    }
}

impl Schema {
    /// Finds the mutants of a file and adds them to `mutants`.
    pub fn of(file: &str, source: &str, mutants: &mut Vec<Mutant>) -> Result<Self, syn::Error> {
        let tree = syn::parse_file(source)?;
        let mut finder = Finder { file, source, owner: Vec::new(), sites: Vec::new(), mutants };
        finder.visit_file(&tree);
        let sites = finder.sites;
        Ok(Self { file: file.to_owned(), source: source.to_owned(), sites })
    }

    /// Writes the file with the mutants that are not dropped.
    pub fn write(&self, mutants: &[Mutant], dropped: &HashSet<usize>) -> Written {
        // Where, what closes before what opens, what is outside before what is inside.
        let mut insertions: Vec<((usize, bool, isize), Vec<(String, Option<usize>)>)> = Vec::new();
        for (order, site) in (0_isize..).zip(&self.sites) {
            let alive: Vec<usize> = site.mutants.clone().filter(|at| !dropped.contains(at)).collect();
            if alive.is_empty() {
                continue;
            }
            let mut opening = Vec::new();
            for &at in &alive {
                let (number, code) = (at + 1, &mutants[at].code);
                let is = format!("crate::mutant::is({number})");
                opening.push((
                    match site.shape {
                        Shape::Expression if at == alive[0] => format!("(if {is} {{ {code} }} else "),
                        Shape::Expression => format!("if {is} {{ {code} }} else "),
                        Shape::Body => format!(" if {is} {{ return {code}; }}"),
                        Shape::Arm => format!(" if !{is}"),
                    },
                    Some(at),
                ));
            }
            if matches!(site.shape, Shape::Expression) {
                opening.push(("{ ".to_owned(), None));
                insertions.push(((site.range.end, false, -order), vec![(" })".to_owned(), None)]));
            }
            insertions.push(((site.range.start, true, order), opening));
        }
        insertions.sort_by_key(|(place, _)| *place);
        self.insert(insertions)
    }

    fn insert(&self, insertions: Vec<((usize, bool, isize), Vec<(String, Option<usize>)>)>) -> Written {
        let mut written = Written { text: String::new(), parts: Vec::new(), whole: Vec::new() };
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut done = 0;
        for ((offset, opens, order), pieces) in insertions {
            written.text.push_str(&self.source[done..offset]);
            done = offset;
            if opens {
                open.push((written.text.len(), order.unsigned_abs()));
            }
            for (piece, mutant) in pieces {
                let start = written.text.len();
                written.text.push_str(&piece);
                written.parts.extend(mutant.map(|mutant| (start..written.text.len(), mutant)));
            }
            let site = &self.sites[order.unsigned_abs()];
            if !opens {
                if let Some(place) = open.iter().rposition(|(_, other)| *other == order.unsigned_abs()) {
                    let (start, _) = open.remove(place);
                    written.whole.push((start..written.text.len(), site.mutants.clone()));
                }
            }
        }
        written.text.push_str(&self.source[done..]);
        written
    }
}

/// The other operators that one is replaced by.
fn others(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["%", "*"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["==", ">", "<="],
        BinOp::Le(_) => &[">", "<"],
        BinOp::Gt(_) => &["==", "<", ">="],
        BinOp::Ge(_) => &["<", ">"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["%=", "*="],
        BinOp::RemAssign(_) => &["/=", "+="],
        BinOp::BitXorAssign(_) => &["|=", "&="],
        BinOp::BitAndAssign(_) => &["|=", "^="],
        BinOp::BitOrAssign(_) => &["&=", "^="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        _ => &[],
    }
}

struct Finder<'a> {
    file: &'a str,
    source: &'a str,
    /// The type and the functions around this place.
    owner: Vec<String>,
    sites: Vec<Site>,
    mutants: &'a mut Vec<Mutant>,
}

impl Finder<'_> {
    fn text(&self, part: &impl Spanned) -> &str {
        &self.source[part.span().byte_range()]
    }

    /// Adds a place whose mutants are changes with their code.
    fn add(&mut self, shape: Shape, range: Range<usize>, at: usize, changes: Vec<(String, String)>) {
        if changes.is_empty() {
            return;
        }
        let before = &self.source[..at];
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let line = before.matches('\n').count() + 1;
        let text = self.source[start..].lines().next().unwrap_or_default().trim().to_owned();
        let first = self.mutants.len();
        for (change, code) in changes {
            let change = change.split_whitespace().collect::<Vec<_>>().join(" ");
            self.mutants.push(Mutant { file: self.file.to_owned(), line, text: text.clone(), change, code });
        }
        self.sites.push(Site { shape, range, mutants: first..self.mutants.len() });
    }

    fn function(&mut self, attributes: &[syn::Attribute], signature: &syn::Signature, block: &syn::Block) {
        if is_test(attributes) || signature.constness.is_some() || signature.unsafety.is_some() {
            return;
        }
        self.owner.push(signature.ident.to_string());
        let name = self.owner.join("::");
        let values = if block.stmts.is_empty() { Vec::new() } else { values::of_return(&signature.output) };
        let start = block.brace_token.span.open().byte_range().end;
        let own = self.source[start..block.brace_token.span.close().byte_range().start].trim();
        let changes = values.into_iter().filter(|value| value != own);
        let changes = changes.map(|value| (format!("replace {name} with {value}"), value)).collect();
        self.add(Shape::Body, start..start, signature.ident.span().byte_range().start, changes);
        visit::visit_block(self, block);
        self.owner.pop();
    }

    fn inside(&self) -> String {
        self.owner.join("::")
    }
}

/// Tells whether an item is there for tests only, or for builds without a feature.
pub fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test"
                || condition.starts_with("not (feature")
                || condition.starts_with("not(feature")
        }
        _ => false,
    })
}

/// Tells whether a condition binds names: then `&&` is no operator.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => {
            matches!(binary.op, BinOp::And(_)) && (binds(&binary.left) || binds(&binary.right))
        }
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of_debug = item
            .trait_
            .as_ref()
            .is_some_and(|(_, path, _)| path.segments.last().is_some_and(|last| last.ident == "Debug"));
        if is_test(&item.attrs) || of_debug {
            return;
        }
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        self.owner.push(name.unwrap_or_else(|| "impl".to_owned()));
        item.items.iter().for_each(|item| self.visit_impl_item(item));
        self.owner.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.attrs, &item.sig, block);
        }
    }

    // Constants, types and patterns: no code runs there.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let chained = matches!(binary.op, BinOp::And(_)) && (binds(&binary.left) || binds(&binary.right));
        if !chained && binary.attrs.is_empty() {
            let (left, right, own) =
                (self.text(&binary.left), self.text(&binary.right), self.text(&binary.op));
            let assigns =
                matches!(own, "+=" | "-=" | "*=" | "/=" | "%=" | "^=" | "&=" | "|=" | "<<=" | ">>=");
            let changes = others(&binary.op).iter().map(|other| {
                let code = if assigns {
                    format!("{left} {other} {right}")
                } else {
                    format!("({left}) {other} ({right})")
                };
                (format!("replace {own} with {other} in {}", self.inside()), code)
            });
            let changes = changes.collect();
            self.add(
                Shape::Expression,
                binary.span().byte_range(),
                binary.op.span().byte_range().start,
                changes,
            );
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        if let UnOp::Not(_) | UnOp::Neg(_) = unary.op {
            let change = format!("delete {} in {}", self.text(&unary.op), self.inside());
            let code = format!("({})", self.text(&unary.expr));
            let range = unary.span().byte_range();
            self.add(Shape::Expression, range.clone(), range.start, vec![(change, code)]);
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, of: &'ast syn::ExprMatch) {
        let catches_all = of.arms.last().is_some_and(|arm| {
            arm.guard.is_none()
                && match &arm.pat {
                    syn::Pat::Wild(_) => true,
                    // `None` is a name too.
                    syn::Pat::Ident(name) => {
                        name.subpat.is_none() && name.ident.to_string().starts_with(char::is_lowercase)
                    }
                    _ => false,
                }
        });
        self.visit_expr(&of.expr);
        for (at, arm) in of.arms.iter().enumerate() {
            let range = arm.pat.span().byte_range();
            match &arm.guard {
                Some((_, guard)) if !binds(guard) => {
                    let change = |to: &str| {
                        (format!("replace the guard with {to} in {}", self.inside()), to.to_owned())
                    };
                    let changes = vec![change("true"), change("false")];
                    self.add(Shape::Expression, guard.span().byte_range(), range.start, changes);
                    self.visit_expr(guard);
                }
                None if catches_all && at + 1 < of.arms.len() => {
                    let change = format!("delete the arm {} in {}", self.text(&arm.pat), self.inside());
                    self.add(Shape::Arm, range.end..range.end, range.start, vec![(change, String::new())]);
                }
                _ => {}
            }
            self.visit_expr(&arm.body);
        }
    }
}
