//! The parts of a recording that folded text has no room for, as formats of exchange hold them.
//!
//! pprof and OTLP know several values of each sample, labels with numbers and units, the mappings of a
//! process with build ids, the addresses of code, the functions that were inlined there. A [`Profile`]
//! shows one value of stacks of names; a writer of those formats needs the rest again. A reader hands it
//! to the [`Exchange`] of its [`Sink`](super::Sink), in two parts that stacks and filters carry along:
//!
//! - A *line of code* is a function in a location: its number is the [`code`](crate::folded::Place::code) of a
//!   frame's place, and stays with the frame when it is renamed or when its neighbours are dropped.
//! - A *sample* is a stack by its number, a set of labels, and a value for each of the sample types. It goes
//!   with its stack.
//!
//! Several inputs are parts of one exchange: their values are the union of all sample types, and mappings of
//! the same file at other addresses become one, as pprof's own merge has it.
//!
//! [`Profile`]: super::Profile

use std::collections::HashMap;
use std::sync::Arc;

use crate::folded::Interner;
use crate::weight::Weight;

/// The number of a text in an [`Exchange`]; 0 is the empty one.
pub(crate) type Text = u32;

/// Everything that formats of exchange hold beside names, stacks and one weight.
pub struct Exchange {
    texts: Interner,
    /// The facts that those formats hold in fields of their own.
    pub(crate) head: Head,
    /// Type and unit of each value of a sample.
    pub(crate) types: Vec<(Text, Text)>,
    pub(crate) mappings: Vec<Mapping>,
    /// The number of mappings that earlier inputs have.
    earlier_mappings: usize,
    pub(crate) locations: Vec<Location>,
    codes: Vec<Code>,
    label_sets: Vec<Arc<[Label]>>,
    label_numbers: HashMap<Arc<[Label]>, u32>,
    samples: Vec<Sample>,
    values: Vec<i64>,
    parts: Vec<Part>,
    /// The code that ran between branches and the branches, of recordings that have them.
    pub(crate) branches: Vec<Branch>,
    factor: Weight,
    /// The frames that a recording asks to leave out are left out: other outputs do not show them either.
    pub(crate) prunes: bool,
}

/// The facts of a profile that have fields of their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    pub default_type: Text,
    pub period_type: (Text, Text),
    pub period: i64,
    /// Nanoseconds since 1970; 0 is unknown.
    pub start: i64,
    /// Nanoseconds; 0 is unknown.
    pub duration: i64,
    pub drop_frames: Text,
    pub keep_frames: Text,
    pub doc_url: Text,
    pub comments: Vec<Text>,
}

/// A part of a process's memory, and the file in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Mapping {
    pub start: u64,
    pub limit: u64,
    pub offset: u64,
    pub file: Text,
    pub build_id: Text,
    /// Functions, files, lines and inlined frames are known: bits 0 to 3.
    pub has: u8,
}

impl Mapping {
    /// The parts that tell that two mappings are of one file, wherever it is loaded. This is the rule of
    /// `profile/merge.go` in github.com/google/pprof.
    fn identity(&self) -> (u64, u64, Text) {
        const PAGE: u64 = 0x1000;
        let size = self.limit.wrapping_sub(self.start);
        let size = size.checked_next_multiple_of(PAGE).unwrap_or(size);
        (size, self.offset, if self.build_id == 0 { self.file } else { self.build_id })
    }
}

/// A place in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Location {
    /// The index of its mapping.
    pub mapping: Option<u32>,
    pub address: u64,
    /// Several addresses became this one.
    pub is_folded: bool,
}

/// A function in a location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    /// The index of the location.
    pub location: u32,
    /// The number of its line in the location, the innermost function's first.
    pub at: u32,
    /// The name that frames were given for it.
    pub shown: Text,
    pub kind: CodeKind,
}

/// The content of a line of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CodeKind {
    /// The frame stands for a sample without a stack.
    NoStack,
    /// The location has no lines.
    Address,
    /// A line, perhaps of a function.
    Line { function: Option<Function>, line: i64, column: i64 },
}

/// A function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Function {
    pub name: Text,
    pub system_name: Text,
    pub file: Text,
    pub start_line: i64,
}

/// A label of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Label {
    pub key: Text,
    pub value: LabelValue,
}

