//! A writer of perf.data, for recordings that no perf would make on demand: of other machines, of
//! events that are hard to have, damaged ones.

use std::collections::BTreeMap;

/// Fields of a sample.
pub const IP: u64 = 1 << 0;
pub const TID: u64 = 1 << 1;
pub const TIME: u64 = 1 << 2;
pub const READ: u64 = 1 << 4;
pub const CALLCHAIN: u64 = 1 << 5;
pub const ID: u64 = 1 << 6;
pub const PERIOD: u64 = 1 << 8;
pub const RAW: u64 = 1 << 10;
pub const BRANCH_STACK: u64 = 1 << 11;
pub const REGS_USER: u64 = 1 << 12;
pub const STACK_USER: u64 = 1 << 13;
pub const IDENTIFIER: u64 = 1 << 16;
pub const CGROUP: u64 = 1 << 21;

/// Marks in call chains.
pub const KERNEL: u64 = -128i64 as u64;
pub const USER: u64 = -512i64 as u64;
pub const USER_DEFERRED: u64 = -640i64 as u64;

/// The fields of samples unless a test chooses others.
pub const USUAL: u64 = IP | TID | TIME | CALLCHAIN | PERIOD | IDENTIFIER;

/// An event.
#[derive(Clone)]
pub struct Event {
    pub kind: u32,
    pub config: u64,
    pub fields: u64,
    pub name: &'static str,
    pub period: u64,
    pub branches: u64,
    pub registers: u64,
    /// The number of bytes of the stack that are asked for; 0 is unknown.
    pub dump: u32,
    /// True if the kernel writes a record at each context switch.
    pub switches: bool,
    /// True if the user's part of call chains may come later.
    pub defers: bool,
    /// 4 names the counters that are read, 8 reads a group of them.
    pub read_format: u64,
}

impl Default for Event {
    /// cpu-clock with call chains.
    fn default() -> Self {
        Event {
            kind: 1,
            config: 0,
            fields: USUAL,
            name: "cpu-clock",
            period: 0,
            branches: 0,
            registers: 0,
            dump: 0,
            switches: false,
            defers: false,
            read_format: 0,
        }
    }
}

/// The layout of a recording.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub big_endian: bool,
    pub pipe: bool,
    /// Records go into one zstd frame, cut into pieces.
    pub compressed: bool,
}

pub const PLAIN: Style = Style { big_endian: false, pipe: false, compressed: false };

/// A sample; values whose field is not in the event's set are not written.
#[derive(Clone, Default)]
pub struct Sample {
    pub event: usize,
    pub pid: i32,
    pub tid: i32,
    pub time: u64,
    pub ip: u64,
    pub period: u64,
    /// The counts so far of each event of a group.
    pub counters: Vec<(usize, u64)>,
    pub chain: Vec<u64>,
    /// From, to.
    pub branches: Vec<(u64, u64)>,
    pub registers: Vec<u64>,
    pub stack: Vec<u8>,
    /// The data of a tracepoint; a default if a test does not set it.
    pub raw: Vec<u8>,
    /// The number of the control group.
    pub cgroup: u64,
    /// The size of the part of the stack that was in use; `None` means all of it.
    pub used: Option<u64>,
    /// 1 is the kernel, 2 is user space.
    pub mode: u16,
}

/// A recording being put together.
pub struct Recording {
    pub style: Style,
    events: Vec<Event>,
    records: Vec<Vec<u8>>,
    build_ids: Vec<(String, Vec<u8>)>,
    arch: &'static str,
    /// Other features of the header, by number.
    features: BTreeMap<u32, Vec<u8>>,
}

impl Recording {
    pub fn new(style: Style, events: &[Event]) -> Recording {
        Recording {
            style,
            events: events.to_vec(),
            records: Vec::new(),
            build_ids: Vec::new(),
            arch: "x86_64",
            features: BTreeMap::new(),
        }
    }

