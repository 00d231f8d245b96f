//! The costs that `valgrind --tool=callgrind` writes (seen: 3.19), and many that write as it does:
//! xdebug's profiler, yappi, rbspy, pyprof2calltree.
//!
//! ```text
//! # callgrind format
//! events: Ir
//! ob=(6) /home/user/app/c/cyc
//! fl=(158) /home/user/app/c/cyc.c
//! fn=(620) term
//! 10 10
//! cfn=(622) factor
//! calls=2 -1
//! * 2180
//! ```
//! The format is specified in valgrind's manual, "Callgrind Format Specification". It holds what
//! each function costs itself and what its calls cost, but no stacks; [`edges`](crate::collapse::kit::edges)
//! estimates them. The line behind `calls=` is the cost of the call; it is no self cost.

use std::collections::HashMap;

use crate::collapse::kit::edges::Graph;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::naming::{kind_of, module_name};
use crate::collapse::kit::text::{Text, split_digits, words};
use crate::collapse::kit::valgrind;
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested, Value,
};
use crate::error::Result;
use crate::folded::{FrameId, Place};
use crate::input::{Input, lines};
use crate::number;
use crate::profile::{Facts, fact};
use crate::weight::Weight;

const INFO: FormatInfo = FormatInfo {
    name: "callgrind",
    producer: "valgrind --tool=callgrind, xdebug's profiler, yappi, rbspy --format callgrind, ruby-prof, pyprof2calltree; \
               stacks are estimates",
    tested: Tested::Seen(
        "valgrind 3.19, xdebug 3.2, yappi 1.6, rbspy 0.55, ruby-prof 1.4, pyprof2calltree 1.4",
    ),
    values: "the events, the first is the default: Ir, …",
    unit: "as the events say: instructions, bytes, ns, …",
};

/// The frame for costs outside of all functions.
const OUTSIDE: &[u8] = b"[outside functions]";

/// Collapses callgrind's format.
pub struct Callgrind;

impl Collapser for Callgrind {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        if head.starts_with(b"# callgrind format") {
            return Certainty::Yes;
        }
        let mut lines = lines(head).take(40);
        // Files of pyprof2calltree begin with `events:`.
        let begins = [b"version:".as_slice(), b"positions:", b"event:"];
        let header = lines.clone().any(|line| line.starts_with(b"events:"))
            && (lines.clone().any(|line| begins.iter().any(|begin| line.starts_with(begin)))
                || head.starts_with(b"events:"));
        let body = lines.any(|line| line.starts_with(b"fl=") || line.starts_with(b"fn="));
        // ruby-prof's header is the events alone.
        let calls = || head.starts_with(b"events:") && memchr::memmem::find(head, b"\ncalls=").is_some();
        if body && (header || calls()) { Certainty::Yes } else { Certainty::No }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut reader = Reader::new(reading);
        Text::new(input).for_each(report, |line| reader.line(line, sink))?;
        reader.finish(sink, report)
    }
}

/// The state of reading a file.
struct Reader<'o> {
    options: &'o CollapseOptions,
    /// `(7)` stands for the name that came with it the first time; one list for each kind.
    functions: Compressed,
    objects: Compressed,
    /// The number of columns that locate a cost: line, instruction, or both.
    positions: usize,
    declared: Vec<Value>,
    factors: Vec<Weight>,
    facts: Facts,
    file: usize,
    files: Compressed,
    /// Begins with the first cost, when the events are known.
    costs: Option<Costs>,
    object: usize,
    function: usize,
    called_object: Option<usize>,
    called_file: Option<usize>,
    called: usize,
    /// The next line of costs is that of a call.
    is_call: bool,
    stated: Stated,
}

/// The totals that a file states: valgrind's `totals:` of the self costs at the end of each part, and
/// `summary:`, which stands before the costs, or behind them in a file of xdebug's, where it holds the costs
/// outside of all functions as well.
#[derive(Default)]
struct Stated {
    /// The parts whose costs have begun, and those of them that have come to their end.
    parts: u64,
    ended: u64,
    /// Costs were read since the last header.
    in_costs: bool,
    totals: Vec<Weight>,
    summary_before: Vec<Weight>,
    /// The first event's alone: of another event xdebug states a peak.
    summary_behind: Option<Weight>,
}