/// The value of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LabelValue {
    Text(Text),
    /// A number and its unit.
    Number(i64, Text),
}

/// A sample: a stack of the profile's table, its labels, and where its values begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub stack: u32,
    labels: u32,
    part: u32,
    values: usize,
}

/// Code that ran from one branch to the next, or a branch, and how often that was seen. Addresses are those of
/// the locations of the mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    /// The index of the mapping.
    pub mapping: u32,
    pub kind: BranchKind,
    /// The first instruction of the code; the instruction that branches. `None` where that is in another file.
    pub from: Option<u64>,
    /// The last instruction of the code, which branches; the instruction that is branched to.
    pub to: u64,
    pub count: u64,
}

/// The kinds of [`Branch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BranchKind {
    /// Code that ran without a branch in it.
    Straight,
    /// A branch that was taken.
    Taken,
}

/// The samples of one input.
struct Part {
    /// The number among all types of each value of a sample.
    columns: Vec<u32>,
    factor: Weight,
}

impl Part {
    /// The values of a sample times a factor: the number of the type and each value.
    fn each_value(
        &self,
        values: &[i64],
        factor: Weight,
        each: &mut impl FnMut(usize, Weight) -> crate::Result<()>,
    ) -> crate::Result<()> {
        let factor = self.factor.checked_mul(factor)?;
        let is_one = factor == Weight::ONE;
        for (&column, &value) in self.columns.iter().zip(values) {
            let value = Weight::new(value.into());
            each(column as usize, if is_one { value } else { value.checked_mul(factor)? })?;
        }
        Ok(())
    }
}

impl Default for Exchange {
    fn default() -> Self {
        let mut texts = Interner::default();
        texts.key(b"");
        Exchange {
            texts,
            head: Head::default(),
            types: Vec::new(),
            mappings: Vec::new(),
            earlier_mappings: 0,
            locations: Vec::new(),
            codes: Vec::new(),
            label_sets: Vec::new(),
            label_numbers: HashMap::new(),
            samples: Vec::new(),
            values: Vec::new(),
            parts: Vec::new(),
            branches: Vec::new(),
            factor: Weight::ONE,
            prunes: false,
        }
    }
}

