//! The constants of a chunk that stacks, threads and labels are made of: events name them by number, and
//! they name one another.
//!
//! ```text
//! checkpoint: start, duration, offset of the one before, kind, pools [type, constants [number, value]]
//! ```
//! Only pools that are needed are kept, the others are passed over. Checkpoints come anywhere in a chunk,
//! mostly behind the events that need them.

use std::collections::HashMap;
use std::ops::Range;

use super::cursor::{ChunkCursor, Text};
use super::layout::{Datum, Layout};
use super::metadata::{Class, Metadata};
use crate::collapse::kit::java_frame::dotted;

/// The most texts that stand for one another.
const MOST_HOPS: usize = 4;

/// The constants of a chunk, by number.
#[derive(Default)]
pub struct Constants {
    symbols: HashMap<u64, Name>,
    strings: HashMap<u64, Name>,
    classes: HashMap<u64, Name>,
    methods: HashMap<u64, Method>,
    frame_types: HashMap<u64, Name>,
    states: HashMap<u64, Name>,
    threads: HashMap<u64, Thread>,
    stacks: HashMap<u64, Stack>,
    frames: Vec<Frame>,
}

/// A text, or the number of one in the pool of symbols or of strings.
#[derive(Clone, Debug, Default)]
enum Name {
    #[default]
    None,
    Bytes(Vec<u8>),
    Symbol(u64),
    String(u64),
}

/// A method.
#[derive(Clone, Debug, Default)]
pub struct Method {
    class: u64,
    name: Name,
    /// True for the virtual machine's own glue.
    pub is_hidden: bool,
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    java_name: Name,
    system_name: Name,
    java_id: i64,
    system_id: i64,
    /// True for a virtual thread.
    pub is_virtual: bool,
}

/// A frame, by the numbers of its constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The method.
    pub method: u64,
    /// The line, or 0.
    pub line: u32,
    /// The type of frame.
    pub kind: u32,
}

/// A stack: its frames, leaf first.
#[derive(Clone, Debug, Default)]
struct Stack {
    frames: Range<usize>,
    is_truncated: bool,
}

/// The pools that are kept, by the names of their types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pool {
    Symbols,
    Strings,
    Classes,
    Methods,
    FrameTypes,
    States,
    Threads,
    Stacks,
}

impl Pool {
    fn of(class: &str) -> Option<Pool> {
        Some(match class {
            "jdk.types.Symbol" => Pool::Symbols,
            "java.lang.String" => Pool::Strings,
            "java.lang.Class" => Pool::Classes,
            "jdk.types.Method" => Pool::Methods,
            "jdk.types.FrameType" => Pool::FrameTypes,
            "jdk.types.ThreadState" => Pool::States,
            "java.lang.Thread" => Pool::Threads,
            "jdk.types.StackTrace" => Pool::Stacks,
            _ => return None,
        })
    }
}

/// The layouts of the constants of a type, and what each of their fields is.
struct Layouts<'m> {
    /// Name, type's name if it is a constant, layout.
    fields: Vec<(&'m str, Option<&'m str>, Layout)>,
    /// Those of a frame, in the type of stacks.
    frame: Vec<(&'m str, Layout)>,
}

impl<'m> Layouts<'m> {
    fn new(class: &'m Class, metadata: &'m Metadata) -> Option<Layouts<'m>> {
        let mut fields = Vec::new();
        let mut frame = Vec::new();
        for field in &class.fields {
            let of = metadata.class(field.class)?;
            let constant = field.constant.then_some(&of.name[..]);
            fields.push((&field.name[..], constant, metadata.layout(field)?));
            if field.name == "frames" && !field.constant {
                for part in &of.fields {
                    frame.push((&part.name[..], metadata.layout(part)?));
                }
            }
        }
        Some(Layouts { fields, frame })
    }
}

impl Constants {
    /// Reads a checkpoint, behind its size and type; `None` if it is damaged, with what came before kept.
    pub fn read(&mut self, mut cursor: ChunkCursor, metadata: &Metadata) -> Option<()> {
        let (_start, _duration, _before) = (cursor.long()?, cursor.long()?, cursor.long()?);
        cursor.byte()?;
        for _ in 0..cursor.int()? {
            let class = metadata.class(cursor.long()?)?;
            let pool = Pool::of(&class.name);
            let layouts = Layouts::new(class, metadata)?;
            for _ in 0..cursor.count()? {
                let number = cursor.long()?;
                match pool {
                    Some(pool) => self.constant(pool, number, &layouts, &mut cursor)?,
                    None => layouts.fields.iter().try_for_each(|(.., layout)| layout.skip(&mut cursor))?,
                }
            }
        }
        Some(())
    }

