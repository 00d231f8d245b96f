//! Callers for stacks that were cut because the copy of the stack was too short.
//!
//! Every stack that is unwound tells who called whom, at which stack pointer. A stack that was cut ends
//! in a frame whose stack pointer and address are known. If the same thread was seen with a frame at
//! the same stack pointer and the same address, and that frame always had the same caller, whose
//! caller was always the same, and so on to the root, then these are the callers of the cut stack.
//!
//! One contradiction, anywhere between the cut and the root, and the stack stays cut: two functions that
//! call the same recursion in turn look the same from within. Stacks of some thousand samples are looked
//! at together; of each thread the last stack is carried over to the next of these groups, as threads stay
//! for long in what they called first.
//!
//! While a program is being recorded, the callers that no copy tells are read from its memory, a moment after the
//! sample ([`live_stack`](super::live_stack)). For these the same holds: one contradiction, and they are not believed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::live_stack::LiveStack;
use super::single_sample::SingleSample;
use crate::folded::FrameId;

/// The number of samples that are looked at together. With 8192, half a minute of `rustc` takes 3 MB.
pub(super) const GROUP: u64 = 8192;

/// The most frames in a group: 1000 in each stack on average. Groups of more stay as they are.
const MOST_FRAMES: u64 = 1000 * GROUP;

/// The most threads whose last stack is carried over.
const MOST_CARRIED: usize = 4096;

/// A frame of a stack that was unwound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// The stack pointer.
    pub sp: u64,
    /// The address of the instruction.
    pub ip: u64,
    /// The module and the place in it.
    pub module: u32,
    /// The offset in the module, else the address.
    pub place: u64,
    /// It is where a call returns to.
    pub called: bool,
}

impl Link {
    fn is_at(&self, other: &Link) -> bool {
        (self.sp, self.ip, self.called) == (other.sp, other.ip, other.called)
    }
}

/// The end of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Nothing called its last frame.
    Root,
    /// Its last frame was called by something.
    Open,
}

/// A stack without its callers, with all that is needed to add it once they are known.
pub(super) struct CutStack {
    /// Leaf first.
    pub frames: Vec<FrameId>,
    /// The frames that go behind the callers: thread and event.
    pub behind: Vec<FrameId>,
    /// The result if its callers stay unknown.
    pub without: Without,
    /// The sample with its number; the stack is not yet known.
    pub sample: SingleSample,
    /// The number of its piece, by [`Chains::add_cut`].
    pub piece: usize,
}

/// The stack that remains if the callers of its last frame stay unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Without {
    /// One without its rest, which was too long.
    TheRest {
        /// No copy that the kernel makes would have had the callers.
        too_deep: bool,
    },
    /// One without callers; the module that they are counted for.
    Callers(u32),
}

/// A part of a stack.
#[derive(Clone, Copy)]
struct Piece {
    tid: i32,
    start: usize,
    len: usize,
    end: End,
}

/// The last complete stack of a thread, and the number of its sample.
type LastStack = (u64, Vec<Link>);

/// The last stacks of threads.
pub(super) type Carried = HashMap<i32, LastStack>;

/// The stacks of a group that one thread has unwound.
#[derive(Default)]
pub(super) struct Chains {
    links: Vec<Link>,
    pieces: Vec<Piece>,
    /// The last complete stack of each thread, leaf first.
    last: Carried,
    /// The same from the group before.
    carried: Arc<Carried>,
    /// Stacks from the memory of processes, from the frame on at which another was cut.
    read: Vec<Piece>,
    /// The last of these of each thread, and true if it is in the group.
    last_read: HashMap<i32, (bool, Vec<Link>)>,
    /// The number of frames of all stacks.
    frames: u64,
    /// The stacks that were cut.
    pub cut: Vec<CutStack>,
}

