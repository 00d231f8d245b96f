//! The records that are read here, taken apart; the kernel's `include/uapi/linux/perf_event.h` and
//! perf's `tools/lib/perf/include/perf/event.h` specify them.

use super::attr::{Attr, sample};
use crate::bytes::{ByteOrder, Cursor, U64s};

/// The types of records.
pub(super) mod kind {
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const EXIT: u32 = 4;
    pub const THROTTLE: u32 = 5;
    pub const UNTHROTTLE: u32 = 6;
    pub const FORK: u32 = 7;
    pub const READ: u32 = 8;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
    pub const LOST_SAMPLES: u32 = 13;
    pub const SWITCH: u32 = 14;
    pub const SWITCH_CPU_WIDE: u32 = 15;
    pub const KSYMBOL: u32 = 17;
    pub const CGROUP: u32 = 19;
    pub const CALLCHAIN_DEFERRED: u32 = 22;
    pub const ATTR: u32 = 64;
    pub const TRACING_DATA: u32 = 66;
    pub const BUILD_ID: u32 = 67;
    pub const FINISHED_ROUND: u32 = 68;
    pub const AUXTRACE: u32 = 71;
    pub const EVENT_UPDATE: u32 = 78;
    pub const FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED2: u32 = 83;
    /// The end of a part, of a recording that is made by this very process.
    pub const PART: u32 = 0x6667_0001;
    /// A message on an interpreter of Python, of a recording that is made by this very process.
    pub const PYTHON: u32 = 0x6667_0002;
}

/// The mode of the processor when a record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// In a program.
    User,
    /// In the kernel.
    Kernel,
    /// In a virtual machine or its host, of whose memory nothing is known.
    Other,
}

/// The flag of a program's first command name.
const COMM_EXEC: u16 = 1 << 13;
/// The flag of a mapping that comes with its build id, in the place of device and inode.
const MMAP_BUILD_ID: u16 = 1 << 14;
/// The flag of a build id that comes with its size.
const BUILD_ID_SIZE: u16 = 1 << 15;

/// A record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub kind: u32,
    pub misc: u16,
    /// The size of the whole record with this header.
    pub size: u16,
}

impl Header {
    pub const SIZE: usize = 8;

    pub fn parse(bytes: &[u8], order: ByteOrder) -> Option<Header> {
        let mut fields = Cursor::new(bytes, order);
        Some(Header { kind: fields.u32()?, misc: fields.u16()?, size: fields.u16()? })
    }

    pub fn mode(&self) -> Mode {
        match self.misc & 7 {
            1 => Mode::Kernel,
            2 => Mode::User,
            _ => Mode::Other,
        }
    }
}

/// The fields that every sample has at the same place, and where the others begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SampleHead {
    pub ip: u64,
    pub pid: i32,
    pub tid: i32,
    pub time: Option<u64>,
    pub processor: Option<u32>,
    pub id: Option<u64>,
    pub period: Option<u64>,
    /// In the bytes behind the record's header.
    pub len: usize,
}

impl SampleHead {
    /// Reads what follows a record's header.
    pub fn parse(body: &[u8], order: ByteOrder, attr: &Attr) -> Option<SampleHead> {
        let mut fields = Cursor::new(body, order);
        let mut head = SampleHead { pid: -1, tid: -1, ..SampleHead::default() };
        if attr.has(sample::IDENTIFIER) {
            head.id = Some(fields.u64()?);
        }
        if attr.has(sample::IP) {
            head.ip = fields.u64()?;
        }
        if attr.has(sample::TID) {
            (head.pid, head.tid) = (fields.i32()?, fields.i32()?);
        }
        if attr.has(sample::TIME) {
            head.time = Some(fields.u64()?);
        }
        if attr.has(sample::ADDR) {
            fields.skip(8)?;
        }
        if attr.has(sample::ID) {
            head.id = Some(fields.u64()?);
        }
        if attr.has(sample::STREAM_ID) {
            fields.skip(8)?;
        }
        if attr.has(sample::CPU) {
            head.processor = Some(fields.u32()?);
            fields.skip(4)?;
        }
        if attr.has(sample::PERIOD) {
            head.period = Some(fields.u64()?);
        }
        head.len = body.len() - fields.rest().len();
        Some(head)
    }
}

