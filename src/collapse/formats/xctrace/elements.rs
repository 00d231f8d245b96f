//! The elements of an exported table, and what is remembered of them for those that refer to them.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};

use super::NO_THREAD;
use crate::collapse::kit::clean_symbol::clean_symbol;
use crate::collapse::kit::forest::Budget;
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::naming::{kind_of, module_name};
use crate::collapse::kit::threads::Thread;
use crate::collapse::{CollapseOptions, Sink};
use crate::error::{Error, Result};
use crate::folded::{FrameId, Place, sanitize_frame};
use crate::input::{MAX_RECORD, Reader};
use crate::number::hex;
use crate::weight::Weight;

/// An element that is open, or just closed.
#[derive(Default)]
pub struct Element {
    pub tag: Vec<u8>,
    pub id: Option<u64>,
    pub reference: Option<u64>,
    pub name: Option<String>,
    /// The text that Instruments shows for it.
    pub shown: Option<String>,
    pub address: Option<String>,
    pub path: Option<String>,
    pub line: u32,
    pub text: String,
    /// The meanings of the elements within it.
    pub parts: Vec<Known>,
}

/// The meaning of an element. Large things are numbers of what is kept once.
#[derive(Clone, Debug)]
pub enum Known {
    /// Nanoseconds since the recording began.
    Time(i64),
    /// Nanoseconds that a sample stands for.
    Weight(Weight),
    /// The number of a process.
    Pid(String),
    /// The number of a thread.
    Tid(String),
    Thread(usize),
    /// A file: an executable or a source.
    Path(usize),
    /// A line in a file.
    Source(usize, u32),
    Frame(FrameId),
    Stack(usize),
}

/// A thread's name, process and number.
#[derive(Default)]
struct NamedThread {
    name: String,
    pid: String,
    tid: String,
}

/// All that was read.
pub struct Elements<'o> {
    pub options: &'o CollapseOptions,
    known: HashMap<u64, Known>,
    threads: Vec<NamedThread>,
    paths: Vec<String>,
    /// Root first.
    stacks: Vec<Vec<FrameId>>,
    names: FrameNames,
}

impl<'o> Elements<'o> {
    /// Nothing yet.
    pub fn new(options: &'o CollapseOptions) -> Elements<'o> {
        Elements {
            options,
            known: HashMap::new(),
            threads: Vec::new(),
            paths: Vec::new(),
            stacks: Vec::new(),
            names: FrameNames::default(),
        }
    }

    /// The frames of a stack, root first.
    pub fn stack(&self, number: usize) -> &[FrameId] {
        &self.stacks[number]
    }

    /// A thread, which may be unknown.
    pub fn thread(&self, number: Option<usize>) -> Thread<'_> {
        number.map_or(NO_THREAD, |number| {
            let NamedThread { name, pid, tid } = &self.threads[number];
            Thread { name: name.as_bytes(), pid: pid.as_bytes(), tid: tid.as_bytes() }
        })
    }

    /// The meaning of a closed element, if that is needed.
    ///
    /// # Errors
    /// References to elements that have not been read, and stacks that are too deep.
    pub fn finish(&mut self, element: Element, sink: &mut dyn Sink) -> Result<Option<Known>> {
        if let Some(reference) = element.reference {
            let is_needed = !matches!(kind(&element.tag), Kind::Other);
            return match self.known.get(&reference) {
                Some(known) => Ok(Some(known.clone())),
                None if is_needed => {
                    let found = reference.to_string();
                    Err(Error::malformed("the number of an earlier element", found.as_bytes()))
                }
                None => Ok(None),
            };
        }
        let id = element.id;
        let known = self.read(element, sink)?;
        if let (Some(id), Some(known)) = (id, &known) {
            self.known.insert(id, known.clone());
        }
        Ok(known)
    }

    fn read(&mut self, element: Element, sink: &mut dyn Sink) -> Result<Option<Known>> {
        let text = element.text.trim();
        Ok(match kind(&element.tag) {
            Kind::Time => text.parse().ok().map(Known::Time),
            Kind::Weight => Weight::parse(text.as_bytes()).map(Known::Weight),
            Kind::Pid => Some(Known::Pid(digits_of(text))),
            Kind::Tid => Some(Known::Tid(digits_of(text))),
            // It holds its number.
            Kind::Process => element.parts.into_iter().find(|part| matches!(part, Known::Pid(_))),
            Kind::Thread => Some(self.add_thread(element)),
            Kind::Path => Some(self.add_path(text.to_owned())),
            Kind::Binary => {
                let path = element.path.or(element.name);
                path.map(|path| self.add_path(path))
            }
            Kind::Source => element.parts.iter().find_map(|part| match part {
                Known::Path(path) => Some(Known::Source(*path, element.line)),
                _ => None,
            }),
            Kind::Frame => Some(Known::Frame(self.frame(&element, sink))),
            Kind::Backtrace => {
                let frames = element.parts.iter().rev().filter_map(|part| match part {
                    Known::Frame(frame) => Some(*frame),
                    _ => None,
                });
                let stack: Vec<FrameId> = frames.collect();
                Budget::default().check(stack.len())?;
                // A stack without frames is none; one around another is that one.
                let within = element.parts.iter().find(|part| matches!(part, Known::Stack(_))).cloned();
                within.or_else(|| {
                    (!stack.is_empty()).then(|| {
                        self.stacks.push(stack);
                        Known::Stack(self.stacks.len() - 1)
                    })
                })
            }
            Kind::Other => None,
        })
    }

    fn add_path(&mut self, path: String) -> Known {
        self.paths.push(path);
        Known::Path(self.paths.len() - 1)
    }