    pub fn arch(&mut self, arch: &'static str) {
        self.arch = arch;
    }

    pub fn build_id(&mut self, path: &str, id: &[u8]) {
        self.build_ids.push((path.to_owned(), id.to_vec()));
    }

    /// A feature of the header that is one text: 3 host, 4 release, 5 version.
    pub fn feature_text(&mut self, number: u32, text: &str) {
        let mut out = self.out();
        out.counted_text(text);
        self.features.insert(number, out.bytes);
    }

    /// The kernel's descriptions of tracepoints.
    pub fn tracing_data(&mut self, text: &str) {
        self.features.insert(1, text.as_bytes().to_vec());
    }

    /// A control group is made.
    pub fn cgroup(&mut self, time: u64, id: u64, path: &str) {
        let mut out = self.out();
        out.u64(id).text(path.as_bytes());
        self.trailer(&mut out, 0, 0, time);
        self.push(19, 0, out);
    }

    /// The recorder's command line.
    pub fn command_line(&mut self, words: &[&str]) {
        let mut out = self.out();
        out.u32(words.len() as u32);
        words.iter().for_each(|word| {
            out.counted_text(word);
        });
        self.features.insert(11, out.bytes);
    }

    /// The time since 1970 and on the recording's clock of one moment.
    pub fn clock_reference(&mut self, wall: u64, clock: u64) {
        let mut out = self.out();
        out.u32(1).u32(1).u64(wall).u64(clock);
        self.features.insert(29, out.bytes);
    }

    /// The times of the first and the last sample.
    pub fn sample_times(&mut self, first: u64, last: u64) {
        let mut out = self.out();
        out.u64(first).u64(last);
        self.features.insert(21, out.bytes);
    }

    fn out(&self) -> Out {
        Out { bytes: Vec::new(), big: self.style.big_endian }
    }

    fn push(&mut self, kind: u32, misc: u16, body: Out) {
        let record = self.record(kind, misc, body);
        self.records.push(record);
    }

    fn record(&self, kind: u32, misc: u16, body: Out) -> Vec<u8> {
        let mut out = self.out();
        out.u32(kind).u16(misc).u16(u16::try_from(body.bytes.len() + 8).expect("a record is short"));
        out.bytes.extend(body.bytes);
        out.bytes
    }

    /// Any record, as it is.
    pub fn raw(&mut self, kind: u32, body: &[u8]) {
        let mut out = self.out();
        out.bytes.extend_from_slice(body);
        self.push(kind, 0, out);
    }

    /// Writes the sample id fields that follow records other than samples.
    fn trailer(&self, out: &mut Out, pid: i32, tid: i32, time: u64) {
        let fields = self.events[0].fields;
        if fields & TID != 0 {
            out.u32(pid as u32).u32(tid as u32);
        }
        if fields & TIME != 0 {
            out.u64(time);
        }
        for field in [ID, IDENTIFIER] {
            if fields & field != 0 {
                out.u64(id_of(0));
            }
        }
    }

    pub fn mmap(&mut self, pid: i32, time: u64, start: u64, len: u64, offset: u64, path: &str) {
        self.mmap_of(pid, time, start, len, offset, path, if pid == -1 { 1 } else { 2 }, true);
    }

    #[allow(clippy::too_many_arguments)]
    pub fn mmap_of(
        &mut self,
        pid: i32,
        time: u64,
        start: u64,
        len: u64,
        offset: u64,
        path: &str,
        misc: u16,
        executable: bool,
    ) {
        let mut out = self.out();
        out.u32(pid as u32).u32(pid as u32).u64(start).u64(len).u64(offset);
        out.u32(8).u32(1).u64(77).u64(0).u32(if executable { 5 } else { 3 }).u32(2);
        out.text(path.as_bytes());
        self.trailer(&mut out, pid, pid, time);
        self.push(10, misc, out);
    }

