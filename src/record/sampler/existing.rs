//! Records, made from /proc, of the processes and mappings from before the recording.
//!
//! The kernel reports what happens from then on; a reader needs to know what had happened before:
//! threads and their names, and which file lies at which address. These records have the time 0.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::input::lines;
use crate::number;
use crate::record::sys::perf_event::record;
use crate::record::sys::processes::{process_of, stat};
use crate::symbolize::{Module, Search};

/// The size of the fields behind each record: thread, time, processor, id; see
/// [`super::plan::SAMPLE_TYPE`].
pub const TRAILER: usize = 32;

/// Records of the processes that run now.
pub fn everybody(data: bool, records: &mut Vec<u8>) {
    for pid in processes() {
        process(pid, data, records);
    }
}

/// Opens the folder of a control group: a path, or one below the places where such folders are.
///
/// # Errors
/// There is none.
pub fn open_group(path: &Path) -> io::Result<fs::File> {
    let below = path.strip_prefix("/").unwrap_or(path);
    let places = ["/sys/fs/cgroup", "/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/unified"];
    let places = places.iter().map(|place| Path::new(place).join(below));
    let mut folders = std::iter::once(path.to_owned()).chain(places);
    match folders.find(|folder| folder.join("cgroup.procs").exists()) {
        Some(folder) => fs::File::open(folder),
        None => Err(io::Error::other("there is no such group")),
    }
}

/// The processes that run now, in order.
pub fn processes() -> Vec<u32> {
    numbers_in("/proc")
}

/// Records of one process: its threads and their names, and its mappings; `data` includes those
/// that are not executable. A process that ends meanwhile has fewer or none.
pub fn process(pid: u32, data: bool, records: &mut Vec<u8>) {
    let parent = parent_of(pid).unwrap_or(0);
    for tid in threads(pid) {
        let Ok(comm) = fs::read(format!("/proc/{pid}/task/{tid}/comm")) else { continue };
        let comm = comm.strip_suffix(b"\n").unwrap_or(&comm);
        // A process is its parent's child, a thread its process's.
        let (from, from_thread) = if tid == pid { (parent, parent) } else { (pid, pid) };
        fork([pid, from, tid, from_thread], records);
        name([pid, tid], comm, records);
    }
    let Ok(maps) = fs::read(format!("/proc/{pid}/maps")) else { return };
    let mut ids = HashMap::new();
    let elsewhere = sees_other_files(pid);
    for line in lines(&maps) {
        if let Some(mapping) = Mapping::parse(line) {
            if elsewhere && !ids.contains_key(mapping.name) {
                ids.insert(mapping.name, build_id_in(pid, mapping.name));
            }
            let id = ids.get(mapping.name).and_then(Option::as_deref);
            mapping.record(pid, data, id, records);
        }
    }
}

/// Returns true if a process has other files than we at the same paths, as in a container.
fn sees_other_files(pid: u32) -> bool {
    let differs = |name: &str| {
        let [its, ours] =
            [pid.to_string(), "self".to_owned()].map(|of| fs::read_link(format!("/proc/{of}/{name}")));
        !matches!((its, ours), (Ok(its), Ok(ours)) if its == ours)
    };
    differs("ns/mnt") || differs("root")
}

/// The build id of a file as a process sees it. A reader may find another file at its path.
fn build_id_in(pid: u32, name: &[u8]) -> Option<Vec<u8>> {
    let root = Search { symfs: Some(format!("/proc/{pid}/root").into()), ..Search::default() };
    let module = Module { path: name.to_vec(), build_id: None };
    root.open(&module).ok()?.build_id().map(<[u8]>::to_vec)
}

/// The threads of a process.
pub fn threads(pid: u32) -> Vec<u32> {
    numbers_in(&format!("/proc/{pid}/task"))
}