    /// Reads a constant.
    fn constant(
        &mut self,
        pool: Pool,
        number: u64,
        layouts: &Layouts,
        cursor: &mut ChunkCursor,
    ) -> Option<()> {
        if pool == Pool::Stacks {
            return self.stack(number, layouts, cursor);
        }
        let mut method = Method::default();
        let mut thread = Thread::default();
        let mut first = Name::None;
        if pool == Pool::Strings && layouts.fields.is_empty() {
            first = name_of(&Datum::Text(cursor.text()?), None);
        }
        for (field, constant, layout) in &layouts.fields {
            let datum = layout.read(cursor)?;
            let whole = if let Datum::Number(number) = datum { number } else { 0 };
            match (pool, *field) {
                (Pool::Methods, "type") => method.class = whole as u64,
                (Pool::Methods, "name") => method.name = name_of(&datum, *constant),
                (Pool::Methods, "hidden") => method.is_hidden = whole != 0,
                (Pool::Threads, "javaName") => thread.java_name = name_of(&datum, *constant),
                (Pool::Threads, "osName") => thread.system_name = name_of(&datum, *constant),
                (Pool::Threads, "javaThreadId") => thread.java_id = whole,
                (Pool::Threads, "osThreadId") => thread.system_id = whole,
                (Pool::Threads, "virtual") => thread.is_virtual = whole != 0,
                (Pool::Classes | Pool::States, "name")
                | (Pool::Symbols | Pool::Strings, "string" | "value")
                | (Pool::FrameTypes, "description") => first = name_of(&datum, *constant),
                _ => {}
            }
        }
        match pool {
            Pool::Methods => {
                self.methods.insert(number, method);
            }
            Pool::Threads => {
                self.threads.insert(number, thread);
            }
            Pool::Symbols => {
                self.symbols.insert(number, first);
            }
            Pool::Strings => {
                self.strings.insert(number, first);
            }
            Pool::Classes => {
                self.classes.insert(number, first);
            }
            Pool::FrameTypes => {
                self.frame_types.insert(number, first);
            }
            Pool::States => {
                self.states.insert(number, first);
            }
            Pool::Stacks => {}
        }
        Some(())
    }

    fn stack(&mut self, number: u64, layouts: &Layouts, cursor: &mut ChunkCursor) -> Option<()> {
        let mut stack = Stack::default();
        for (field, _, layout) in &layouts.fields {
            match (*field, layout) {
                ("frames", Layout::Array(_)) if !layouts.frame.is_empty() => {
                    let begin = self.frames.len();
                    for _ in 0..cursor.count()? {
                        self.frames.push(read_frame(&layouts.frame, cursor)?);
                    }
                    stack.frames = begin..self.frames.len();
                }
                ("truncated", layout) => stack.is_truncated = layout.read(cursor)? != Datum::Number(0),
                (_, layout) => layout.skip(cursor)?,
            }
        }
        self.stacks.insert(number, stack);
        Some(())
    }

    /// The frames of a stack, leaf first, and true if some were cut off.
    pub fn frames(&self, stack: u64) -> Option<(&[Frame], bool)> {
        let stack = self.stacks.get(&stack)?;
        Some((&self.frames[stack.frames.clone()], stack.is_truncated))
    }

    /// A method.
    pub fn method(&self, number: u64) -> Option<&Method> {
        self.methods.get(&number)
    }

    /// Class and name of a method; of native functions, which have no class, the name.
    pub fn method_name(&self, method: &Method) -> Vec<u8> {
        let mut name = self.class_name(method.class);
        if !name.is_empty() {
            name.push(b'.');
        }
        name.extend_from_slice(self.text(&method.name));
        name
    }

    /// The name of a class, with dots.
    pub fn class_name(&self, number: u64) -> Vec<u8> {
        dotted(self.classes.get(&number).map_or(b"", |name| self.text(name)))
    }

    /// The name of a type of frames.
    pub fn frame_type(&self, number: u32) -> &[u8] {
        self.frame_types.get(&number.into()).map_or(b"", |name| self.text(name))
    }

    /// The name of a state of threads.
    pub fn state(&self, number: u64) -> &[u8] {
        self.states.get(&number).map_or(b"", |name| self.text(name))
    }

    /// A text of the pool of strings.
    pub fn string(&self, number: u64) -> &[u8] {
        self.strings.get(&number).map_or(b"", |name| self.text(name))
    }

    /// A thread.
    pub fn thread(&self, number: u64) -> Option<&Thread> {
        self.threads.get(&number)
    }

    /// The name of a thread in Java, or else that of the system.
    pub fn thread_name<'c>(&'c self, thread: &'c Thread) -> &'c [u8] {
        match self.text(&thread.java_name) {
            b"" => self.text(&thread.system_name),
            name => name,
        }
    }

    fn text<'c>(&'c self, mut name: &'c Name) -> &'c [u8] {
        for _ in 0..MOST_HOPS {
            let next = match name {
                Name::None => None,
                Name::Bytes(bytes) => return bytes,
                Name::Symbol(number) => self.symbols.get(number),
                Name::String(number) => self.strings.get(number),
            };
            let Some(next) = next else { return b"" };
            name = next;
        }
        b""
    }
}

impl Thread {
    /// The number of the thread in Java, or that of the system for the virtual machine's own.
    pub fn id(&self) -> i64 {
        if self.java_id > 0 { self.java_id } else { self.system_id }
    }
}

/// The text that a field holds, or names in a pool of this type.
fn name_of(datum: &Datum, constant: Option<&str>) -> Name {
    match datum {
        Datum::Text(Text::Bytes(bytes)) => Name::Bytes(bytes.to_vec()),
        Datum::Text(Text::Constant(number)) => Name::String(*number),
        Datum::Number(number) => match constant {
            Some("jdk.types.Symbol") => Name::Symbol(*number as u64),
            Some("java.lang.String") => Name::String(*number as u64),
            _ => Name::None,
        },
        Datum::Text(Text::None) | Datum::Other => Name::None,
    }
}

fn read_frame(layouts: &[(&str, Layout)], cursor: &mut ChunkCursor) -> Option<Frame> {
    let mut frame = Frame::default();
    for (field, layout) in layouts {
        let number = match layout.read(cursor)? {
            Datum::Number(number) => number,
            Datum::Text(_) | Datum::Other => continue,
        };
        match *field {
            "method" => frame.method = number as u64,
            "lineNumber" => frame.line = u32::try_from(number).unwrap_or(0),
            "type" => frame.kind = u32::try_from(number).unwrap_or(u32::MAX),
            _ => {}
        }
    }
    Some(frame)
}