impl Stated {
    /// Reads a line of the header or the end.
    fn line(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let numbers = || words(value).filter_map(Weight::parse);
        match key {
            b"totals" => {
                self.ended += 1;
                add_each(&mut self.totals, numbers())?;
            }
            b"summary" if self.in_costs => {
                self.ended += 1;
                if let Some(first) = numbers().next() {
                    self.summary_behind = Some(self.summary_behind.unwrap_or_default().checked_add(first)?);
                }
            }
            b"summary" => add_each(&mut self.summary_before, numbers())?,
            b"part" | b"events" => self.in_costs = false,
            _ => {}
        }
        Ok(())
    }

    /// Counts a line of costs.
    fn cost(&mut self) {
        if !std::mem::replace(&mut self.in_costs, true) {
            self.parts += 1;
        }
    }
}

/// Adds numbers to sums, which begin with the first numbers.
fn add_each(sums: &mut Vec<Weight>, numbers: impl Iterator<Item = Weight>) -> Result<()> {
    for (at, number) in numbers.enumerate() {
        match sums.get_mut(at) {
            Some(sum) => *sum = sum.checked_add(number)?,
            None => sums.push(number),
        }
    }
    Ok(())
}

struct Costs {
    values: Values,
    /// The number that each event's costs are multiplied by: 10 for `Time_(10ns)`.
    factors: Vec<Weight>,
    /// The sum of each event's costs, as they stand in the file.
    sums: Vec<Weight>,
    /// One for each event that is kept.
    graphs: Vec<Option<Graph>>,
    frames: Vec<FrameId>,
    known: HashMap<(usize, usize), usize>,
    names: FrameNames,
    row: Vec<Weight>,
}

impl<'o> Reader<'o> {
    fn new(options: &'o CollapseOptions) -> Reader<'o> {
        let mut objects = Compressed::default();
        let mut functions = Compressed::default();
        let mut files = Compressed::default();
        let file = files.name(b"").unwrap_or(0);
        let (object, function) = (objects.name(b"").unwrap_or(0), functions.name(b"???").unwrap_or(0));
        Reader {
            options,
            functions,
            objects,
            positions: 1,
            declared: Vec::new(),
            factors: Vec::new(),
            facts: Facts::default(),
            file,
            files,
            costs: None,
            object,
            function,
            called_object: None,
            called_file: None,
            called: function,
            is_call: false,
            stated: Stated::default(),
        }
    }

    /// Returns whether the line was understood.
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        match line.first() {
            // xdebug writes one profile after the other into a file: `==== NEW PROFILING FILE ====`.
            None | Some(b'#' | b'=') => return Ok(true),
            Some(b'0'..=b'9' | b'+' | b'-' | b'*') => return self.costs(line, sink),
            _ => {}
        }
        if let Some((key, value)) = split(line, b'=') {
            return Ok(self.assignment(key, value));
        }
        let Some((key, value)) = split(line, b':') else { return Ok(false) };
        self.stated.line(key, value)?;
        match key {
            b"positions" => self.positions = words(value).count().max(1),
            b"events" if self.costs.is_none() => {
                (self.declared, self.factors) = words(value).map(event).unzip();
            }
            b"cmd" => self.facts.set_command(value),
            b"creator" => self.facts.producer = fact(value),
            // The header goes on as the writer likes: `version`, `creator`, `desc`, ….
            _ => {}
        }
        Ok(true)
    }

    fn assignment(&mut self, key: &[u8], value: &[u8]) -> bool {
        match key {
            b"fn" => {
                let Some(name) = self.functions.name(value) else { return false };
                self.function = name;
            }
            b"ob" => {
                let Some(name) = self.objects.name(value) else { return false };
                self.object = name;
            }
            b"cfn" => {
                let Some(name) = self.functions.name(value) else { return false };
                self.called = name;
            }
            b"cob" => {
                let Some(name) = self.objects.name(value) else { return false };
                self.called_object = Some(name);
            }
            b"calls" => self.is_call = true,
            b"fl" => {
                let Some(name) = self.files.name(value) else { return false };
                (self.file, self.called_file) = (name, None);
            }
            b"cfi" | b"cfl" => self.called_file = self.files.name(value),
            // Lines inlined from these files count for the function; their names may be short for
            // those of files, too.
            b"fi" | b"fe" => drop(self.files.name(value)),
            // Jumps cost nothing.
            b"jump" | b"jcnd" | b"jfi" | b"jfn" | b"rfl" | b"rfi" | b"rfn" | b"rob" => {}
            _ => return false,
        }
        true
    }