fn parent_of(pid: u32) -> Option<u32> {
    stat(pid)?.split(' ').nth(1)?.parse().ok()
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Threads that wait, among these; `true` for those that can be woken.
pub fn asleep(tids: &[u32]) -> Vec<(u32, bool)> {
    let waits = |tid: &u32| match stat(*tid)?.bytes().next()? {
        b'S' => Some((*tid, true)),
        // On a disk, stopped, traced.
        b'D' | b'T' | b't' | b'I' => Some((*tid, false)),
        _ => None,
    };
    tids.iter().filter_map(waits).collect()
}

/// A record that says that a thread is off its processor, since `time` at least.
pub fn is_away(tid: u32, time: u64, records: &mut Vec<u8>) {
    let pid = process_of(tid).unwrap_or(tid);
    let at = records.len();
    append(record::SWITCH, record::MISC_DATA_OR_OUT, &[], records);
    records[at + 8..at + 12].copy_from_slice(&pid.to_ne_bytes());
    records[at + 12..at + 16].copy_from_slice(&tid.to_ne_bytes());
    records[at + 16..at + 24].copy_from_slice(&time.to_ne_bytes());
}

/// A record that says that an event makes no samples from `time` on, or that it does so again.
pub fn throttle(is_on: bool, id: u64, time: u64, records: &mut Vec<u8>) {
    let body = [time, id, id].map(u64::to_ne_bytes).concat();
    let at = records.len() + 8 + body.len();
    append(if is_on { record::THROTTLE } else { record::UNTHROTTLE }, 0, &body, records);
    records[at + 8..at + 16].copy_from_slice(&time.to_ne_bytes());
}

/// A record of the number that an event has counted since the last one of these, of all threads and processors.
pub fn count(id: u64, value: u64, has_losses: bool, time: u64, records: &mut Vec<u8>) {
    let nobody = [u8::MAX; 8];
    let mut body = [nobody, value.to_ne_bytes()].concat();
    // The number of lost samples is in the record where the event's description says so.
    body.extend(if has_losses { &[0; 8][..] } else { &[] });
    let at = records.len() + 8 + body.len();
    append(record::READ, 0, &body, records);
    records[at + 8..at + 16].copy_from_slice(&time.to_ne_bytes());
    records[at + 24..at + 32].copy_from_slice(&id.to_ne_bytes());
}

/// Records of the kernel's own text and its modules.
pub fn kernel(records: &mut Vec<u8>) {
    if let Some((start, end)) = kernel_text() {
        // perf names the symbol that its addresses are relative to.
        mmap(
            KERNEL_PID,
            record::MISC_KERNEL,
            [start, end - start, start],
            b"[kernel.kallsyms]_text",
            records,
        );
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    for line in fs::read_to_string("/proc/modules").unwrap_or_default().lines() {
        let mut words = line.split(' ');
        let (Some(name), Some(size), Some(address)) = (words.next(), words.next(), words.nth(3)) else {
            continue;
        };
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).unwrap_or(0);
        let size = size.parse().unwrap_or(0);
        // All zeros are what an ordinary user sees.
        if address != 0 && size != 0 {
            let path = format!("/lib/modules/{}/{name}.ko", release.trim());
            mmap(KERNEL_PID, record::MISC_KERNEL, [address, size, 0], path.as_bytes(), records);
        }
    }
}

/// The process and thread that the kernel's mappings are noted with.
const KERNEL_PID: [u32; 2] = [u32::MAX, 0];

/// The addresses at which the kernel's code begins and ends. The list of symbols is in order: it is
/// read as far as the code's end.
fn kernel_text() -> Option<(u64, u64)> {
    text_among(BufReader::with_capacity(1 << 16, fs::File::open("/proc/kallsyms").ok()?))
}

fn text_among(mut symbols: impl BufRead) -> Option<(u64, u64)> {
    let mut start = None;
    // One buffer for all lines: there are a hundred thousand, and two matter.
    let mut line = Vec::new();
    loop {
        line.clear();
        if symbols.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let is = |name: &[u8]| line.trim_ascii_end().ends_with(name);
        let address = || {
            let digits = line.split(|&b| b == b' ').next()?;
            number::hex(digits)
        };
        if start.is_none() && (is(b" _text") || is(b" _stext")) {
            // All zeros are what an ordinary user sees.
            start = Some(address().filter(|start| *start > 0)?);
        } else if is(b" _etext") {
            return start.zip(address()).filter(|(start, end)| start < end);
        }
    }
}

/// The running kernel's build id.
pub fn kernel_build_id() -> Option<Vec<u8>> {
    let mut notes = Vec::new();
    fs::File::open("/sys/kernel/notes").ok()?.take(1 << 16).read_to_end(&mut notes).ok()?;
    build_id_note(&notes)
}

/// The build id among ELF notes: size of name, size of content, kind, name, content.
fn build_id_note(notes: &[u8]) -> Option<Vec<u8>> {
    const BUILD_ID: u32 = 3;
    let word = |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let mut rest = notes;
    loop {
        let (name, content, kind) = (word(rest, 0)? as usize, word(rest, 4)? as usize, word(rest, 8)?);
        let begin = 12usize.checked_add(name.checked_next_multiple_of(4)?)?;
        let end = begin.checked_add(content)?;
        if kind == BUILD_ID && rest.get(12..12 + name)? == b"GNU\0" {
            return rest.get(begin..end).map(<[u8]>::to_vec);
        }
        rest = rest.get(end.checked_next_multiple_of(4)?..)?;
    }
}

/// A line of /proc/PID/maps: `7f12-7f34 r-xp 00002000 fe:01 1234   /usr/lib/libc.so.6`.
#[derive(Debug, PartialEq, Eq)]
struct Mapping<'a> {
    start: u64,
    end: u64,
    offset: u64,
    major: u32,
    minor: u32,
    inode: u64,
    rights: &'a [u8],
    name: &'a [u8],
}

