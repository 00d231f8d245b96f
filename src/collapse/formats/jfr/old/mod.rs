//! Recordings of version 0.9: of Oracle's JDK 7 and 8, and of async-profiler 1.
//!
//! ```text
//! "FLR\0" 0000 0009 | offset of the description | events: size, type, end, [start], [thread], [stack], fields …
//! description: size, 0, producers, start and end in ms, start in ticks, ticks a second, offset of the last checkpoint
//! producer: id, name, description, uri, relations, structures [fields], types of events, types of constants
//! checkpoint: size, 1, ticks, offset of the one before, pools [type of constants, count, [key, value]]
//! ```
//! Numbers have fixed sizes, the most significant byte first. The format is that of the parser for version 0 in
//! OpenJDK's jmc. Events and fields get the names that later versions have for them.

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use super::events::{Amount, Event, Events, JavaFrame, Origin};
use crate::bytes::{ByteOrder, Cursor};
use crate::collapse::kit::java_frame::dotted;
use crate::collapse::{CollapseOptions, Report, Sink};
use crate::error::{Error, Position, Result};
use crate::input::Input;
use crate::limits::Meter;
use crate::weight::Weight;

/// The first bytes of a chunk, before the numbers of the version.
const MAGIC: &[u8] = b"FLR\0\0\0";

/// The size of the header of a chunk.
const HEADER: usize = 16;

/// The types of constants that have numbers of their own.
const THREAD: u32 = 7;
const STACK: u32 = 9;

/// The deepest that values nest, and constants name one another.
const DEEPEST: usize = 8;

/// The structures between two looks at the limits. They take a few megabytes.
const MANY: u32 = 1 << 16;

/// The names of events in later versions, by their paths.
const NAMES: [(&str, &str); 13] = [
    ("vm/prof/execution_sample", "jdk.ExecutionSample"),
    ("java/object_alloc_in_new_TLAB", "jdk.ObjectAllocationInNewTLAB"),
    ("java/object_alloc_outside_TLAB", "jdk.ObjectAllocationOutsideTLAB"),
    ("java/thread_park", "jdk.ThreadPark"),
    ("java/thread_sleep", "jdk.ThreadSleep"),
    ("java/monitor_enter", "jdk.JavaMonitorEnter"),
    ("java/monitor_wait", "jdk.JavaMonitorWait"),
    ("java/exception_throw", "jdk.JavaExceptionThrow"),
    ("java/error_throw", "jdk.JavaErrorThrow"),
    ("java/file_read", "jdk.FileRead"),
    ("java/file_write", "jdk.FileWrite"),
    ("java/socket_read", "jdk.SocketRead"),
    ("java/socket_write", "jdk.SocketWrite"),
];