    /// `+3 7 0 2`: where, and what it cost of each event; what is missing is zero.
    fn costs(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<bool> {
        if self.declared.is_empty() {
            return Ok(false);
        }
        self.stated.cost();
        let costs = match &mut self.costs {
            Some(costs) => costs,
            None => self.costs.insert(Costs::new(self.options, &self.declared, &self.factors)?),
        };
        costs.row.clear();
        for word in words(line).skip(self.positions) {
            let Some(cost) = Weight::parse(word) else { return Ok(false) };
            costs.row.push(cost);
        }
        if costs.row.len() > self.declared.len() {
            return Ok(false);
        }
        let names = (&self.functions, &self.objects, &self.files);
        let caller = costs.function((self.object, self.function), self.file, names, sink);
        if std::mem::take(&mut self.is_call) {
            let object = self.called_object.take().unwrap_or(self.object);
            let file = self.called_file.take().unwrap_or(self.file);
            let callee = costs.function((object, self.called), file, names, sink);
            costs.add_call(caller, callee)?;
        } else {
            costs.add_self(caller, sink)?;
        }
        Ok(true)
    }

    fn finish(self, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        report.facts = self.facts;
        let Some(mut costs) = self.costs else { return Ok(()) };
        if let (Some(summary), Some(&sum)) = (self.stated.summary_behind, costs.sums.first()) {
            if summary > sum {
                // The cost of the program before and after its functions.
                let outside = [sink.frame(OUTSIDE)];
                costs.add(0, &outside, summary.checked_sub(sum)?, sink)?;
            } else {
                check(report, &self.declared, &costs.sums, &[summary]);
            }
        }
        let producer = report.facts.producer.clone().unwrap_or_default();
        // Those that write a total at the end write it always.
        let ends = ["callgrind", "xdebug"].iter().any(|name| producer.starts_with(name));
        if ends && self.stated.ended < self.stated.parts {
            report.doubt("there is no total behind the costs: the file is cut off");
        }
        // yappi's files are all without the last newline.
        if producer == "yappi" {
            report.not_understood.ends_within = None;
        }
        if self.stated.totals.is_empty() {
            // A summary is less than the sum by what was rounded; valgrind's has what no function is given.
            let mut stated = self.stated.summary_before;
            stated.iter_mut().zip(&costs.sums).for_each(|(stated, sum)| *stated = (*stated).max(*sum));
            check(report, &self.declared, &costs.sums, &stated);
        } else {
            check(report, &self.declared, &costs.sums, &self.stated.totals);
        }
        let graphs = std::mem::take(&mut costs.graphs);
        for (at, graph) in graphs.iter().enumerate() {
            let Some(graph) = graph else { continue };
            let (mut forest, weights) = graph.stacks(&costs.frames)?;
            forest.samples(&[], weights, sink, |stack, weight, sink| costs.add(at, stack, weight, sink))?;
        }
        costs.values.finish(report)
    }
}

/// Holds the sums of self costs against those that are stated.
fn check(report: &mut Report, events: &[Value], sums: &[Weight], stated: &[Weight]) {
    for ((event, sum), stated) in events.iter().zip(sums).zip(stated) {
        let event = String::from_utf8_lossy(&event.name);
        report.check_total(format_args!("the self costs of {event}"), *sum, *stated);
    }
}

impl Costs {
    fn new(options: &CollapseOptions, declared: &[Value], factors: &[Weight]) -> Result<Costs> {
        let values = Values::new(options, declared.to_vec(), 0)?;
        let graphs = (0..declared.len()).map(|at| values.is_kept(at).then(Graph::default)).collect();
        Ok(Costs {
            values,
            factors: factors.to_vec(),
            sums: vec![Weight::ZERO; declared.len()],
            graphs,
            frames: Vec::new(),
            known: HashMap::new(),
            names: FrameNames::default(),
            row: Vec::new(),
        })
    }

    /// The number of a function: of two objects' functions of one name, each is its own. Files do
    /// not tell functions apart; the first that a function is seen in is its place.
    fn function(
        &mut self,
        key: (usize, usize),
        file: usize,
        (functions, objects, files): (&Compressed, &Compressed, &Compressed),
        sink: &mut dyn Sink,
    ) -> usize {
        *self.known.entry(key).or_insert_with(|| {
            let (object, name) = (objects.get(key.0), functions.get(key.1));
            let object = if object == b"???" { b"" } else { object };
            let file = if files.get(file) == b"???" { b"" } else { files.get(file) };
            let (module, kind) = (module_name(object), kind_of(object, b""));
            let place = Place { module, file, kind, ..Place::default() };
            let frame = if objects.get(key.0).is_empty() || !is_unknown(name) {
                self.names.plain_at(name, &place, sink)
            } else {
                // The function is unknown: it is named by its file, as in all native recordings.
                let object = objects.get(key.0);
                let file = object.rsplit(|&b| b == b'/').next().unwrap_or(object);
                self.names.plain_at(&[b"[", file, b"]"].concat(), &place, sink)
            };
            self.frames.push(frame);
            self.frames.len() - 1
        })
    }

