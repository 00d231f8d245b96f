//! A recording that is read while it is made: the records go to another thread of this process, and are
//! gone once that has folded them.
//!
//! ```text
//! "PERFILE2" 16 │ attr │ features │ records … │ features
//! ```
//! This is how perf.data goes through a pipe; the features come again at the end, when the time of the last
//! sample is known. A bounded amount waits for the reader: then the writer waits, and the kernel counts
//! what its rings have no room for.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::data_file::{About, Feature, features};
use super::plan::Plan;
use crate::input::{Input, Source};
use crate::record::sys::perf_event::{ATTR_SIZE, record};

pub(super) use crate::collapse::formats::perf_data::Part;

/// The most bytes that wait for the reader: as much as all rings of most machines hold.
const MOST: usize = 64 << 20;

/// The first bytes of a recording in a pipe.
const HEAD: [u8; 16] = *b"PERFILE2\x10\0\0\0\0\0\0\0";

/// The records that are on their way.
#[derive(Debug, Default)]
struct Channel {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    pieces: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Nothing more is written.
    ended: bool,
    /// The reader is gone.
    unread: bool,
}

impl Channel {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, guard: MutexGuard<'a, Waiting>) -> MutexGuard<'a, Waiting> {
        self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of the sampler.
#[derive(Debug)]
pub struct Writer(Arc<Channel>);

/// The end of the thread that folds.
struct Reader {
    channel: Arc<Channel>,
    /// The piece that is being read, and how far.
    piece: Vec<u8>,
    at: usize,
}

/// Makes both ends; the recording can be opened once.
pub fn channel() -> (Writer, Source) {
    let channel = Arc::new(Channel::default());
    let reader = Reader { channel: channel.clone(), piece: Vec::new(), at: 0 };
    let input = Input::live("the recording", HEAD.to_vec(), Box::new(reader));
    (Writer(channel), Source::opened(input))
}

impl Writer {
    fn send(&self, piece: Vec<u8>) -> io::Result<()> {
        let mut waiting = self.0.lock();
        while waiting.bytes > MOST && !waiting.unread {
            waiting = self.0.wait(waiting);
        }
        if waiting.unread {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        waiting.bytes += piece.len();
        waiting.pieces.push_back(piece);
        self.0.changed.notify_all();
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_all();
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            let mut waiting = self.channel.lock();
            while waiting.pieces.is_empty() && !waiting.ended {
                waiting = self.channel.wait(waiting);
            }
            let Some(piece) = waiting.pieces.pop_front() else { return Ok(0) };
            waiting.bytes -= piece.len();
            self.channel.changed.notify_all();
            drop(waiting);
            (self.piece, self.at) = (piece, 0);
        }
        let rest = &self.piece[self.at..];
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        Ok(n)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut waiting = self.channel.lock();
        waiting.unread = true;
        waiting.pieces.clear();
        waiting.bytes = 0;
        self.channel.changed.notify_all();
    }
}

/// A recording being handed over.
#[derive(Debug)]
pub struct Stream {
    writer: Writer,
    plan: Plan,
    /// The identities of each event, if there are several.
    ids: Vec<Vec<u64>>,
    /// The records since the last piece was sent: one round is one piece.
    round: Vec<u8>,
    is_described: bool,
}

/// The identities of an event that one record holds.
const MOST_IDS: usize = 4000;

/// One identity of each event: enough to tell whose name it is.
fn first_ids(ids: &[Vec<u64>]) -> Vec<Vec<u64>> {
    ids.iter().map(|ids| ids.iter().take(1).copied().collect()).collect()
}

/// The size of a round from which on it is sent in pieces.
const PIECE: usize = 1 << 20;

impl Stream {
    /// Begins a recording by a plan.
    pub fn new(writer: Writer, plan: &Plan, ids: &[Vec<u64>]) -> Stream {
        // One event needs no numbers.
        let ids = if plan.events.len() > 1 { ids.to_vec() } else { Vec::new() };
        Stream { writer, plan: plan.clone(), ids, round: Vec::new(), is_described: false }
    }