/// Returns true if a recording begins with a chunk of this version.
pub fn is_old(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Reads a recording.
///
/// # Errors
/// The system's, and bytes that are no chunk.
pub fn read(input: Input, options: &CollapseOptions, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
    let position = Position::file(input.name().clone());
    let meter = input.meter().cloned();
    let bytes = input.read_all()?;
    let mut events = Events::new(sink);
    let mut at = 0;
    while at < bytes.len() {
        let place = || Position { byte: Some(at as u64), ..position.clone() };
        let Some(chunk) = Chunk::read(&bytes[at..], meter.as_deref()) else {
            let expected = "a chunk of version 0.9 of JFR, with the description of its events at its end";
            let error = Error::malformed(expected, &bytes[at..][..(bytes.len() - at).min(16)]).at(place());
            if at == 0 {
                return Err(error);
            }
            report.doubt(format!("{error}: it is left out, with what follows"));
            break;
        };
        let lost = chunk.events(&mut events, options, sink)?;
        if lost > 0 {
            report.doubt(format!("{lost} events of the chunk at byte {at} are damaged: they are left out"));
        }
        at += chunk.bytes.len();
    }
    events.finish(options, sink, report)
}

/// A field of a structure.
struct Field {
    id: String,
    /// The number of its type: see [`Chunk::value`].
    kind: u8,
    /// The type of the constant that it is the key of; 0 for none, and small numbers for units.
    content: u32,
    /// The number of its structure, or of the type of its items.
    structure: usize,
}

/// A type of events.
struct EventType {
    name: String,
    has_start: bool,
    has_thread: bool,
    has_stack: bool,
    /// True if one of its fields is a stack: that of a sampled thread.
    samples_stack: bool,
    structure: usize,
}

/// A value. Texts and lists of constants are shared.
#[derive(Clone)]
enum Value {
    Number(i64),
    Text(Rc<[u8]>),
    /// The key of a constant of a type.
    Key(u32, u64),
    List(Rc<[Value]>),
    /// The values of a structure, by its number.
    Struct(usize, Rc<[Value]>),
}

/// A chunk, with its types and constants.
struct Chunk<'b> {
    bytes: &'b [u8],
    /// The end of the events.
    end: usize,
    structures: Vec<Vec<Field>>,
    events: HashMap<u32, EventType>,
    /// The types of constants: name, type of the key, structure.
    contents: HashMap<u32, (String, u8, usize)>,
    /// Constants by type and key, each from a time on to which it counts.
    constants: HashMap<(u32, u64), Vec<(i64, Value)>>,
    /// The start in nanoseconds since 1970, and in ticks.
    start: (i64, i64),
    ticks_a_second: i64,
    /// The limits of the reading, and the number of structures that were read.
    meter: Option<&'b Meter>,
    read: Cell<u32>,
}

