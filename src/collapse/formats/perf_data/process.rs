//! Processes with their memory and threads with their names, at any moment of
//! the recording.
//!
//! A [`AddressSpace`] never changes once a sample refers to it: a new mapping makes a new one. So threads
//! can go on with older samples while the recording is read on.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::modules::{Module, Modules};
use super::record::{Comm, Fork, Mmap};

/// A mapping of a process.
#[derive(Clone)]
pub(super) struct Mapping {
    pub start: u64,
    pub end: u64,
    /// The offset of the first byte in the module.
    pub offset: u64,
    /// True if code may run there.
    pub executable: bool,
    pub module: Arc<Module>,
}

/// The memory of a process at some moment.
#[derive(Clone, Default)]
pub(super) struct AddressSpace {
    /// In order, without overlaps.
    mappings: Vec<Mapping>,
    /// While the kernel starts another program: what called it to.
    before: Option<Arc<AddressSpace>>,
}

impl AddressSpace {
    /// The mapping at an address; `hint` is the index at which the last one was found.
    #[inline]
    pub fn find(&self, address: u64, hint: &mut usize) -> Option<&Mapping> {
        let inside = |mapping: &&Mapping| mapping.start <= address && address < mapping.end;
        if let Some(same) = self.mappings.get(*hint).filter(inside) {
            return Some(same);
        }
        let index = self.mappings.partition_point(|mapping| mapping.end <= address);
        match self.mappings.get(index).filter(inside) {
            Some(found) => {
                *hint = index;
                Some(found)
            }
            None => self.before.as_ref()?.find(address, &mut 0),
        }
    }

    /// Puts a mapping over what was there before.
    fn insert(&mut self, new: Mapping) {
        if new.start >= new.end {
            return;
        }
        let first = self.mappings.partition_point(|mapping| mapping.end <= new.start);
        let last = self.mappings.partition_point(|mapping| mapping.start < new.end);
        let mut pieces = Vec::with_capacity(3);
        if let Some(old) = self.mappings[first..last].first().filter(|old| old.start < new.start) {
            pieces.push(Mapping { end: new.start, ..old.clone() });
        }
        let end = new.end;
        pieces.push(new);
        if let Some(old) = self.mappings[first..last].last().filter(|old| old.end > end) {
            let offset = old.offset.wrapping_add(end - old.start);
            pieces.push(Mapping { start: end, offset, ..old.clone() });
        }
        self.mappings.splice(first..last, pieces);
    }
}

/// A name of a thread, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CommId(pub u32);

/// A thread.
#[derive(Clone, Copy, Debug)]
struct Thread {
    comm: CommId,
    has_ended: bool,
}

/// The number of ended threads that are remembered: a thread is still sampled while it ends.
const ENDED: usize = 4096;

/// All processes and threads.
pub(super) struct Processes {
    spaces: HashMap<i32, Arc<AddressSpace>>,
    threads: HashMap<i32, Thread>,
    /// Process and thread, in the order in which they ended.
    ended: VecDeque<(i32, i32)>,
    comms: HashMap<Vec<u8>, CommId>,
    names: Vec<Vec<u8>>,
    /// The memory of the kernel and its modules.
    kernel: Arc<AddressSpace>,
    nothing: Arc<AddressSpace>,
}

impl Default for Processes {
    fn default() -> Self {
        let mut processes = Processes {
            spaces: HashMap::new(),
            threads: HashMap::new(),
            ended: VecDeque::new(),
            comms: HashMap::new(),
            names: Vec::new(),
            kernel: Arc::default(),
            nothing: Arc::default(),
        };
        let idle = processes.comm_id(b"swapper");
        processes.threads.insert(0, Thread { comm: idle, has_ended: false });
        processes
    }
}