impl Chains {
    /// Adds a stack whose end is known, or was lost.
    pub fn add(&mut self, tid: i32, number: u64, links: &[Link], end: End) {
        self.frames += links.len() as u64;
        if self.frames > MOST_FRAMES {
            return;
        }
        let mut len = links.len();
        let mut open = end;
        if end == End::Root {
            // The rootward part is mostly that of the sample before.
            let last = self.last.get(&tid).or_else(|| self.carried.get(&tid));
            let known = last.map_or(0, |(_, last)| {
                links.iter().rev().zip(last.iter().rev()).take_while(|(a, b)| a.is_at(b)).count()
            });
            if known > 0 {
                (len, open) = (links.len() - known + 1, End::Open);
            }
            let (at, kept) = self.last.entry(tid).or_default();
            *at = number;
            kept.clear();
            kept.extend_from_slice(links);
        }
        if len > 1 || open == End::Root {
            self.put(tid, &links[..len], open);
        }
    }

    /// Adds a stack that was cut.
    pub fn add_cut(&mut self, links: &[Link], cut: impl FnOnce(usize) -> CutStack) {
        let cut = cut(self.pieces.len());
        self.frames += links.len() as u64;
        let kept = if self.frames > MOST_FRAMES { &[] } else { links };
        self.put(cut.sample.tid, kept, End::Open);
        self.cut.push(cut);
    }

    fn put(&mut self, tid: i32, links: &[Link], end: End) {
        let piece = self.piece(tid, links, end);
        self.pieces.push(piece);
    }

    fn piece(&mut self, tid: i32, links: &[Link], end: End) -> Piece {
        let start = self.links.len();
        self.links.extend_from_slice(links);
        Piece { tid, start, len: links.len(), end }
    }

    /// The stack of a thread in the memory of its process, if it has to be read for the callers of a frame: not if
    /// other stacks tell them, and not if what was copied is no longer there.
    pub fn live_stack(
        &mut self,
        pid: i32,
        tid: i32,
        cut: &Link,
        is_there: impl FnOnce(&mut LiveStack) -> bool,
    ) -> Option<LiveStack> {
        let last = self.last.get(&tid).or_else(|| self.carried.get(&tid));
        if last.is_some_and(|(_, last)| from(last, cut).is_some()) {
            return None;
        }
        let mut stack = LiveStack::open(pid)?;
        if !is_there(&mut stack) {
            return None;
        }
        let Some((in_group, known)) = self.last_read.get_mut(&tid) else { return Some(stack) };
        let again = from(known, cut).filter(|again| {
            let caller = again.get(1).filter(|caller| caller.called);
            caller.is_some_and(|caller| stack.read(caller.sp.wrapping_sub(8)) == Some(caller.ip))
        });
        let Some(again) = again else { return Some(stack) };
        if !*in_group {
            *in_group = true;
            let again = again.to_vec();
            self.read_again(tid, &again);
        }
        None
    }

    /// Adds a stack that was read from memory, from the frame on at which another was cut.
    pub fn add_read(&mut self, tid: i32, links: &[Link]) {
        if self.last_read.len() >= MOST_CARRIED {
            self.last_read.clear();
        }
        self.last_read.insert(tid, (true, links.to_vec()));
        self.read_again(tid, links);
    }

    fn read_again(&mut self, tid: i32, links: &[Link]) {
        self.frames += links.len() as u64;
        if self.frames <= MOST_FRAMES {
            let piece = self.piece(tid, links, End::Root);
            self.read.push(piece);
        }
    }

    fn of(&self, piece: Piece) -> &[Link] {
        &self.links[piece.start..piece.start + piece.len]
    }

    /// Begins another group.
    pub fn begin(&mut self, carried: Arc<Carried>) {
        self.links.clear();
        self.pieces.clear();
        self.read.clear();
        self.last_read.values_mut().for_each(|(in_group, _)| *in_group = false);
        self.last.clear();
        self.frames = 0;
        self.carried = carried;
    }
}

/// The part of a complete stack from a frame on.
fn from<'a>(stack: &'a [Link], frame: &Link) -> Option<&'a [Link]> {
    // Stack pointers grow towards the root, but for signal handlers' stacks of their own.
    stack.iter().position(|link| link.is_at(frame)).map(|at| &stack[at..])
}