/// The time at which a record other than a sample was written; `None` if it does not say.
pub(super) fn time_of(body: &[u8], order: ByteOrder, attr: &Attr) -> Option<u64> {
    Cursor::new(&body[time_at(body, attr)?..], order).u64()
}

fn time_at(body: &[u8], attr: &Attr) -> Option<usize> {
    if !attr.sample_id_all || !attr.has(sample::TIME) {
        return None;
    }
    // Behind everything else stand those of these fields that samples have, too.
    let behind = [sample::ID, sample::STREAM_ID, sample::CPU, sample::IDENTIFIER];
    let from_end = 8 * (1 + behind.into_iter().filter(|field| attr.has(*field)).count());
    body.len().checked_sub(from_end)
}

/// The process and the thread that a record other than a sample was written for: before the [time](time_of).
fn thread_of(body: &[u8], order: ByteOrder, attr: &Attr) -> Option<(i32, i32)> {
    if !attr.has(sample::TID) {
        return None;
    }
    let at = time_at(body, attr)?.checked_sub(8)?;
    let mut fields = Cursor::new(&body[at..], order);
    Some((fields.i32()?, fields.i32()?))
}

/// The user's part of a call chain, which the kernel has found when the thread went back to its program: the part
/// of all its samples with the same cookie, which are from one stay in the kernel.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct UserChain<'a> {
    /// The thread.
    pub tid: i32,
    /// The cookie, which stands in the samples behind the mark [`USER_DEFERRED`].
    pub cookie: u64,
    /// Addresses, leaf first, behind the kernel's mark for user space.
    pub chain: U64s<'a>,
}

/// The mark in a call chain that the user's part follows later: behind it stands a cookie.
pub(super) const USER_DEFERRED: u64 = -640i64 as u64;

impl<'a> UserChain<'a> {
    pub(super) fn parse(body: &'a [u8], order: ByteOrder, attr: &Attr) -> Option<UserChain<'a>> {
        let (_, tid) = thread_of(body, order, attr)?;
        let mut fields = Cursor::new(body, order);
        let (cookie, count) = (fields.u64()?, fields.u64()?);
        Some(UserChain { tid, cookie, chain: fields.u64s(count)? })
    }
}

/// The cookie of a call chain whose user's part follows later.
pub(super) fn cookie_of(chain: U64s<'_>) -> Option<u64> {
    let mark = chain.len().checked_sub(2)?;
    chain.get(mark + 1).filter(|_| chain.get(mark) == Some(USER_DEFERRED))
}

/// A thread has left its processor, or is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Switched {
    /// The process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// It has left.
    pub out: bool,
    /// It was able to go on when it left.
    pub preempted: bool,
}

impl Switched {
    /// The thread stands at the record's end, before the [time](time_of).
    pub(super) fn parse(header: Header, body: &[u8], order: ByteOrder, attr: &Attr) -> Option<Switched> {
        const OUT: u16 = 1 << 13;
        const PREEMPTED: u16 = 1 << 14;
        let (pid, tid) = thread_of(body, order, attr)?;
        Some(Switched { pid, tid, out: header.misc & OUT != 0, preempted: header.misc & PREEMPTED != 0 })
    }
}

/// An event that is sampled no more, since it came too often, or that is sampled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Throttled {
    /// The identity that the kernel has given to the event.
    pub id: u64,
    /// It is sampled no more.
    pub is_on: bool,
}

impl Throttled {
    /// The identity stands behind the time.
    pub(super) fn parse(header: Header, body: &[u8], order: ByteOrder) -> Option<Throttled> {
        let mut fields = Cursor::new(body, order);
        fields.skip(8)?;
        Some(Throttled { id: fields.u64()?, is_on: header.kind == kind::THROTTLE })
    }
}

/// The count of an event, of all threads that were recorded, since the count before: fg-record notes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventCount {
    /// The identity that the kernel has given to the event.
    pub id: u64,
    /// The count.
    pub value: u64,
}