impl Processes {
    /// A file is mapped.
    pub fn mmap(&mut self, mmap: &Mmap<'_>, kernel: bool, modules: &mut Modules) {
        let Some(end) = mmap.start.checked_add(mmap.len) else { return };
        let (start, offset) = (mmap.start, mmap.offset);
        if kernel || mmap.pid == -1 {
            // Places in it are addresses.
            let module = modules.kernel(mmap, end);
            Arc::make_mut(&mut self.kernel).insert(Mapping {
                start,
                end,
                offset: start,
                executable: true,
                module,
            });
            return;
        }
        let (module, by_address) = modules.user(mmap);
        modules.hold(&module, mmap);
        let offset = if by_address { start } else { offset };
        let space = self.spaces.entry(mmap.pid).or_default();
        Arc::make_mut(space).insert(Mapping { start, end, offset, executable: mmap.executable, module });
    }

    /// A thread has a new name, and a process perhaps another program.
    pub fn comm(&mut self, comm: &Comm<'_>) {
        let id = self.comm_id(comm.name);
        self.threads.insert(comm.tid, Thread { comm: id, has_ended: false });
        if comm.exec
            && let Some(mut before) = self.spaces.remove(&comm.pid)
        {
            if before.before.is_some() {
                Arc::make_mut(&mut before).before = None;
            }
            self.spaces
                .insert(comm.pid, AddressSpace { before: Some(before), ..AddressSpace::default() }.into());
        }
    }

    /// A process was seen to run code of its own: whatever it was before has no callers in it.
    pub fn runs(&mut self, pid: i32) {
        if let Some(space) = self.spaces.get_mut(&pid)
            && space.before.is_some()
        {
            Arc::make_mut(space).before = None;
        }
    }

    /// A thread begins as its parent is, and a process too.
    pub fn fork(&mut self, fork: &Fork) {
        match self.threads.get(&fork.parent_tid).copied() {
            Some(parent) => self.threads.insert(fork.tid, Thread { has_ended: false, ..parent }),
            None => self.threads.remove(&fork.tid),
        };
        if fork.pid != fork.parent_pid {
            match self.spaces.get(&fork.parent_pid).cloned() {
                Some(space) => self.spaces.insert(fork.pid, space),
                None => self.spaces.remove(&fork.pid),
            };
        }
    }

    /// A thread ends, and is forgotten some time later.
    pub fn exit(&mut self, fork: &Fork) {
        let Some(thread) = self.threads.get_mut(&fork.tid) else { return };
        if std::mem::replace(&mut thread.has_ended, true) {
            return;
        }
        self.ended.push_back((fork.pid, fork.tid));
        if self.ended.len() <= ENDED {
            return;
        }
        // Its number may be another's by now.
        if let Some((pid, tid)) = self.ended.pop_front()
            && self.threads.get(&tid).is_some_and(|thread| thread.has_ended)
        {
            self.threads.remove(&tid);
            if pid == tid {
                self.spaces.remove(&pid);
            }
        }
    }

    /// Returns whether a thread has ended.
    pub fn has_ended(&self, tid: i32) -> bool {
        self.threads.get(&tid).is_some_and(|thread| thread.has_ended)
    }

    /// The name of a thread; one without a name is called by its number, as in perf.
    pub fn comm_of(&mut self, tid: i32) -> CommId {
        if let Some(known) = self.threads.get(&tid) {
            return known.comm;
        }
        let id = self.comm_id(format!(":{tid}").as_bytes());
        self.threads.insert(tid, Thread { comm: id, has_ended: false });
        id
    }

    /// The memory of a process.
    pub fn space_of(&self, pid: i32) -> &Arc<AddressSpace> {
        self.spaces.get(&pid).unwrap_or(&self.nothing)
    }

    /// The first name of a recording, which is that of its program; `None` before it.
    pub fn first_named(&self) -> Option<CommId> {
        // Behind that of the idle thread.
        (self.names.len() > 1).then_some(CommId(1))
    }

    /// The names of threads, by number.
    pub fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// The memory of the kernel and its modules.
    pub fn kernel(&self) -> &Arc<AddressSpace> {
        &self.kernel
    }