/// The callers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    Unknown,
    Nobody,
    Node(u32),
    /// Different ones at different times.
    Several,
}

/// The frames of a group and their callers.
#[derive(Default)]
struct Graph {
    numbers: HashMap<(i32, u64, u64, bool), u32>,
    nodes: Vec<(Link, Caller)>,
}

impl Graph {
    fn add(&mut self, tid: i32, links: &[Link], end: End) {
        let mut callee = None;
        for link in links {
            let next = self.nodes.len() as u32;
            let number = *self.numbers.entry((tid, link.sp, link.ip, link.called)).or_insert(next);
            if number == next {
                self.nodes.push((*link, Caller::Unknown));
            }
            if let Some(callee) = callee {
                self.set_caller(callee, Caller::Node(number));
            }
            callee = Some(number);
        }
        if let (Some(last), End::Root) = (callee, end) {
            self.set_caller(last, Caller::Nobody);
        }
    }

    fn set_caller(&mut self, callee: u32, caller: Caller) {
        let (_, known) = &mut self.nodes[callee as usize];
        *known = match *known {
            Caller::Unknown => caller,
            same if same == caller => same,
            _ => Caller::Several,
        };
    }

    /// The callers of a frame up to the root; `None` if they are not known, or not for certain.
    fn callers(&self, tid: i32, link: &Link) -> Option<Vec<Link>> {
        let mut at = *self.numbers.get(&(tid, link.sp, link.ip, link.called))?;
        let mut callers = Vec::new();
        while callers.len() <= self.nodes.len() {
            match self.nodes[at as usize].1 {
                Caller::Node(caller) => {
                    callers.push(self.nodes[caller as usize].0);
                    at = caller;
                }
                Caller::Nobody => return Some(callers),
                Caller::Unknown | Caller::Several => return None,
            }
        }
        None
    }
}

/// Finds the callers of all cut stacks of a group, and returns what the next group has to know.
///
/// `add` gets the number of the thread whose stack it is, the stack, and its callers.
pub(super) fn stitch<E>(
    all: &mut [&mut Chains],
    mut add: impl FnMut(usize, CutStack, Option<&[Link]>) -> Result<(), E>,
) -> Result<Carried, E> {
    let threads: HashSet<i32> =
        all.iter().flat_map(|chains| chains.cut.iter().map(|cut| cut.sample.tid)).collect();
    let mut graph = Graph::default();
    let frames = all.iter().fold(0u64, |sum, chains| sum.saturating_add(chains.frames));
    if frames <= MOST_FRAMES && !threads.is_empty() {
        if let Some(chains) = all.first() {
            for (tid, (_, links)) in chains.carried.iter().filter(|(tid, _)| threads.contains(tid)) {
                graph.add(*tid, links, End::Root);
            }
        }
        for chains in all.iter() {
            for piece in chains.pieces.iter().filter(|piece| threads.contains(&piece.tid)) {
                graph.add(piece.tid, chains.of(*piece), piece.end);
            }
        }
    }
    let mut carried = Carried::new();
    let mut carry = |tid: i32, number: u64, links: &mut dyn FnMut() -> Vec<Link>| {
        if carried.get(&tid).is_none_or(|(known, _)| *known <= number) {
            carried.insert(tid, (number, links()));
        }
    };
    // What was read later tells only of what no copy does.
    for with_read in [false, true] {
        if with_read && frames <= MOST_FRAMES {
            for chains in all.iter() {
                chains.read.iter().for_each(|piece| graph.add(piece.tid, chains.of(*piece), piece.end));
            }
        }
        for (thread, chains) in all.iter_mut().enumerate() {
            let mut unknown = Vec::new();
            for cut in std::mem::take(&mut chains.cut) {
                let (own, tid) = (chains.of(chains.pieces[cut.piece]), cut.sample.tid);
                let callers = own.last().and_then(|last| graph.callers(tid, last));
                match &callers {
                    None if !with_read => {
                        unknown.push(cut);
                        continue;
                    }
                    Some(callers) if !with_read => {
                        carry(tid, cut.sample.number, &mut || [own, callers].concat());
                    }
                    _ => {}
                }
                add(thread, cut, callers.as_deref())?;
            }
            chains.cut = unknown;
        }
    }
    for chains in all.iter() {
        for (tid, (number, links)) in &chains.last {
            carry(*tid, *number, &mut || links.clone());
        }
        for (tid, (number, links)) in chains.carried.iter() {
            carry(*tid, *number, &mut || links.clone());
        }
    }
    if carried.len() > MOST_CARRIED {
        let mut numbers: Vec<u64> = carried.values().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        let least = numbers[numbers.len() - MOST_CARRIED];
        carried.retain(|_, (number, _)| *number >= least);
    }
    Ok(carried)
}