impl Mapping<'_> {
    fn parse(line: &[u8]) -> Option<Mapping<'_>> {
        // Only the name may hold spaces, and there are many before it.
        let mut words = line.splitn(6, |&b| b == b' ');
        let mut word = || words.next();
        let (range, rights, offset, device, inode) = (word()?, word()?, word()?, word()?, word()?);
        let name = word().unwrap_or_default();
        let name = &name[name.iter().take_while(|&&b| b == b' ').count()..];
        let hex = |bytes: &[u8]| number::hex(bytes);
        let halves = |bytes: &[u8], at: u8| {
            let at = bytes.iter().position(|&b| b == at)?;
            Some((hex(&bytes[..at])?, hex(&bytes[at + 1..])?))
        };
        let ((start, end), (major, minor)) = (halves(range, b'-')?, halves(device, b':')?);
        Some(Mapping {
            start,
            end: Some(end).filter(|end| *end > start)?,
            offset: hex(offset)?,
            major: u32::try_from(major).ok()?,
            minor: u32::try_from(minor).ok()?,
            inode: number::parse(inode)?,
            rights,
            name,
        })
    }

    fn record(&self, pid: u32, data: bool, build_id: Option<&[u8]>, records: &mut Vec<u8>) {
        let may = |right: u8, bit: u32| if self.rights.contains(&right) { bit } else { 0 };
        let protection = may(b'r', 1) | may(b'w', 2) | may(b'x', 4);
        let mut misc = record::MISC_USER;
        if protection & 4 == 0 {
            if !data || protection & 1 == 0 {
                return;
            }
            misc |= record::MISC_DATA_OR_OUT;
        }
        let flags = if self.rights.contains(&b's') { 1u32 } else { 2 };
        let name = if self.name.is_empty() { b"//anon" } else { self.name };
        let mut body = Vec::with_capacity(80 + name.len());
        body.extend([pid, pid].iter().flat_map(|n| n.to_ne_bytes()));
        body.extend([self.start, self.end - self.start, self.offset].iter().flat_map(|n| n.to_ne_bytes()));
        if let Some(id) = build_id.filter(|id| (1..=20).contains(&id.len())) {
            misc |= record::MISC_BUILD_ID;
            let end = body.len() + 24;
            body.extend([id.len() as u8, 0, 0, 0]);
            body.extend_from_slice(id);
            body.resize(end, 0);
        } else {
            body.extend([self.major, self.minor].iter().flat_map(|n| n.to_ne_bytes()));
            body.extend([self.inode, 0].iter().flat_map(|n| n.to_ne_bytes()));
        }
        body.extend([protection, flags].iter().flat_map(|n| n.to_ne_bytes()));
        put(record::MMAP2, misc, body, name, records);
    }
}

fn mmap(ids: [u32; 2], misc: u16, place: [u64; 3], name: &[u8], records: &mut Vec<u8>) {
    let mut body: Vec<u8> = ids.iter().flat_map(|n| n.to_ne_bytes()).collect();
    body.extend(place.iter().flat_map(|n| n.to_ne_bytes()));
    put(record::MMAP, misc, body, name, records);
}

fn name(ids: [u32; 2], comm: &[u8], records: &mut Vec<u8>) {
    let body = ids.iter().flat_map(|n| n.to_ne_bytes()).collect();
    put(record::COMM, 0, body, comm, records);
}

/// `ids` are process, parent, thread, parent's thread.
fn fork(ids: [u32; 4], records: &mut Vec<u8>) {
    let mut body: Vec<u8> = ids.iter().flat_map(|n| n.to_ne_bytes()).collect();
    body.extend([0; 8]);
    append(record::FORK, 0, &body, records);
}