impl Exchange {
    /// The bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let labels: usize = self.label_sets.iter().map(|set| size_of_val(&set[..])).sum();
        let code = size_of_val(&self.locations[..]) + size_of_val(&self.codes[..]);
        let samples = size_of_val(&self.samples[..]) + size_of_val(&self.values[..]);
        self.texts.bytes() + code + labels + samples + size_of_val(&self.branches[..])
    }

    /// The number of a text.
    pub(crate) fn text(&mut self, text: &[u8]) -> Text {
        self.texts.key(text)
    }

    /// The text of a number.
    pub(crate) fn text_of(&self, number: Text) -> &[u8] {
        self.texts.name(number)
    }

    /// Multiplies the values of the inputs that begin from now on.
    pub(crate) fn weigh(&mut self, factor: Weight) {
        self.factor = factor;
    }

    /// Begins the samples of an input, whose values are of these types.
    pub(crate) fn begin(&mut self, types: &[(Text, Text)], head: Head) {
        // A type that stands there twice is two columns, those of the inputs before, the first one first. A stranger's
        // file may have thousands of one type: none is looked for among all.
        let mut free: HashMap<(Text, Text), Vec<usize>> = HashMap::new();
        self.types.iter().enumerate().rev().for_each(|(at, known)| free.entry(*known).or_default().push(at));
        let mut columns: Vec<u32> = Vec::with_capacity(types.len());
        for kind in types {
            let at = free.get_mut(kind).and_then(Vec::pop).unwrap_or_else(|| {
                self.types.push(*kind);
                self.types.len() - 1
            });
            columns.push(at as u32);
        }
        match self.parts.is_empty() {
            true => self.head = head,
            false => self.head.merge(head),
        }
        self.parts.push(Part { columns, factor: self.factor });
        self.earlier_mappings = self.mappings.len();
    }

    /// Returns true if lines of code are known.
    pub(crate) fn has_codes(&self) -> bool {
        !self.codes.is_empty()
    }

    /// The number of inputs that have samples here.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Forgets the samples, and leaves the lines of code: not all inputs have samples here.
    pub(crate) fn clear_samples(&mut self) {
        self.parts.clear();
        self.samples.clear();
        self.values.clear();
        self.types.clear();
        self.head = Head::default();
    }

    /// The index of a mapping, and the distance by which addresses in it are moved.
    pub(crate) fn mapping(&mut self, mapping: Mapping) -> (u32, u64) {
        let (earlier, own) = self.mappings.split_at(self.earlier_mappings);
        if let Some(at) = own.iter().position(|known| *known == mapping) {
            return ((earlier.len() + at) as u32, 0);
        }
        let (size, _, name) = mapping.identity();
        let is_same = |known: &Mapping| size > 0 && name != 0 && known.identity() == mapping.identity();
        if let Some(at) = earlier.iter().position(is_same) {
            return (at as u32, earlier[at].start.wrapping_sub(mapping.start));
        }
        self.mappings.push(mapping);
        ((self.mappings.len() - 1) as u32, 0)
    }

    /// The index of a new location.
    pub(crate) fn location(&mut self, location: Location) -> u32 {
        self.locations.push(location);
        (self.locations.len() - 1) as u32
    }

    /// The number of a new line of code, for the places of frames.
    pub(crate) fn code(&mut self, code: Code) -> u32 {
        self.codes.push(code);
        self.codes.len() as u32
    }

    /// The line of code of a number.
    pub(crate) fn code_of(&self, number: u32) -> Option<&Code> {
        self.codes.get((number as usize).checked_sub(1)?)
    }

    /// The number of a set of labels.
    pub(crate) fn labels(&mut self, labels: &[Label]) -> u32 {
        if let Some(&known) = self.label_numbers.get(labels) {
            return known;
        }
        let labels: Arc<[Label]> = labels.into();
        self.label_sets.push(labels.clone());
        let number = (self.label_sets.len() - 1) as u32;
        self.label_numbers.insert(labels, number);
        number
    }

    /// The set of labels of a number.
    pub(crate) fn labels_of(&self, number: u32) -> &[Label] {
        &self.label_sets[number as usize]
    }

    /// The values of a sample of the input that began last: the number of the type and each value.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], and those of `each`.
    pub(crate) fn each_value(
        &self,
        values: &[i64],
        mut each: impl FnMut(usize, Weight) -> crate::Result<()>,
    ) -> crate::Result<()> {
        let Some(part) = self.parts.last() else { return Ok(()) };
        part.each_value(values, Weight::ONE, &mut each)
    }

    /// Adds a sample of the input that began last.
    pub(super) fn push(&mut self, stack: u32, labels: u32, values: &[i64]) {
        let Some(part) = self.parts.len().checked_sub(1) else { return };
        self.samples.push(Sample { stack, labels, part: part as u32, values: self.values.len() });
        let columns = self.parts[part].columns.len();
        self.values.extend(values.iter().copied().chain(std::iter::repeat(0)).take(columns));
    }
}

impl Head {
    /// Adds what another input says, by the rules of pprof's own merge.
    fn merge(&mut self, other: Head) {
        if self.period_type == other.period_type {
            self.period = self.period.max(other.period);
        }
        if other.start != 0 && (self.start == 0 || other.start < self.start) {
            self.start = other.start;
        }
        self.duration = self.duration.saturating_add(other.duration);
        for comment in other.comments {
            if !self.comments.contains(&comment) {
                self.comments.push(comment);
            }
        }
        for (own, others) in [
            (&mut self.default_type, other.default_type),
            (&mut self.drop_frames, other.drop_frames),
            (&mut self.keep_frames, other.keep_frames),
            (&mut self.doc_url, other.doc_url),
        ] {
            if *own == 0 {
                *own = others;
            }
        }
    }
}

/// The exchange of a finished profile, with the samples that are still there.
#[derive(Clone)]
pub(crate) struct Exchanged {
    pub exchange: Arc<Exchange>,
    samples: Vec<Sample>,
    factor: Weight,
    /// Stacks were left out, whose branches are still there.
    lacks_stacks: bool,
}

impl Exchanged {
    pub(super) fn new(mut exchange: Exchange) -> Exchanged {
        let samples = std::mem::take(&mut exchange.samples);
        Exchanged { exchange: Arc::new(exchange), samples, factor: Weight::ONE, lacks_stacks: false }
    }

