//! The state of the terminal view, and the effect of each key on it. Nothing here draws.

#[cfg(all(feature = "record", target_os = "linux"))]
use std::collections::HashMap;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use regex::bytes::Regex;

use super::model::{Model, Other};
use crate::folded::{Columns, Weights};
use crate::search::{Case, name_regex};
use crate::weight::Weight;

/// The views, in the order of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Flame,
    Table,
    Butterfly,
    /// The table above, the flame graph below: of a profile that grows.
    Both,
}

/// The orders of the table, in the order in which `s` goes through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Own,
    Total,
    Change,
    Name,
}

/// The search.
#[derive(Default)]
pub(super) struct Search {
    pub(super) pattern: Option<Regex>,
    /// The expression as it was typed.
    pub(super) text: String,
    /// True for each function that matches.
    pub(super) matches: Vec<bool>,
    /// The share of the whole in stacks with a match.
    pub(super) share: f64,
    /// The text that is being typed.
    pub(super) typing: Option<String>,
    pub(super) error: Option<String>,
}

/// A list with a cursor.
#[derive(Default)]
pub(super) struct List {
    pub(super) cursor: usize,
}

impl List {
    fn step(&mut self, by: isize, len: usize) {
        self.cursor = self.cursor.saturating_add_signed(by).min(len.saturating_sub(1));
    }
}

/// The state of the view.
pub(super) struct App {
    pub(super) model: Model,
    pub(super) view: View,
    /// The frame that is as wide as the terminal.
    pub(super) zoom: usize,
    /// The frame that is marked.
    pub(super) selected: usize,
    pub(super) search: Search,
    pub(super) order: Order,
    /// The functions of the table, in its order.
    pub(super) rows: Vec<u32>,
    pub(super) table: List,
    /// The function in the middle of the butterfly.
    pub(super) function: Option<u32>,
    /// The functions that were there before it.
    pub(super) history: Vec<u32>,
    /// The callers and callees, and the row that is marked.
    pub(super) butterfly: List,
    pub(super) help: bool,
    pub(super) done: bool,
    /// The profile grows.
    pub(super) is_live: bool,
    /// A line about the recording.
    pub(super) about: String,
}

impl App {
    pub(super) fn new(model: Model) -> App {
        let order = if model.columns == Columns::Two { Order::Change } else { Order::Own };
        let mut app = App {
            model,
            view: View::Flame,
            zoom: 0,
            selected: 0,
            search: Search::default(),
            order,
            rows: Vec::new(),
            table: List::default(),
            function: None,
            history: Vec::new(),
            butterfly: List::default(),
            help: false,
            done: false,
            is_live: false,
            about: String::new(),
        };
        app.sort();
        app.function = app.rows.first().copied();
        app
    }

    /// Takes a profile that has grown; what is marked, zoomed to and searched stays, as far as it is there.
    #[cfg(all(feature = "record", target_os = "linux"))]
    pub(super) fn replace(&mut self, model: Model) {
        let before = std::mem::replace(&mut self.model, model);
        let functions = self.model.functions.iter().zip(0u32..);
        let numbers: HashMap<Vec<u8>, u32> = functions.map(|(f, n)| (f.name.clone(), n)).collect();
        let number = |function: u32| numbers.get(&before.functions[function as usize].name).copied();
        let marked = self.rows.get(self.table.cursor).and_then(|&function| number(function));
        self.function = self.function.and_then(number);
        self.history = self.history.iter().filter_map(|&function| number(function)).collect();
        for node in [&mut self.zoom, &mut self.selected] {
            *node = same_node(&before, *node, &self.model, number);
        }
        if let Some(pattern) = &self.search.pattern {
            self.search.matches =
                self.model.functions.iter().map(|function| pattern.is_match(&function.name)).collect();
            self.search.share = self.matched_share();
        }
        let cursor = self.table.cursor;
        self.sort();
        // At the top, the hottest is marked, whichever it is.
        if cursor > 0 {
            let at = marked.and_then(|marked| self.rows.iter().position(|&function| function == marked));
            self.table.cursor = at.unwrap_or(cursor).min(self.rows.len().saturating_sub(1));
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            self.done = true;
            return;
        }
        if self.search.typing.is_some() {
            return self.type_search(key.code);
        }
        if std::mem::take(&mut self.help) {
            return;
        }
        match key.code {
            KeyCode::Char('q') => self.done = true,
            KeyCode::Char('?') => self.help = true,
            KeyCode::Char('/') => self.search.typing = Some(String::new()),
            KeyCode::Esc => self.look_for(""),
            KeyCode::Char('0') if self.is_live => self.view = View::Both,
            KeyCode::Char('1') => self.view = View::Flame,
            KeyCode::Char('2') => self.view = View::Table,
            KeyCode::Char('3') => self.show_butterfly(),
            KeyCode::Tab => match self.view {
                View::Flame => self.view = View::Table,
                View::Table => self.show_butterfly(),
                View::Butterfly if self.is_live => self.view = View::Both,
                View::Butterfly | View::Both => self.view = View::Flame,
            },
            code => match self.view {
                View::Flame => self.flame_key(code),
                View::Table | View::Both => self.table_key(code),
                View::Butterfly => self.butterfly_key(code),
            },
        }
    }