impl EventCount {
    /// Counts of single threads, which perf asks for, are none of all.
    pub(super) fn parse(body: &[u8], order: ByteOrder) -> Option<EventCount> {
        let mut fields = Cursor::new(body, order);
        if (fields.i32()?, fields.i32()?) != (-1, -1) {
            return None;
        }
        let value = fields.u64()?;
        let id = body.len().checked_sub(8).filter(|at| *at > 16)?;
        Some(EventCount { id: Cursor::new(&body[id..], order).u64()?, value })
    }
}

/// A part of a process's memory that is backed by a file or has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mmap<'a> {
    /// The process; -1 is the kernel.
    pub pid: i32,
    /// The first address.
    pub start: u64,
    /// The size in bytes.
    pub len: u64,
    /// The offset of the first byte in the file.
    pub offset: u64,
    /// The file, or a name such as `[vdso]` and `//anon`.
    pub path: &'a [u8],
    /// The identity of the file's build.
    pub build_id: Option<&'a [u8]>,
    /// The file's place on its disk, if the record does not have its build.
    pub file: Option<FileId>,
    /// The memory may be executed.
    pub executable: bool,
}

/// A file's place on its disk, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The device, major and minor number.
    pub device: (u32, u32),
    /// The number on the device.
    pub inode: u64,
}

impl<'a> Mmap<'a> {
    pub(super) fn parse(header: Header, body: &'a [u8], order: ByteOrder) -> Option<Mmap<'a>> {
        const PROT_EXEC: u32 = 4;
        /// The flag of the older record for data.
        const MMAP_DATA: u16 = 1 << 13;
        let mut fields = Cursor::new(body, order);
        let (pid, _tid) = (fields.i32()?, fields.i32()?);
        let (start, len, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (mut build_id, mut file) = (None, None);
        let mut executable = header.misc & MMAP_DATA == 0;
        if header.kind == kind::MMAP2 {
            let mut identity = Cursor::new(fields.take(24)?, order);
            if header.misc & MMAP_BUILD_ID != 0 {
                let size = usize::from(identity.u8()?);
                identity.skip(3)?;
                build_id = identity.take(size.min(20)).filter(|id| !id.is_empty());
            } else {
                let device = (identity.u32()?, identity.u32()?);
                file = identity.u64().filter(|inode| *inode > 0).map(|inode| FileId { device, inode });
            }
            executable = fields.u32()? & PROT_EXEC != 0;
            let _flags = fields.u32()?;
        }
        Some(Mmap { pid, start, len, offset, path: fields.text(), build_id, file, executable })
    }
}

/// A thread's new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comm<'a> {
    /// The process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// Another program was started: nothing of the old one's memory is left.
    pub exec: bool,
    /// The name, of at most fifteen bytes.
    pub name: &'a [u8],
}

impl<'a> Comm<'a> {
    pub(super) fn parse(header: Header, body: &'a [u8], order: ByteOrder) -> Option<Comm<'a>> {
        let mut fields = Cursor::new(body, order);
        let (pid, tid) = (fields.i32()?, fields.i32()?);
        Some(Comm { pid, tid, exec: header.misc & COMM_EXEC != 0, name: fields.text() })
    }
}

/// A new process or thread, or the end of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The process.
    pub pid: i32,
    /// The process that made it.
    pub parent_pid: i32,
    /// The thread.
    pub tid: i32,
    /// The thread that made it.
    pub parent_tid: i32,
}

impl Fork {
    pub(super) fn parse(body: &[u8], order: ByteOrder) -> Option<Fork> {
        let mut fields = Cursor::new(body, order);
        Some(Fork {
            pid: fields.i32()?,
            parent_pid: fields.i32()?,
            tid: fields.i32()?,
            parent_tid: fields.i32()?,
        })
    }
}

/// Code that the kernel has made for itself: a BPF program, a trampoline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelFunction<'a> {
    /// The first address.
    pub start: u64,
    /// The size in bytes.
    pub len: u32,
    /// The name of the function.
    pub name: &'a [u8],
}