    /// Says what is recorded, and on which machine: before the first record, and again at the end.
    ///
    /// # Errors
    /// The reader is gone.
    pub fn describe(&mut self, about: &About, times: (u64, u64)) -> io::Result<()> {
        if !self.is_described {
            self.describe_events();
            self.is_described = true;
        }
        for (feature, content) in features(&self.plan, &first_ids(&self.ids), about, times, None) {
            let body = [&(feature as u64).to_ne_bytes()[..], &content].concat();
            // A command line of more than 64 kB; those who read this know it anyway.
            if body.len() < 0xfff0 {
                put(record::HEADER_FEATURE, &body, &mut self.round);
            }
        }
        self.send()
    }

    /// The events with their identities. A record has room for some thousands; more follow in descriptions
    /// of the same event, each of which begins with an identity that is known by then.
    fn describe_events(&mut self) {
        for number in 0..self.plan.events.len() {
            let attr = self.plan.attr_of(number).to_bytes();
            let ids = self.ids.get(number).map_or(&[][..], Vec::as_slice);
            let (first, rest) = ids.split_at(ids.len().min(MOST_IDS));
            let numbers = |ids: &[u64]| ids.iter().flat_map(|id| id.to_ne_bytes()).collect::<Vec<u8>>();
            put(record::HEADER_ATTR, &[&attr[..], &numbers(first)].concat(), &mut self.round);
            for more in rest.chunks(MOST_IDS) {
                let all = [&first[..1], more].concat();
                let count = u32::try_from(all.len()).expect("some thousands");
                let content = [
                    &1u32.to_ne_bytes()[..],
                    &ATTR_SIZE.to_ne_bytes(),
                    &attr,
                    &count.to_ne_bytes(),
                    // The name follows with the others.
                    &0u32.to_ne_bytes(),
                    &numbers(&all),
                ]
                .concat();
                let body = [&(Feature::Events as u64).to_ne_bytes()[..], &content].concat();
                put(record::HEADER_FEATURE, &body, &mut self.round);
            }
        }
    }

    /// Ends a part.
    ///
    /// # Errors
    /// The reader is gone.
    pub(super) fn end_part(&mut self, part: Part) -> io::Result<()> {
        put(record::PART, &part.to_bytes(), &mut self.round);
        self.send()
    }

    /// Appends whole records, or the parts of one.
    ///
    /// # Errors
    /// The reader is gone.
    pub fn append(&mut self, records: &[u8]) -> io::Result<()> {
        self.round.extend_from_slice(records);
        if self.round.len() > PIECE { self.send() } else { Ok(()) }
    }

    /// Hands over what was appended.
    ///
    /// # Errors
    /// The reader is gone.
    pub fn send(&mut self) -> io::Result<()> {
        if self.round.is_empty() {
            return Ok(());
        }
        self.writer.send(std::mem::take(&mut self.round))
    }
}

fn put(kind: u32, body: &[u8], records: &mut Vec<u8>) {
    let size = (8 + body.len()).next_multiple_of(8);
    records.extend(kind.to_ne_bytes());
    records.extend([0, 0]);
    records.extend(u16::try_from(size).expect("checked by those who call").to_ne_bytes());
    records.extend_from_slice(body);
    records.resize(records.len() + size - 8 - body.len(), 0);
}

#[cfg(test)]
mod tests {
    use super::super::counted::Counted;
    use super::super::pieces::Pieces;
    use super::*;
    use crate::reading::{self, ReadOptions};
    use crate::record::request::{CallGraph, Invocation, Rate, Request, Target};
    use crate::record::sys::signals::Stop;