    fn flame_key(&mut self, code: KeyCode) {
        match code {
            KeyCode::Down | KeyCode::Char('j') => {
                let heaviest = self.model.callees(self.selected).max_by_key(|&n| self.model.nodes[n].total);
                self.selected = heaviest.unwrap_or(self.selected);
            }
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.model.nodes[self.selected].parent,
            KeyCode::Right | KeyCode::Char('l') => self.sibling(1),
            KeyCode::Left | KeyCode::Char('h') => self.sibling(-1),
            KeyCode::Enter => self.zoom = self.selected,
            KeyCode::Backspace | KeyCode::Char('u') => {
                self.zoom = self.model.nodes[self.zoom].parent;
            }
            KeyCode::Char('r') => (self.zoom, self.selected) = (0, 0),
            KeyCode::Char('n') => self.next_match(1),
            KeyCode::Char('N') => self.next_match(-1),
            _ => {}
        }
        // The marked frame stays visible.
        if !self.is_inside(self.selected, self.zoom) && !self.is_inside(self.zoom, self.selected) {
            self.zoom = self.selected;
        }
    }

    /// Returns true if a frame is another or below it.
    fn is_inside(&self, node: usize, other: usize) -> bool {
        (other..self.model.nodes[other].end).contains(&node)
    }

    fn sibling(&mut self, by: isize) {
        let parent = self.model.nodes[self.selected].parent;
        let all: Vec<usize> = self.model.callees(parent).collect();
        if let Some(at) = all.iter().position(|&node| node == self.selected) {
            self.selected = all[at.saturating_add_signed(by).min(all.len() - 1)];
        }
    }

    fn next_match(&mut self, by: isize) {
        let count = self.model.nodes.len();
        let step = |node: usize| (node as isize + by).rem_euclid(count as isize) as usize;
        let mut at = step(self.selected);
        while at != self.selected {
            if self.is_match(self.model.nodes[at].function) {
                self.selected = at;
                return;
            }
            at = step(at);
        }
    }

    fn table_key(&mut self, code: KeyCode) {
        let len = self.rows.len();
        match code {
            KeyCode::Char('s') => {
                self.order = match self.order {
                    Order::Own => Order::Total,
                    Order::Total if self.model.columns == Columns::Two => Order::Change,
                    Order::Total | Order::Change => Order::Name,
                    Order::Name => Order::Own,
                };
                self.sort();
            }
            KeyCode::Enter => {
                if let Some(&function) = self.rows.get(self.table.cursor) {
                    self.go_to(function);
                    self.view = View::Butterfly;
                }
            }
            code => self.table.step(steps(code, len), len),
        }
    }

    /// The rows of the butterfly: callers, and callees.
    pub(super) fn around(&self) -> (&[Other], &[Other]) {
        match self.function {
            Some(function) => {
                let function = &self.model.functions[function as usize];
                (&function.callers, &function.callees)
            }
            None => (&[], &[]),
        }
    }

    fn butterfly_key(&mut self, code: KeyCode) {
        let (callers, callees) = self.around();
        let len = callers.len() + callees.len();
        match code {
            KeyCode::Enter => {
                if let Some(&(Some(other), _)) = callers.iter().chain(callees).nth(self.butterfly.cursor) {
                    self.history.extend(self.function);
                    self.go_to(other);
                }
            }
            KeyCode::Backspace => {
                if let Some(before) = self.history.pop() {
                    self.go_to(before);
                }
            }
            code => self.butterfly.step(steps(code, len), len),
        }
    }

    fn go_to(&mut self, function: u32) {
        self.function = Some(function);
        self.butterfly = List::default();
    }