    fn comm_id(&mut self, name: &[u8]) -> CommId {
        if let Some(&known) = self.comms.get(name) {
            return known;
        }
        let id = CommId(self.names.len() as u32);
        self.names.push(name.to_vec());
        self.comms.insert(name.to_vec(), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_ended_is_forgotten_but_not_at_once() {
        let (mut processes, mut modules) = (Processes::default(), Modules::default());
        processes.comm(&Comm { pid: 1, tid: 1, exec: false, name: b"make" });
        let (path, build_id) = (&b"/bin/cc"[..], None);
        for pid in 2..20_000 {
            let fork = Fork { pid, parent_pid: 1, tid: pid, parent_tid: 1 };
            processes.fork(&fork);
            processes.comm(&Comm { pid, tid: pid, exec: true, name: b"cc" });
            let mmap = Mmap {
                pid,
                start: 0x1000,
                len: 0x1000,
                offset: 0,
                path,
                build_id,
                file: None,
                executable: true,
            };
            processes.mmap(&mmap, false, &mut modules);
            processes.exit(&fork);
            let comm = processes.comm_of(pid);
            assert_eq!(processes.names()[comm.0 as usize], b"cc");
            assert!(processes.space_of(pid).find(0x1800, &mut 0).is_some());
        }
        assert!(processes.threads.len() <= ENDED + 2 && processes.spaces.len() <= ENDED + 2);
        let comm = processes.comm_of(1);
        assert_eq!(processes.names()[comm.0 as usize], b"make");
    }

    #[test]
    fn what_starts_another_program_is_known_until_that_runs() {
        let (mut processes, mut modules) = (Processes::default(), Modules::default());
        let mut mmap = |processes: &mut Processes, start, path| {
            let mmap = Mmap {
                pid: 1,
                start,
                len: 0x1000,
                offset: 0,
                path,
                build_id: None,
                file: None,
                executable: true,
            };
            processes.mmap(&mmap, false, &mut modules);
        };
        let found = |processes: &Processes, at| {
            let space = processes.space_of(1).clone();
            space.find(at, &mut 0).map(|mapping| mapping.module.path.clone())
        };
        let exec = Comm { pid: 1, tid: 1, exec: true, name: b"cc" };
        mmap(&mut processes, 0x1000, b"/bin/make");
        processes.comm(&exec);
        mmap(&mut processes, 0x5000, b"/bin/cc");
        assert_eq!(found(&processes, 0x1800).unwrap(), b"/bin/make");
        assert_eq!(found(&processes, 0x5800).unwrap(), b"/bin/cc");
        processes.runs(1);
        assert_eq!(
            (found(&processes, 0x1800), found(&processes, 0x5800).unwrap()),
            (None, b"/bin/cc".into())
        );
        processes.comm(&exec);
        processes.comm(&exec);
        assert_eq!(found(&processes, 0x5800), None, "two programs ago");
    }

    #[test]
    fn a_mapping_within_another_leaves_both_its_ends() {
        let mut modules = Modules::default();
        let mut space = AddressSpace::default();
        let mut map = |start: u64, end: u64, path: &[u8]| {
            let mmap = Mmap {
                pid: 1,
                start,
                len: end - start,
                offset: 0,
                path,
                build_id: None,
                file: None,
                executable: true,
            };
            let (module, _) = modules.user(&mmap);
            space.insert(Mapping { start, end, offset: start, executable: true, module });
            space.mappings.iter().map(|m| (m.start, m.end, m.offset)).collect::<Vec<_>>()
        };
        map(0x1000, 0x9000, b"/a");
        assert_eq!(
            map(0x3000, 0x4000, b"/b"),
            [(0x1000, 0x3000, 0x1000), (0x3000, 0x4000, 0x3000), (0x4000, 0x9000, 0x4000)]
        );
        assert_eq!(map(0x2000, 0x5000, b"/c")[1], (0x2000, 0x5000, 0x2000));
        assert_eq!(map(0, 0x10000, b"/d"), [(0, 0x10000, 0)]);
        assert_eq!(map(7, 7, b"/e").len(), 1, "nothing");
    }
}