    /// `Main Thread 0x1a2b (app, pid: 42)`, and the numbers within it.
    fn add_thread(&mut self, element: Element) -> Known {
        let mut thread = NamedThread::default();
        for part in element.parts {
            match part {
                Known::Pid(pid) => thread.pid = pid,
                Known::Tid(tid) => thread.tid = tid,
                _ => {}
            }
        }
        let shown = element.shown.unwrap_or_default();
        let name = shown.rsplit_once(" (").map_or(&shown[..], |(name, _)| name);
        let name = name.rsplit_once(" 0x").map_or(name, |(name, _)| name);
        thread.name = name.trim().to_owned();
        self.threads.push(thread);
        Known::Thread(self.threads.len() - 1)
    }

    fn frame(&mut self, element: &Element, sink: &mut dyn Sink) -> FrameId {
        let (mut binary, mut source) = (None, None);
        for part in &element.parts {
            match part {
                Known::Path(path) => binary = Some(*path),
                Known::Source(path, line) => source = Some((*path, *line)),
                _ => {}
            }
        }
        let name = element.name.as_deref().unwrap_or_default();
        let address = element.address.as_deref().unwrap_or_default();
        let module = binary.map_or(&b""[..], |path| self.paths[path].as_bytes());
        // Code without a symbol has its address for a name.
        if (name.is_empty() || name == address) && !module.is_empty() {
            let address = hex(address.as_bytes()).unwrap_or(0);
            return self.names.module(module, address, self.options, sink);
        }
        let (file, line) = source.map_or((&b""[..], 0), |(path, line)| (self.paths[path].as_bytes(), line));
        let (module, kind) = (module_name(module), kind_of(module, b""));
        let place = Place { file, line, module, kind, ..Place::default() };
        let srcline = self.options.srcline;
        self.names.build_at(&place, sink, |out| {
            // Instruments demangles names, but leaves Rust's hash, and what `$` stands for.
            if has_rust_hash(name) {
                clean_symbol(name.as_bytes(), out)
            } else {
                sanitize_frame(name.as_bytes(), out)
            }
            if srcline && !file.is_empty() {
                out.extend_from_slice(b" (");
                sanitize_frame(file.rsplit(|&b| b == b'/').next().unwrap_or(file), out);
                out.extend_from_slice(format!(":{line})").as_bytes());
            }
        })
    }
}

/// The digits of a number. They are copied for each thread, and a file may hold any text in their place.
fn digits_of(text: &str) -> String {
    let is_number = text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit());
    if is_number { text.to_owned() } else { String::new() }
}

/// `core::fmt::write::h0123456789abcdef`
fn has_rust_hash(name: &str) -> bool {
    name.rsplit_once("::h")
        .is_some_and(|(_, hash)| hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// The elements that are needed.
enum Kind {
    Time,
    Weight,
    Pid,
    Tid,
    Process,
    Thread,
    Path,
    Binary,
    Source,
    Frame,
    Backtrace,
    Other,
}

fn kind(tag: &[u8]) -> Kind {
    match tag {
        b"sample-time" | b"start-time" | b"event-time" => Kind::Time,
        b"weight" => Kind::Weight,
        b"pid" => Kind::Pid,
        b"tid" => Kind::Tid,
        b"process" => Kind::Process,
        b"thread" => Kind::Thread,
        b"path" => Kind::Path,
        b"binary" => Kind::Binary,
        b"source" => Kind::Source,
        b"frame" => Kind::Frame,
        b"backtrace" | b"tagged-backtrace" => Kind::Backtrace,
        _ => Kind::Other,
    }
}

/// A reader that ends an element of XML which does not end.
pub struct Limited {
    inner: Reader,
    taken: usize,
    has_ended: bool,
}

impl Limited {
    /// Begins before the first element.
    pub fn new(inner: Reader) -> Limited {
        Limited { inner, taken: 0, has_ended: false }
    }

    /// The next element begins.
    pub fn begin(&mut self) {
        self.taken = 0;
    }

    /// Returns whether the input has ended.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }
}

impl BufRead for Limited {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken > MAX_RECORD {
            return Err(io::Error::other("an element of XML without an end"));
        }
        let bytes = self.inner.fill_buf()?;
        self.has_ended = bytes.is_empty();
        Ok(bytes)
    }

    fn consume(&mut self, amount: usize) {
        self.taken += amount;
        self.inner.consume(amount);
    }
}

impl Read for Limited {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(to)?;
        self.consume(n);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::StackTable;

    /// One megabyte of such elements must not become gigabytes of stacks and numbers.
    #[test]
    fn what_is_referred_to_is_kept_once() {
        let options = CollapseOptions::default();
        let mut elements = Elements::new(&options);
        let mut table = StackTable::default();
        let mut finish = |tag: &str, id, parts: Vec<Known>, text: &str| {
            let (tag, text, name) = (tag.as_bytes().to_vec(), text.to_owned(), Some("f".to_owned()));
            let element = Element { tag, id: Some(id), parts, text, name, ..Element::default() };
            elements.finish(element, &mut table).unwrap().unwrap()
        };
        let frame = finish("frame", 1, Vec::new(), "");
        let stack = finish("backtrace", 2, vec![frame], "");
        for id in 3..100 {
            finish("tagged-backtrace", id, vec![stack.clone()], "");
        }
        let pid = finish("pid", 200, Vec::new(), &"7".repeat(1000));
        assert!(matches!(pid, Known::Pid(pid) if pid.is_empty()));
        assert_eq!(elements.stacks.len(), 1);
    }
}