    /// The samples, in the order in which they were read.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The branches of a recording, unless a filter has left out stacks: it is not known which of the branches
    /// belong to the others.
    pub fn branches(&self) -> Option<&[Branch]> {
        (!self.lacks_stacks).then_some(&self.exchange.branches)
    }

    /// Returns true if samples were read, whatever a filter has left of them.
    pub fn has_samples(&self) -> bool {
        self.exchange.parts() > 0
    }

    /// The number of the labels of a sample.
    pub fn label_number(&self, sample: &Sample) -> u32 {
        sample.labels
    }

    /// The values of a sample: the numbers of their types, and each value.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn values(
        &self,
        sample: &Sample,
        mut each: impl FnMut(usize, Weight) -> crate::Result<()>,
    ) -> crate::Result<()> {
        let part = &self.exchange.parts[sample.part as usize];
        part.each_value(&self.exchange.values[sample.values..], self.factor, &mut each)
    }

    /// The same for other stacks: `numbers` has the new number of each old one, and values are multiplied
    /// by `factor`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(super) fn restacked(&self, numbers: &[Option<u32>], factor: Weight) -> crate::Result<Exchanged> {
        let moved = |sample: &Sample| numbers[sample.stack as usize].map(|stack| Sample { stack, ..*sample });
        Ok(Exchanged {
            exchange: self.exchange.clone(),
            samples: self.samples.iter().filter_map(moved).collect(),
            factor: self.factor.checked_mul(factor)?,
            lacks_stacks: self.lacks_stacks || numbers.contains(&None),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_of_other_types_have_columns_of_their_own() {
        let mut exchange = Exchange::default();
        let [cpu, ns, wall] = [&b"cpu"[..], b"ns", b"wall"].map(|text| exchange.text(text));
        exchange.begin(&[(cpu, ns), (wall, ns)], Head { duration: 5, start: 9, ..Head::default() });
        exchange.labels(&[]);
        exchange.push(0, 0, &[1, 2]);
        exchange.weigh(Weight::new(3));
        exchange.begin(&[(wall, ns)], Head { duration: 6, start: 7, ..Head::default() });
        exchange.push(1, 0, &[4]);
        exchange.begin(&[(wall, ns)], Head::default());
        assert_eq!(
            (exchange.head.start, exchange.head.duration),
            (7, 11),
            "the last does not say when it began"
        );
        let exchanged = Exchanged::new(exchange);
        assert!(exchanged.has_samples() && !Exchanged::new(Exchange::default()).has_samples());
        let values = |sample| {
            let mut all = [0; 2];
            let each = |at: usize, value: Weight| {
                all[at] = value.to_u64().unwrap();
                Ok(())
            };
            exchanged.values(&exchanged.samples()[sample], each).unwrap();
            all
        };
        assert_eq!((values(0), values(1)), ([1, 2], [0, 12]));
        let less = exchanged.restacked(&[None, Some(0)], Weight::new(2)).unwrap();
        assert_eq!((less.samples().len(), less.samples()[0].stack), (1, 0));
    }

    #[test]
    fn a_file_at_another_address_is_one_mapping() {
        let mut exchange = Exchange::default();
        let file = exchange.text(b"/bin/app");
        let at = |start| Mapping { start, limit: start + 0x1000, file, ..Mapping::default() };
        exchange.begin(&[], Head::default());
        assert_eq!(exchange.mapping(at(0x1000)), (0, 0));
        // Two of one recording are two.
        assert_eq!(exchange.mapping(at(0x5000)), (1, 0));
        exchange.begin(&[], Head::default());
        assert_eq!(exchange.mapping(at(0x9000)), (0, 0x1000u64.wrapping_sub(0x9000)));
        assert_eq!(exchange.mapping(Mapping { offset: 9, ..at(0x9000) }), (2, 0));
    }

    #[test]
    fn lines_of_code_are_known_once_there_is_one() {
        let mut exchange = Exchange::default();
        let shown = exchange.text(b"main");
        assert!(!exchange.has_codes());
        let code = Code { location: 0, at: 0, shown, kind: CodeKind::NoStack };
        assert_eq!(exchange.code(code), 1);
        assert!(exchange.has_codes());
    }
}