    /// The older record, without protection.
    pub fn mmap1(&mut self, pid: i32, time: u64, start: u64, len: u64, offset: u64, path: &str) {
        let mut out = self.out();
        out.u32(pid as u32).u32(pid as u32).u64(start).u64(len).u64(offset);
        out.text(path.as_bytes());
        self.trailer(&mut out, pid, pid, time);
        self.push(1, 2, out);
    }

    pub fn comm(&mut self, pid: i32, tid: i32, time: u64, name: &[u8], exec: bool) {
        let mut out = self.out();
        out.u32(pid as u32).u32(tid as u32).text(name);
        self.trailer(&mut out, pid, tid, time);
        self.push(3, if exec { 1 << 13 } else { 0 }, out);
    }

    pub fn fork(&mut self, time: u64, parent: (i32, i32), child: (i32, i32)) {
        let mut out = self.out();
        out.u32(child.0 as u32).u32(parent.0 as u32).u32(child.1 as u32).u32(parent.1 as u32).u64(time);
        self.trailer(&mut out, child.0, child.1, time);
        self.push(7, 0, out);
    }

    /// A thread has left its processor, or is back.
    pub fn switch(&mut self, tid: i32, time: u64, misc: u16) {
        let mut out = self.out();
        self.trailer(&mut out, tid, tid, time);
        self.push(14, misc, out);
    }

    /// An event samples no more, or again.
    pub fn throttle(&mut self, event: usize, time: u64, is_on: bool) {
        let mut out = self.out();
        out.u64(time).u64(id_of(event)).u64(id_of(event));
        self.trailer(&mut out, 0, 0, time);
        self.push(if is_on { 5 } else { 6 }, 0, out);
    }

    /// The user's part of the call chains of samples before.
    pub fn user_chain(&mut self, tid: i32, time: u64, cookie: u64, chain: &[u64]) {
        let mut out = self.out();
        out.u64(cookie).u64(chain.len() as u64);
        chain.iter().for_each(|ip| {
            out.u64(*ip);
        });
        self.trailer(&mut out, tid, tid, time);
        self.push(22, 0, out);
    }

    pub fn exit(&mut self, tid: i32, time: u64) {
        let mut out = self.out();
        out.u32(tid as u32).u32(1).u32(tid as u32).u32(1).u64(time);
        self.trailer(&mut out, tid, tid, time);
        self.push(4, 0, out);
    }

    pub fn lost(&mut self, count: u64) {
        let mut out = self.out();
        out.u64(id_of(0)).u64(count);
        self.trailer(&mut out, 0, 0, 0);
        self.push(2, 0, out);
    }

    pub fn finish_round(&mut self) {
        let out = self.out();
        self.push(68, 0, out);
    }

    pub fn sample(&mut self, sample: &Sample) {
        let event = &self.events[sample.event];
        let mut out = self.out();
        let has = |field| event.fields & field != 0;
        if has(IDENTIFIER) {
            out.u64(id_of(sample.event));
        }
        if has(IP) {
            out.u64(sample.ip);
        }
        if has(TID) {
            out.u32(sample.pid as u32).u32(sample.tid as u32);
        }
        if has(TIME) {
            out.u64(sample.time);
        }
        if has(ID) {
            out.u64(id_of(sample.event));
        }
        if has(PERIOD) {
            out.u64(sample.period);
        }
        if has(READ) {
            out.u64(sample.counters.len() as u64);
            for (event, value) in &sample.counters {
                out.u64(*value).u64(id_of(*event));
            }
        }
        if has(CALLCHAIN) {
            out.u64(sample.chain.len() as u64);
            sample.chain.iter().for_each(|ip| {
                out.u64(*ip);
            });
        }
        if has(RAW) {
            if sample.raw.is_empty() {
                out.u32(12).u32(1).u64(2);
            } else {
                out.u32(sample.raw.len() as u32).bytes.extend_from_slice(&sample.raw);
            }
        }
        if has(BRANCH_STACK) {
            out.u64(sample.branches.len() as u64);
            for (from, to) in &sample.branches {
                out.u64(*from).u64(*to).u64(0);
            }
        }
        if has(REGS_USER) {
            out.u64(if sample.registers.is_empty() { 0 } else { 2 });
            sample.registers.iter().for_each(|value| {
                out.u64(*value);
            });
        }
        if has(STACK_USER) {
            out.u64(sample.stack.len() as u64);
            if !sample.stack.is_empty() {
                out.bytes.extend_from_slice(&sample.stack);
                out.u64(sample.used.unwrap_or(sample.stack.len() as u64));
            }
        }
        if has(CGROUP) {
            out.u64(sample.cgroup);
        }
        self.push(9, if sample.mode == 0 { 2 } else { sample.mode }, out);
    }