    fn folded(source: Source) -> String {
        let options = ReadOptions::default().format("perf-data");
        let (profile, _) = reading::read(&[source], &options).expect("it can be read");
        let mut folded = Vec::new();
        profile.write_folded(&mut folded).expect("it can be written");
        let folded = String::from_utf8(folded).expect("text");
        // What no sample stands for is added when the program has ended.
        let is_stack = |line: &&str| !line.starts_with("# ") && !line.contains("[not sampled]");
        folded.lines().filter(is_stack).map(|line| format!("{line}\n")).collect()
    }

    /// A recording into a file, and the same records handed over, give the same stacks.
    #[test]
    fn a_file_and_a_stream_fold_alike() {
        let words =
            ["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; (ls / >/dev/null); sleep 0.05"];
        let arguments = words.into_iter().map(Into::into).collect();
        let shell = Invocation { program: "sh".into(), arguments, ..Invocation::default() };
        let request = Request {
            rate: Rate::PerSecond(1999),
            // Of this size some stacks are cut.
            call_graph: CallGraph::Dwarf(1024),
            ..Request::new(Target::Command(shell))
        };
        let stop = Stop::install().expect("signals");
        let file = tempfile::tempfile().expect("a file");
        let copy = file.try_clone().expect("a file");
        let outcome = match super::super::record(&request, copy, &stop, &mut |_| {}) {
            Ok(outcome) => outcome,
            Err(refusal) => return eprintln!("skipped: {refusal}"),
        };
        let input = Source::file("the file", file.try_clone().expect("a file"));
        let bytes = input.open().and_then(Input::read_all).expect("it can be read");
        let number = |at: usize| u64::from_ne_bytes(*bytes[at..].first_chunk().expect("a number")) as usize;
        let records = &bytes[number(40)..number(40) + number(48)];
        let (writer, source) = channel();
        let about = super::super::about(&outcome.plan, &[0]);
        let stacks = std::thread::scope(|scope| {
            let live = scope.spawn(|| folded(source));
            let mut stream = Stream::new(writer, &outcome.plan, &[]);
            stream.describe(&about, (0, 0)).expect("it is read");
            for piece in records.chunks(100_001) {
                stream.append(piece).and_then(|()| stream.send()).expect("it is read");
            }
            let times = Counted::of(Pieces(records, &[])).times.unwrap_or_default();
            stream.describe(&about, times).expect("it is read");
            drop(stream);
            live.join().expect("it folds")
        });
        assert!(stacks.lines().count() > 3, "{stacks}");
        assert_eq!(stacks, folded(input));
    }

    #[test]
    fn bytes_arrive_in_order_and_an_end_is_seen_from_both_sides() {
        let channel = Arc::new(Channel::default());
        let writer = Writer(channel.clone());
        let mut reader = Reader { channel, piece: Vec::new(), at: 0 };
        let all: Vec<u8> = (0..100_000u32).flat_map(u32::to_ne_bytes).collect();
        let read = std::thread::scope(|scope| {
            scope.spawn(|| {
                let writer = writer;
                all.chunks(777).for_each(|piece| writer.send(piece.to_vec()).unwrap());
            });
            let mut read = Vec::new();
            reader.read_to_end(&mut read).unwrap();
            read
        });
        assert!(read == all);
        let writer = Writer(reader.channel.clone());
        drop(reader);
        assert_eq!(writer.send(vec![1]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_writer_that_is_too_fast_waits() {
        let channel = Arc::new(Channel::default());
        let writer = Writer(channel.clone());
        let mut reader = Reader { channel: channel.clone(), piece: Vec::new(), at: 0 };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let writer = writer;
                (0..10).for_each(|_| writer.send(vec![0; MOST / 4]).unwrap());
            });
            let mut buffer = vec![0; 1 << 20];
            let mut total = 0;
            loop {
                assert!(channel.lock().bytes <= MOST + MOST / 4);
                match reader.read(&mut buffer).unwrap() {
                    0 => break,
                    n => total += n,
                }
            }
            assert_eq!(total, 10 * (MOST / 4));
        });
    }
}