#[cfg(test)]
mod tests {
    use super::super::process::CommId;
    use super::*;
    use crate::weight::Weight;

    const TID: i32 = 7;

    /// Frames leaf first, each with the name that stands for its address and its stack pointer.
    fn links(frames: &[(u64, u64)]) -> Vec<Link> {
        let link = |&(ip, sp)| Link { sp, ip, module: 2, place: ip, called: true };
        frames.iter().map(link).collect()
    }

    fn cut(chains: &mut Chains, number: u64, frames: &[(u64, u64)]) {
        let (comm, weight) = (CommId(0), Weight::ONE);
        let sample = SingleSample {
            in_use: None,
            number,
            time: None,
            away: 0,
            state: Default::default(),
            processor: None,
            cgroup: None,
            fields: 0,
            pid: TID,
            tid: TID,
            comm,
            stack: 0,
            weight,
        };
        chains.add_cut(&links(frames), |piece| {
            let (frames, behind, without) = (Vec::new(), Vec::new(), Without::TheRest { too_deep: false });
            CutStack { frames, behind, without, sample, piece }
        });
    }

    /// The addresses of the callers of each cut stack.
    fn found(all: &mut [&mut Chains]) -> (Vec<Option<Vec<u64>>>, Carried) {
        let mut found = Vec::new();
        let carried = stitch(all, |_, _, callers| {
            found.push(callers.map(|callers| callers.iter().map(|link| link.ip).collect()));
            Ok::<(), ()>(())
        });
        (found, carried.unwrap())
    }

    const MAIN: (u64, u64) = (1, 900);

    #[test]
    fn callers_come_from_another_stack_with_the_same_frame() {
        let mut chains = Chains::default();
        chains.add(TID, 0, &links(&[(4, 600), (3, 700), (2, 800), MAIN]), End::Root);
        cut(&mut chains, 1, &[(5, 500), (4, 600), (3, 700)]);
        // Its frames, again, are those of the one before, which is cut itself.
        cut(&mut chains, 2, &[(6, 400), (5, 500)]);
        // The same address at another stack pointer, another thread's, and one never seen.
        cut(&mut chains, 3, &[(6, 400), (3, 704)]);
        cut(&mut chains, 4, &[(6, 404)]);
        let (callers, _) = found(&mut [&mut chains]);
        assert_eq!(callers, [Some(vec![2, 1]), Some(vec![4, 3, 2, 1]), None, None]);
        let mut other = Chains::default();
        other.add(TID + 1, 0, &links(&[(4, 600), MAIN]), End::Root);
        cut(&mut other, 1, &[(4, 600)]);
        assert_eq!(found(&mut [&mut other]).0, [None], "of another thread");
    }