/// A record that ends in a text.
fn put(kind: u32, misc: u16, mut body: Vec<u8>, text: &[u8], records: &mut Vec<u8>) {
    // The kernel's own limit of a path.
    body.extend_from_slice(&text[..text.len().min(4095)]);
    body.resize((body.len() + 1).next_multiple_of(8), 0);
    append(kind, misc, &body, records);
}

fn append(kind: u32, misc: u16, body: &[u8], records: &mut Vec<u8>) {
    let size = u16::try_from(8 + body.len() + TRAILER).expect("paths are limited");
    records.extend(kind.to_ne_bytes());
    records.extend(misc.to_ne_bytes());
    records.extend(size.to_ne_bytes());
    records.extend_from_slice(body);
    records.extend([0; TRAILER]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps() {
        let parse = |line: &'static str| Mapping::parse(line.as_bytes());
        let line =
            "7f1200000000-7f1200002000 r-xp 00001000 fe:0a 1234                 /tmp/my lib;2.so (deleted)";
        let mapping = parse(line).unwrap();
        assert_eq!(
            (mapping.start, mapping.end, mapping.offset),
            (0x7f12_0000_0000, 0x7f12_0000_2000, 0x1000)
        );
        assert_eq!((mapping.major, mapping.minor, mapping.inode), (0xfe, 10, 1234));
        assert_eq!(mapping.name, b"/tmp/my lib;2.so (deleted)");
        assert_eq!(parse("1000-2000 rw-p 00000000 00:00 0 ").unwrap().name, b"");
        for line in ["", "x", "2000-1000 r-xp 0 0:0 0", "1000-2000 r-xp 0 0 0", "1000-1000 r-xp 0 0:0 0 /a"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn the_kernels_text_is_between_two_symbols() {
        let list = "f100 T other\nf100 T _stext\nf180 t my_etext\nf200 T _etext\nf300 T _stext\n";
        assert_eq!(text_among(list.as_bytes()), Some((0xf100, 0xf200)));
        assert_eq!(text_among("0 T _text\n0 T _etext\n".as_bytes()), None, "hidden");
        assert_eq!(text_among("f T _text\n".as_bytes()), None);
    }

    #[test]
    fn only_code_unless_data_is_wanted() {
        let sizes = |line: &str, data| {
            let mut records = Vec::new();
            Mapping::parse(line.as_bytes()).unwrap().record(7, data, None, &mut records);
            records.len()
        };
        assert!(sizes("1000-2000 r-xp 0 0:0 0 /a", false) > 0);
        assert_eq!(sizes("1000-2000 r--p 0 0:0 0 /a", false), 0);
        assert!(sizes("1000-2000 r--p 0 0:0 0 /a", true) > 0);
        assert_eq!(sizes("1000-2000 ---p 0 0:0 0 /a", true), 0);
    }

    #[test]
    fn records_say_their_size() {
        let mut records = Vec::new();
        process(std::process::id(), true, &mut records);
        let (mut at, mut kinds) = (0, Vec::new());
        while at < records.len() {
            let size = u16::from_ne_bytes(records[at + 6..at + 8].try_into().unwrap());
            assert_eq!(size % 8, 0);
            kinds.push(records[at]);
            at += usize::from(size);
        }
        assert_eq!(at, records.len());
        for kind in [record::FORK, record::COMM, record::MMAP2] {
            assert!(kinds.contains(&u8::try_from(kind).unwrap()), "{kind}");
        }
    }

    #[test]
    fn a_build_id_among_notes() {
        let note = |name: &[u8], kind: u32, content: &[u8]| {
            let mut bytes: Vec<u8> = [name.len() as u32, content.len() as u32, kind]
                .iter()
                .flat_map(|n| n.to_ne_bytes())
                .collect();
            for part in [name, content] {
                bytes.extend_from_slice(part);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            bytes
        };
        let notes = [note(b"Xen\0", 3, b"no"), note(b"GNU\0", 1, b"abi"), note(b"GNU\0", 3, b"\x01\x02\x03")]
            .concat();
        assert_eq!(build_id_note(&notes), Some(vec![1, 2, 3]));
        for end in 0..notes.len() - 1 {
            assert_eq!(build_id_note(&notes[..end]), None, "cut at {end}");
        }
        assert_eq!(build_id_note(&[0xff; 64]), None);
    }
}