    /// The attribute of an event.
    fn attr(&self, event: &Event) -> Vec<u8> {
        let mut out = self.out();
        out.u32(event.kind).u32(ATTR_SIZE as u32).u64(event.config);
        out.u64(if event.period > 0 { event.period } else { 999 }).u64(event.fields).u64(event.read_format);
        let frequency = u64::from(event.period == 0) << 10;
        let flags = 1u64 << 18 | frequency | u64::from(event.switches) << 26 | u64::from(event.defers) << 38;
        out.u64(if self.style.big_endian { flags.reverse_bits() } else { flags });
        out.u64(0).u64(0).u64(0).u64(event.branches).u64(event.registers);
        out.u32(event.dump).u32(0).u64(0).u32(0).u32(0);
        assert_eq!(out.bytes.len(), ATTR_SIZE);
        out.bytes
    }

    /// The offset of the end of each record, in a recording written as a plain file.
    pub fn ends(&self) -> Vec<usize> {
        let mut at = self.header_size();
        self.records
            .iter()
            .map(|record| {
                at += record.len();
                at
            })
            .collect()
    }

    fn header_size(&self) -> usize {
        104 + self.events.len() * (ATTR_SIZE + 16 + 8)
    }

    /// The records alone, as `data.0` of a folder has them.
    pub fn records(&self) -> Vec<u8> {
        self.records.concat()
    }

    /// The recording.
    pub fn bytes(&self) -> Vec<u8> {
        if self.style.pipe { self.pipe() } else { self.file() }
    }

    fn data(&self) -> Vec<u8> {
        if !self.style.compressed {
            return self.records.concat();
        }
        // All but the marks of rounds, which perf leaves outside, is one frame.
        let plain: Vec<u8> =
            self.records.iter().filter(|record| !is_round(record, self.style)).flatten().copied().collect();
        let frame =
            ruzstd::encoding::compress_to_vec(&plain[..], ruzstd::encoding::CompressionLevel::Fastest);
        let mut data = Vec::new();
        for piece in frame.chunks(1000) {
            let mut out = self.out();
            out.bytes.extend_from_slice(piece);
            data.extend(self.record(81, 0, out));
            data.extend(self.record(68, 0, self.out()));
        }
        data
    }

    fn pipe(&self) -> Vec<u8> {
        let mut out = self.out();
        out.magic().u64(16);
        for (n, event) in self.events.iter().enumerate() {
            let mut body = self.out();
            body.bytes.extend(self.attr(event));
            body.u64(id_of(n));
            out.bytes.extend(self.record(64, 0, body));
            let mut name = self.out();
            name.u64(2).u64(id_of(n)).text(event.name.as_bytes());
            out.bytes.extend(self.record(78, 0, name));
        }
        let mut arch = self.out();
        arch.u64(6).counted_text(self.arch);
        out.bytes.extend(self.record(80, 0, arch));
        for (number, content) in &self.features {
            let mut body = self.out();
            body.u64(u64::from(*number)).bytes.extend(content);
            out.bytes.extend(self.record(80, 0, body));
        }
        // Followed by bytes that are in no record.
        let mut tracing = self.out();
        tracing.u32(5);
        out.bytes.extend(self.record(66, 0, tracing));
        out.bytes.extend([0xff; 8]);
        for (path, id) in &self.build_ids {
            out.bytes.extend(self.build_id_record(path, id));
        }
        out.bytes.extend(self.data());
        out.bytes
    }