    #[test]
    fn one_contradiction_on_the_way_leaves_a_stack_cut() {
        // 2 and 3 call the same recursion from frames of the same size.
        for order in [[2, 3], [3, 2]] {
            let mut chains = [Chains::default(), Chains::default()];
            for (n, caller) in order.into_iter().enumerate() {
                let stack = links(&[(5, 600), (4, 700), (caller, 800), MAIN]);
                chains[n].add(TID, n as u64, &stack, End::Root);
            }
            cut(&mut chains[0], 2, &[(6, 500), (5, 600)]);
            let [first, second] = &mut chains;
            assert_eq!(found(&mut [first, second]).0, [None]);
        }
        // What ends without its root contradicts nothing, and is none.
        let mut chains = Chains::default();
        chains.add(TID, 0, &links(&[(5, 600), (4, 700)]), End::Open);
        cut(&mut chains, 1, &[(5, 600)]);
        assert_eq!(found(&mut [&mut chains]).0, [None]);
        let mut chains = Chains::default();
        chains.add(TID, 0, &links(&[(5, 600), (5, 600)]), End::Root);
        cut(&mut chains, 1, &[(5, 600)]);
        assert_eq!(found(&mut [&mut chains]).0, [None], "a circle");
    }

    #[test]
    fn the_last_stack_of_a_thread_is_carried_over() {
        let mut chains = Chains::default();
        chains.add(TID, 0, &links(&[(9, 600), (8, 800), MAIN]), End::Root);
        chains.add(TID, 1, &links(&[(4, 600), (2, 800), MAIN]), End::Root);
        cut(&mut chains, 2, &[(5, 500), (4, 600)]);
        let (_, carried) = found(&mut [&mut chains]);
        let carried = Arc::new(carried);
        for _ in 0..2 {
            chains.begin(carried.clone());
            cut(&mut chains, 3, &[(6, 400), (5, 500)]);
            cut(&mut chains, 4, &[(9, 600)]);
            let (callers, _) = found(&mut [&mut chains]);
            assert_eq!(callers, [Some(vec![4, 2, 1]), None], "the last, with the callers it was given");
        }
        // Of several threads, each with its part of the samples, the latest counts.
        chains.begin(carried);
        let mut other = Chains::default();
        other.add(TID, 9, &links(&[(7, 700), MAIN]), End::Root);
        chains.add(TID, 8, &links(&[(4, 600), (2, 800), MAIN]), End::Root);
        let (_, carried) = found(&mut [&mut other, &mut chains]);
        assert_eq!(carried[&TID], (9, links(&[(7, 700), MAIN])));
    }

    #[test]
    fn what_was_read_tells_where_no_copy_does() {
        let read = |chains: &mut Chains, root: u64| chains.add_read(TID, &links(&[(4, 600), (root, 900)]));
        let mut chains = Chains::default();
        read(&mut chains, 1);
        cut(&mut chains, 1, &[(5, 500), (4, 600)]);
        cut(&mut chains, 2, &[(6, 400), (5, 500)]);
        let (callers, carried) = found(&mut [&mut chains]);
        assert_eq!(callers, [Some(vec![1]), Some(vec![4, 1])]);
        assert!(carried.is_empty(), "it was read at another time");
        // It was read twice, and had changed.
        let mut chains = [Chains::default(), Chains::default()];
        for (n, chains) in chains.iter_mut().enumerate() {
            read(chains, n as u64);
            cut(chains, n as u64, &[(5, 500), (4, 600)]);
        }
        let [first, second] = &mut chains;
        assert_eq!(found(&mut [first, second]).0, [None, None]);
        // A copy knows better.
        let mut chains = Chains::default();
        read(&mut chains, 2);
        chains.add(TID, 0, &links(&[(4, 600), MAIN]), End::Root);
        cut(&mut chains, 1, &[(5, 500), (4, 600)]);
        assert_eq!(found(&mut [&mut chains]).0, [Some(vec![1])]);
    }

    #[test]
    fn a_group_of_too_many_frames_stays_as_it_is() {
        let mut chains = Chains::default();
        chains.add(TID, 0, &links(&[(4, 600), MAIN]), End::Root);
        cut(&mut chains, 1, &[(4, 600)]);
        let most = chains.frames;
        chains.frames = MOST_FRAMES - 1;
        let before = chains.links.len();
        chains.add(TID, 2, &links(&[(5, 600), MAIN]), End::Root);
        assert_eq!(chains.links.len(), before);
        assert_eq!(found(&mut [&mut chains]).0, [None]);
        assert_eq!(most, 3);
    }
}