impl<'a> KernelFunction<'a> {
    /// Reads the record; `None`, too, for code that is gone: it was there when it was sampled.
    pub(super) fn parse(body: &'a [u8], order: ByteOrder) -> Option<KernelFunction<'a>> {
        const UNREGISTERED: u16 = 1;
        let mut fields = Cursor::new(body, order);
        let (start, len) = (fields.u64()?, fields.u32()?);
        let (_kind, flags) = (fields.u16()?, fields.u16()?);
        let name = fields.text();
        (flags & UNREGISTERED == 0 && !name.is_empty()).then_some(KernelFunction { start, len, name })
    }
}

/// A control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cgroup<'a> {
    /// Its number, which samples have.
    pub id: u64,
    /// Its path below the root of the hierarchy: `/system.slice/nginx.service`.
    pub path: &'a [u8],
}

impl<'a> Cgroup<'a> {
    pub(super) fn parse(body: &'a [u8], order: ByteOrder) -> Option<Cgroup<'a>> {
        let mut fields = Cursor::new(body, order);
        Some(Cgroup { id: fields.u64()?, path: fields.text() })
    }
}

/// The number of events that were lost.
pub(super) fn lost(kind: u32, body: &[u8], order: ByteOrder) -> Option<u64> {
    let mut fields = Cursor::new(body, order);
    if kind == kind::LOST {
        fields.skip(8)?;
    }
    fields.u64()
}

/// The path of a file and the identity of its build.
pub(super) fn build_id(header: Header, body: &[u8], order: ByteOrder) -> Option<(&[u8], &[u8])> {
    let mut fields = Cursor::new(body, order);
    let _pid = fields.i32()?;
    let mut id = Cursor::new(fields.take(24)?, order);
    let bytes = id.take(20)?;
    let size = match header.misc & BUILD_ID_SIZE {
        0 => 20,
        _ => usize::from(id.u8()?).min(20),
    };
    Some((fields.text(), &bytes[..size]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_when_it_was_written() {
        let attr = Attr {
            sample_type: sample::TIME | sample::TID | sample::CPU | sample::IDENTIFIER,
            sample_id_all: true,
            ..Attr::default()
        };
        let body: Vec<u8> = [1u64, 2, 77, 4, 5].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(time_of(&body, ByteOrder::Little, &attr), Some(77));
        assert_eq!(time_of(&body[..16], ByteOrder::Little, &attr), None);
    }

    #[test]
    fn a_mapping_may_come_with_its_build_id() {
        let mut body = Vec::new();
        for number in [7u32, 7] {
            body.extend(number.to_le_bytes());
        }
        for number in [0x1000u64, 0x2000, 0x3000] {
            body.extend(number.to_le_bytes());
        }
        body.extend([3, 0, 0, 0, 0xaa, 0xbb, 0xcc]);
        body.extend([0; 17]);
        body.extend([5, 0, 0, 0, 2, 0, 0, 0]);
        body.extend(b"/bin/a\0\0");
        let header = Header { kind: kind::MMAP2, misc: MMAP_BUILD_ID, size: 0 };
        let mmap = Mmap::parse(header, &body, ByteOrder::Little).unwrap();
        assert_eq!((mmap.path, mmap.build_id), (&b"/bin/a"[..], Some(&[0xaa, 0xbb, 0xcc][..])));
        assert_eq!((mmap.start, mmap.len, mmap.offset, mmap.executable), (0x1000, 0x2000, 0x3000, true));
        let header = Header { misc: 0, ..header };
        let mmap = Mmap::parse(header, &body, ByteOrder::Little).unwrap();
        let file = FileId { device: (3, 0x00cc_bbaa), inode: 0 };
        assert_eq!((mmap.build_id, mmap.file), (None, None), "nothing at number 0");
        body[40..48].copy_from_slice(&77u64.to_le_bytes());
        let mmap = Mmap::parse(header, &body, ByteOrder::Little).unwrap();
        assert_eq!(mmap.file, Some(FileId { inode: 77, ..file }));
    }
}