    fn build_id_record(&self, path: &str, id: &[u8]) -> Vec<u8> {
        let mut body = self.out();
        body.u32(u32::MAX).bytes.extend(id);
        body.bytes.resize(4 + 20, 0);
        body.bytes.extend([id.len() as u8, 0, 0, 0]);
        body.text(path.as_bytes());
        self.record(67, 1 << 15 | 2, body)
    }

    fn file(&self) -> Vec<u8> {
        let data = self.data();
        let mut out = self.out();
        let ids_at = 104;
        let attrs_at = ids_at + 8 * self.events.len();
        let attrs_size = self.events.len() * (ATTR_SIZE + 16);
        out.magic().u64(104).u64(ATTR_SIZE as u64 + 16);
        out.u64(attrs_at as u64).u64(attrs_size as u64);
        out.u64(self.header_size() as u64).u64(data.len() as u64);
        out.u64(0).u64(0);
        let bits = self.features.keys().fold(1u64 << 2 | 1 << 6 | 1 << 12, |bits, number| bits | 1 << number);
        out.u64(bits).u64(0).u64(0).u64(0);
        (0..self.events.len()).for_each(|n| {
            out.u64(id_of(n));
        });
        for (n, event) in self.events.iter().enumerate() {
            out.bytes.extend(self.attr(event));
            out.u64((ids_at + 8 * n) as u64).u64(8);
        }
        assert_eq!(out.bytes.len(), self.header_size());
        out.bytes.extend(data);
        let mut arch = self.out();
        arch.counted_text(self.arch);
        let mut names = self.out();
        names.u32(self.events.len() as u32).u32(ATTR_SIZE as u32);
        for (n, event) in self.events.iter().enumerate() {
            names.bytes.extend(self.attr(event));
            names.u32(1).counted_text(event.name).u64(id_of(n));
        }
        let build_ids: Vec<u8> =
            self.build_ids.iter().flat_map(|(path, id)| self.build_id_record(path, id)).collect();
        let mut parts = self.features.clone();
        parts.extend([(2, build_ids), (6, arch.bytes), (12, names.bytes)]);
        let mut at = out.bytes.len() + parts.len() * 16;
        for part in parts.values() {
            out.u64(at as u64).u64(part.len() as u64);
            at += part.len();
        }
        parts.into_values().for_each(|part| out.bytes.extend(part));
        out.bytes
    }
}

/// Version 5 of the attribute.
const ATTR_SIZE: usize = 112;

fn id_of(event: usize) -> u64 {
    1000 + event as u64
}

fn is_round(record: &[u8], style: Style) -> bool {
    record[..4] == if style.big_endian { 68u32.to_be_bytes() } else { 68u32.to_le_bytes() }
}

/// Bytes in one order or the other.
pub struct Out {
    pub bytes: Vec<u8>,
    big: bool,
}

impl Out {
    fn magic(&mut self) -> &mut Self {
        self.bytes.extend(if self.big { b"2ELIFREP" } else { b"PERFILE2" });
        self
    }

    fn u16(&mut self, n: u16) -> &mut Self {
        self.bytes.extend(if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
        self
    }

    fn u32(&mut self, n: u32) -> &mut Self {
        self.bytes.extend(if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
        self
    }

    fn u64(&mut self, n: u64) -> &mut Self {
        self.bytes.extend(if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
        self
    }

    /// Padded to eight bytes, with at least one zero.
    fn text(&mut self, text: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(text);
        self.bytes.push(0);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self
    }

    fn counted_text(&mut self, text: &str) -> &mut Self {
        let size = (text.len() + 1).next_multiple_of(64);
        self.u32(size as u32);
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.resize(self.bytes.len() + size - text.len(), 0);
        self
    }
}