impl<'b> Chunk<'b> {
    /// Reads the types and constants of a chunk; `None` if they are not there.
    fn read(bytes: &'b [u8], meter: Option<&'b Meter>) -> Option<Chunk<'b>> {
        let end = usize::try_from(ByteOrder::Big.unsigned(bytes.get(8..HEADER)?)).ok()?;
        let mut cursor = block(bytes, end)?;
        let size = cursor.rest().len() + 4;
        let bytes = bytes.starts_with(MAGIC).then(|| &bytes[..end + size])?;
        let mut chunk = Chunk {
            bytes,
            end,
            structures: Vec::new(),
            events: HashMap::new(),
            contents: HashMap::new(),
            constants: HashMap::new(),
            start: (0, 0),
            ticks_a_second: 1_000_000_000,
            meter,
            read: Cell::new(0),
        };
        cursor.u32()?;
        for _ in 0..cursor.u32()? {
            chunk.producer(&mut cursor)?;
        }
        let mut long = || cursor.u64().map(|number| number as i64);
        let (start, _end, ticks) = (long()?, long()?, long()?);
        chunk.start = (start.checked_mul(1_000_000)?, ticks);
        chunk.ticks_a_second = long()?.max(1);
        let mut at = usize::try_from(long()?).ok()?;
        let mut end = chunk.end;
        while at != 0 {
            // Each ends before the one that names it begins: none is read twice.
            (at, end) = (chunk.checkpoint(at, end)?, at);
        }
        for values in chunk.constants.values_mut() {
            values.sort_by_key(|(time, _)| *time);
        }
        Some(chunk)
    }

    /// Reads a producer: the structures of its values, its types of events and of constants.
    fn producer(&mut self, cursor: &mut Cursor) -> Option<()> {
        let first = self.structures.len();
        cursor.u32()?;
        for _ in 0..3 {
            text(cursor)?;
        }
        for _ in 0..cursor.u32()? {
            text(cursor)?;
        }
        for _ in 0..cursor.u32()? {
            let mut fields = Vec::new();
            for _ in 0..cursor.u32()? {
                let id = text(cursor)?;
                text(cursor)?;
                text(cursor)?;
                cursor.u8()?;
                let (kind, content) = (cursor.u8()?, cursor.u32()?);
                let index = cursor.u32()? as usize;
                cursor.u32()?;
                let structure = if kind >= 14 { first + index } else { index };
                fields.push(Field { id, kind, content, structure });
            }
            self.structures.push(fields);
        }
        for _ in 0..cursor.u32()? {
            let id = cursor.u32()?;
            text(cursor)?;
            text(cursor)?;
            let path = text(cursor)?;
            let mut flag = || cursor.u8().map(|flag| flag != 0);
            let (has_start, has_thread, has_stack, _) = (flag()?, flag()?, flag()?, flag()?);
            let structure = first + cursor.u32()? as usize;
            cursor.u32()?;
            let samples_stack = self
                .structures
                .get(structure)
                .is_some_and(|fields| fields.iter().any(|field| field.content == STACK && field.kind == 8));
            let known = NAMES.iter().find(|(old, _)| *old == path);
            let name = known.map_or_else(|| path.replace('/', "."), |(_, name)| (*name).to_owned());
            let kind = EventType { name, has_start, has_thread, has_stack, samples_stack, structure };
            self.events.insert(id, kind);
        }
        for _ in 0..cursor.u32()? {
            let id = cursor.u32()?;
            let name = text(cursor)?;
            text(cursor)?;
            let kind = cursor.u8()?;
            self.contents.insert(id, (name, kind, first + cursor.u32()? as usize));
        }
        Some(())
    }

    /// Reads a checkpoint that begins at `at` and ends by `end`, and returns the offset of the one before.
    fn checkpoint(&mut self, at: usize, end: usize) -> Option<usize> {
        let mut cursor = block(self.bytes.get(..end)?, at)?;
        cursor.u32()?;
        let time = cursor.u64()? as i64;
        let before = usize::try_from(cursor.u64()?).ok()?;
        while !cursor.is_empty() {
            let content = cursor.u32()?;
            let (kind, structure) = self.contents.get(&content).map(|(_, kind, at)| (*kind, *at))?;
            for _ in 0..cursor.u32()? {
                let Value::Number(key) = self.plain(kind, &mut cursor)? else { return None };
                let value = self.structure(structure, &mut cursor, 0)?;
                self.constants.entry((content, key as u64)).or_default().push((time, value));
            }
        }
        Some(before)
    }

    /// Reads a number or a text.
    fn plain(&self, kind: u8, cursor: &mut Cursor) -> Option<Value> {
        Some(match kind {
            0 | 2 => Value::Number(cursor.u8()?.into()),
            1 => Value::Number((cursor.u8()? as i8).into()),
            3 => Value::Number((cursor.u16()? as i16).into()),
            4 => Value::Number(cursor.u16()?.into()),
            5 => Value::Number(cursor.i32()?.into()),
            6 | 9 => Value::Number(cursor.u32()?.into()),
            7 | 8 | 10 => Value::Number(cursor.u64()? as i64),
            11 => Value::Text(text(cursor)?.as_bytes().into()),
            12 => {
                let len = (cursor.u32()? as usize).checked_mul(2)?;
                let units = cursor.take(len)?.chunks_exact(2);
                let units: Vec<u16> = units.map(|unit| u16::from_be_bytes([unit[0], unit[1]])).collect();
                Value::Text(String::from_utf16_lossy(&units).as_bytes().into())
            }
            _ => return None,
        })
    }

    /// Reads the value of a field: 0 to 12 are numbers and texts, 13 a list of them, 14 a structure, 15 a list of these.
    fn value(&self, field: &Field, cursor: &mut Cursor, depth: usize) -> Option<Value> {
        match field.kind {
            13 | 15 => {
                let mut items = Vec::new();
                for _ in 0..cursor.u32()? {
                    items.push(match field.kind {
                        13 => self.plain(u8::try_from(field.structure).ok()?, cursor)?,
                        _ => self.structure(field.structure, cursor, depth + 1)?,
                    });
                }
                Some(Value::List(items.into()))
            }
            14 => self.structure(field.structure, cursor, depth + 1),
            kind => match self.plain(kind, cursor)? {
                Value::Number(key) if self.contents.contains_key(&field.content) => {
                    Some(Value::Key(field.content, key as u64))
                }
                plain => Some(plain),
            },
        }
    }

    /// Reads a structure. One without fields takes no bytes, and could be there any number of times: there is none.
    fn structure(&self, structure: usize, cursor: &mut Cursor, depth: usize) -> Option<Value> {
        let fields =
            self.structures.get(structure).filter(|fields| depth <= DEEPEST && !fields.is_empty())?;
        self.read.set(self.read.get().wrapping_add(1));
        if self.read.get().is_multiple_of(MANY) {
            // The reading ends with the limit that is reached.
            self.meter.map_or(Ok(()), Meter::check).ok()?;
        }
        let values: Option<Vec<Value>> =
            fields.iter().map(|field| self.value(field, cursor, depth)).collect();
        Some(Value::Struct(structure, values?.into()))
    }

    /// The value that a key stands for at a time in ticks.
    fn resolved(&self, value: &Value, time: i64) -> Option<Value> {
        let mut value = value.clone();
        for _ in 0..DEEPEST {
            let Value::Key(content, key) = value else { return Some(value) };
            let values = self.constants.get(&(content, key))?;
            let known = values.get(values.partition_point(|(until, _)| *until < time)).or(values.last())?;
            value = known.1.clone();
        }
        None
    }

    /// A field of a structure, resolved.
    fn field(&self, value: &Value, id: &str, time: i64) -> Option<Value> {
        let Value::Struct(structure, values) = self.resolved(value, time)? else { return None };
        let at = self.structures.get(structure)?.iter().position(|field| field.id == id)?;
        self.resolved(values.get(at)?, time)
    }

    /// A text, or one that is all of a structure.
    fn text(&self, value: Option<Value>, time: i64) -> Vec<u8> {
        match value.and_then(|value| self.resolved(&value, time)) {
            Some(Value::Text(text)) => text.to_vec(),
            Some(Value::Struct(_, fields)) if fields.len() == 1 => self.text(fields.first().cloned(), time),
            _ => Vec::new(),
        }
    }

    /// Nanoseconds since 1970 of a time in ticks.
    fn time(&self, ticks: i64) -> Option<u64> {
        let passed = self.nanoseconds(ticks.checked_sub(self.start.1)?);
        u64::try_from(self.start.0.checked_add(passed)?).ok()
    }

    fn nanoseconds(&self, ticks: i64) -> i64 {
        (i128::from(ticks) * 1_000_000_000 / i128::from(self.ticks_a_second)) as i64
    }

    /// Adds all events; returns how many are damaged.
    fn events(&self, events: &mut Events, options: &CollapseOptions, sink: &mut dyn Sink) -> Result<u64> {
        let (mut at, mut lost) = (HEADER, 0);
        events.note_time(self.time(self.start.1));
        while at < self.end {
            let Some(cursor) = block(&self.bytes[..self.end], at) else { return Ok(lost + 1) };
            at += cursor.rest().len() + 4;
            match self.event(cursor, events, options, sink) {
                Some(Some(mut event)) => events.add(&mut event, options, sink)?,
                Some(None) => {}
                None => lost += 1,
            }
        }
        Ok(lost)
    }

    /// Reads an event; the inner `None` is one without a stack.
    fn event(
        &self,
        mut cursor: Cursor,
        events: &mut Events,
        options: &CollapseOptions,
        sink: &mut dyn Sink,
    ) -> Option<Option<Event>> {
        let Some(kind) = self.events.get(&cursor.u32()?) else { return Some(None) };
        let fields = self.structures.get(kind.structure)?;
        if !(kind.has_stack || kind.samples_stack) {
            return Some(None);
        }
        let end = cursor.u64()? as i64;
        let start = if kind.has_start { cursor.u64()? as i64 } else { end };
        let mut event =
            Event { name: kind.name.as_bytes().to_vec(), time: self.time(start), ..Event::default() };
        let (mut thread, mut stack) = (None, None);
        if kind.has_thread {
            thread = Some(u64::from(cursor.u32()?));
        }
        if kind.has_stack {
            stack = Some(Value::Key(STACK, cursor.u64()?));
        }
        for field in fields {
            let value = self.value(field, &mut cursor, 0)?;
            match (&field.id[..], &value) {
                (_, Value::Key(STACK, _)) => stack = Some(value),
                ("sampledThread", Value::Key(_, key)) => thread = Some(*key),
                ("state", Value::Key(..)) => event.origin.state = self.text(Some(value), end),
                ("class" | "klass", Value::Key(..)) => {
                    event.origin.class = dotted(&self.text(self.field(&value, "name", end), end));
                }
                (id, Value::Number(number)) => {
                    let amount = Amount::of(id).filter(|amount| amount.unit == "bytes" && *number > 0);
                    event.amounts.extend(amount.map(|amount| (amount, Weight::new((*number).into()))));
                }
                _ => {}
            }
        }
        let lasted = self.nanoseconds(end.checked_sub(start)?);
        if let Some(amount) = Amount::of("duration").filter(|_| kind.has_start && lasted > 0) {
            event.amounts.push((amount, Weight::new(lasted.into())));
        }
        if let Some(thread) = thread {
            let name = self.text(Some(Value::Key(THREAD, thread)), end);
            event.origin = Origin { thread: name, id: thread.to_string().into_bytes(), ..event.origin };
        }
        self.frames(stack, end, &mut event, (events, options, sink));
        Some(Some(event))
    }

    /// Reads the stack of an event, leaf first.
    fn frames(
        &self,
        stack: Option<Value>,
        time: i64,
        event: &mut Event,
        (events, options, sink): (&mut Events, &CollapseOptions, &mut dyn Sink),
    ) {
        let Some(stack) = stack else { return };
        event.truncated = matches!(self.field(&stack, "truncated", time), Some(Value::Number(1..)));
        let Some(Value::List(frames)) = self.field(&stack, "frames", time) else { return };
        for frame in frames.iter() {
            let method = self.field(frame, "method", time);
            let part = |id: &str| method.as_ref().and_then(|method| self.field(method, id, time));
            let class = part("class").and_then(|class| self.field(&class, "name", time));
            let (class, name) = (dotted(&self.text(class, time)), self.text(part("name"), time));
            let full = match (&class[..], &name[..]) {
                ([], []) => b"[unknown]".to_vec(),
                ([], name) => name.to_vec(),
                (class, name) => [class, b".", name].concat(),
            };
            let line = match self.field(frame, "line", time) {
                Some(Value::Number(line)) => u32::try_from(line).unwrap_or(0),
                _ => 0,
            };
            let kind = self.text(self.field(frame, "type", time), time);
            let frame = JavaFrame { name: &full, line, kind: &kind };
            event.frames.push(frame.build(options, &mut events.names, sink));
        }
    }
}

/// The content of a block, whose size is at an offset; `None` if the bytes end before it does.
fn block(bytes: &[u8], at: usize) -> Option<Cursor<'_>> {
    let size = ByteOrder::Big.unsigned(bytes.get(at..at.checked_add(4)?)?) as usize;
    let end = at.checked_add(size)?;
    Some(Cursor::new(bytes.get(at + 4..end)?, ByteOrder::Big))
}

/// A text behind its length of two bytes.
fn text(cursor: &mut Cursor) -> Option<String> {
    Some(String::from_utf8_lossy(cursor.u16_counted()?).into_owned())
}