    /// Shows the butterfly of the marked function.
    fn show_butterfly(&mut self) {
        let marked = match self.view {
            View::Flame => self.model.nodes[self.selected].function,
            View::Table | View::Both => self.rows.get(self.table.cursor).copied(),
            View::Butterfly => self.function,
        };
        if let Some(function) = marked {
            self.go_to(function);
        }
        self.view = View::Butterfly;
    }

    fn type_search(&mut self, code: KeyCode) {
        let Some(text) = &mut self.search.typing else { return };
        match code {
            KeyCode::Char(c) => text.push(c),
            KeyCode::Backspace => {
                text.pop();
            }
            KeyCode::Esc => self.search.typing = None,
            KeyCode::Enter => {
                let text = self.search.typing.take().unwrap_or_default();
                self.look_for(&text);
            }
            _ => {}
        }
    }

    /// Marks the functions that match; nothing for an empty text.
    fn look_for(&mut self, text: &str) {
        let (pattern, error) = match name_regex(text, Case::Smart) {
            _ if text.is_empty() => (None, None),
            Ok(pattern) => (Some(pattern), None),
            Err(_) => (None, Some(format!("{text} is no regular expression"))),
        };
        let matches = match &pattern {
            Some(pattern) => self.model.functions.iter().map(|f| pattern.is_match(&f.name)).collect(),
            None => Vec::new(),
        };
        self.search = Search { pattern, text: text.to_owned(), matches, error, ..Search::default() };
        self.search.share = self.matched_share();
        self.sort();
        if self.search.pattern.is_some() && !self.is_match(self.model.nodes[self.selected].function) {
            self.next_match(1);
        }
    }

    pub(super) fn is_match(&self, function: Option<u32>) -> bool {
        function.is_some_and(|function| self.search.matches.get(function as usize).copied().unwrap_or(false))
    }

    /// A match below a match is not counted again.
    fn matched_share(&self) -> f64 {
        let nodes = &self.model.nodes;
        let (mut sum, mut at) = (0.0, 0);
        while at < nodes.len() {
            let is_match = self.is_match(nodes[at].function);
            sum += if is_match { nodes[at].total.to_f64() } else { 0.0 };
            at = if is_match { nodes[at].end } else { at + 1 };
        }
        let whole = nodes[0].total.to_f64();
        if whole > 0.0 { sum / whole } else { 0.0 }
    }

    fn sort(&mut self) {
        let functions = &self.model.functions;
        let searching = self.search.pattern.is_some();
        let shown = |n: &u32| !searching || self.search.matches[*n as usize];
        let mut rows: Vec<u32> = (0..functions.len() as u32).filter(shown).collect();
        let of = |n: &u32| &functions[*n as usize];
        rows.sort_by(|a, b| of(a).name.cmp(&of(b).name));
        let change = |weights: Weights| -> Weight {
            let change = weights.value.checked_sub(weights.before).unwrap_or_default();
            if change.is_negative() { change.negated() } else { change }
        };
        match self.order {
            Order::Name => {}
            Order::Own => rows.sort_by(|a, b| of(a).weight.hotter(&of(b).weight)),
            Order::Total => rows.sort_by(|a, b| of(a).weight.heavier(&of(b).weight)),
            Order::Change => {
                rows.sort_by_key(|n| {
                    std::cmp::Reverse((change(of(n).weight.own), change(of(n).weight.total)))
                });
            }
        }
        self.rows = rows;
        self.table = List::default();
    }
}

/// The frame of a profile that another one has at the same path, or its caller.
#[cfg(all(feature = "record", target_os = "linux"))]
fn same_node(before: &Model, node: usize, now: &Model, number: impl Fn(u32) -> Option<u32>) -> usize {
    let mut path = Vec::new();
    let mut at = node;
    while at != 0 {
        path.push(before.nodes[at].function.and_then(&number));
        at = before.nodes[at].parent;
    }
    let mut found = 0;
    for function in path.into_iter().rev() {
        let callee = now.callees(found).find(|&callee| now.nodes[callee].function == function);
        match callee.filter(|_| function.is_some()) {
            Some(callee) => found = callee,
            None => break,
        }
    }
    found
}

/// The distance by which a key moves the cursor of a list.
fn steps(code: KeyCode, len: usize) -> isize {
    let all = len as isize;
    match code {
        KeyCode::Down | KeyCode::Char('j') => 1,
        KeyCode::Up | KeyCode::Char('k') => -1,
        KeyCode::PageDown => 10,
        KeyCode::PageUp => -10,
        KeyCode::Home | KeyCode::Char('g') => -all,
        KeyCode::End | KeyCode::Char('G') => all,
        _ => 0,
    }
}