    fn add_self(&mut self, function: usize, sink: &mut dyn Sink) -> Result<()> {
        for (at, &cost) in self.row.iter().enumerate() {
            self.sums[at] = self.sums[at].checked_add(cost)?;
            match &mut self.graphs[at] {
                Some(graph) => graph.add_self(function, cost)?,
                // Only counted.
                None => self.values.add(at, &[], cost.checked_mul(self.factors[at])?, sink)?,
            }
        }
        Ok(())
    }

    /// Adds a stack with a cost as it stands in the file.
    fn add(&mut self, at: usize, stack: &[FrameId], cost: Weight, sink: &mut dyn Sink) -> Result<()> {
        self.values.add(at, stack, cost.checked_mul(self.factors[at])?, sink)
    }

    fn add_call(&mut self, caller: usize, callee: usize) -> Result<()> {
        for (graph, &cost) in self.graphs.iter_mut().zip(&self.row) {
            if let Some(graph) = graph {
                graph.add_call(caller, callee, cost)?;
            }
        }
        Ok(())
    }
}

/// Names, of which a number in parentheses is short for one that came before: `(7) main`, `(7)`.
/// Names that are alike are one, but for those whose numbers differ: static functions have them.
#[derive(Default)]
struct Compressed {
    names: Vec<Box<[u8]>>,
    by_name: HashMap<Box<[u8]>, usize>,
    by_number: HashMap<u64, usize>,
}

impl Compressed {
    fn get(&self, index: usize) -> &[u8] {
        &self.names[index]
    }

    /// The index of a name; `None` for a number that stands for nothing.
    fn name(&mut self, text: &[u8]) -> Option<usize> {
        let Some((number, name)) = numbered(text) else {
            if let Some(&index) = self.by_name.get(text) {
                return Some(index);
            }
            let index = self.push(text);
            self.by_name.insert(text.into(), index);
            return Some(index);
        };
        let known = self.by_number.get(&number).copied();
        if name.is_empty() || known.is_some_and(|index| *self.names[index] == *name) {
            return known;
        }
        let index = self.push(name);
        self.by_number.insert(number, index);
        Some(index)
    }

    fn push(&mut self, name: &[u8]) -> usize {
        self.names.push(name.into());
        self.names.len() - 1
    }
}

/// `(7) main`; a name may itself begin with a parenthesis: `(below main)`.
fn numbered(text: &[u8]) -> Option<(u64, &[u8])> {
    let rest = text.strip_prefix(b"(")?;
    let end = rest.iter().position(|&b| b == b')')?;
    let number = number::parse(&rest[..end])?;
    Some((number, rest[end + 1..].trim_ascii()))
}

fn is_unknown(name: &[u8]) -> bool {
    name == b"???" || name.starts_with(b"0x") && name[2..].iter().all(u8::is_ascii_hexdigit)
}

/// `Ir`, or as xdebug has it `Time_(10ns)`.
///
/// With it comes the number that its costs are multiplied by: 10, as that is in units of 10 ns.
fn event(name: &[u8]) -> (Value, Weight) {
    if let Some(rest) = name.strip_suffix(b")")
        && let Some(at) = memchr::memmem::find(rest, b"_(")
    {
        let (digits, unit) = split_digits(&rest[at + 2..]);
        let factor = Weight::parse(digits).filter(|factor| *factor > Weight::ZERO);
        let value = Value::with_producers_unit(&rest[..at], &String::from_utf8_lossy(unit));
        return (value, factor.unwrap_or(Weight::ONE));
    }
    let unit = match name {
        b"Ir" => Some("instructions"),
        b"Samples" => Some("samples"),
        b"Ticks" => Some("ticks"),
        // ruby-prof's, which scales them.
        b"wall_time" | b"process_time" => Some("us"),
        b"ns" => Some("ns"),
        b"us" => Some("us"),
        b"ms" => Some("ms"),
        // Events of valgrind's caches, branches and buses.
        name if valgrind::is_count(name) => Some("events"),
        _ => None,
    };
    (Value { name: name.to_vec(), unit: unit.map(Into::into) }, Weight::ONE)
}

fn split(line: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(at, line)?;
    let key = &line[..at];
    key.iter().all(u8::is_ascii_alphanumeric).then(|| (key, line[at + 1..].trim_ascii()))
}
