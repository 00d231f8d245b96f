//! Tests of which frames are kept, and where they stand.

use super::*;
use crate::folded::{Order, walk};
use crate::input::Source;
use crate::render::Settings;
use crate::render::writer::feed;

fn graph(text: &str, least_share: f64) -> Graph {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let mut layout = Layout::new(least_share, None);
    let summary = walk(&[Source::new(file.path())], Order::Frame, None, &mut layout).unwrap();
    layout.finish(&summary).unwrap()
}

fn shown(graph: &Graph) -> Vec<String> {
    graph
        .frames()
        .map(|f| format!("{} {} {} {}", f.depth, String::from_utf8_lossy(f.name), f.start, f.total))
        .collect()
}

#[test]
fn frames_come_in_tree_order() {
    let graph = graph("a 1\na;b 2\na;b;c 3\na;d 4\ne 5\n", 0.0);
    assert_eq!(shown(&graph), ["0 a 0 10", "1 b 1 5", "2 c 3 3", "1 d 6 4", "0 e 10 5"]);
    assert_eq!((graph.rows, graph.left_out), (3, 0));
}

#[test]
fn what_is_too_narrow_in_the_end_is_left_out_wherever_it_stood() {
    // The first frame is everything when it is met, and a thousandth in the end.
    let graph = graph("a;early 1\na;late 998\na;later 1\n", 0.01);
    assert_eq!(shown(&graph), ["0 a 0 1000", "1 late 1 998"]);
    assert_eq!(graph.left_out, 2);
}

#[test]
fn what_cannot_be_wide_enough_is_not_sorted() {
    let calls: String =
        (0..3000).rev().map(|n| format!("main;call{n};a;b;c;d;e;f;g;h {}\n", n % 2)).collect();
    let sorted = graph(&format!("main;big 9000\n{calls}"), 0.5);
    assert_eq!(shown(&sorted), ["0 main 0 10500", "1 big 0 9000"]);
    assert!(sorted.left_out < 3000 * 9, "{} frames were looked at", sorted.left_out);
    let least = |asked: Option<Weight>| Layout::new(0.25, asked).least(Weights::one(Weight::new(10)));
    assert_eq!((least(None), least(Some(Weight::new(80)))), (Weight::new(2), Weight::new(20)));
}

#[test]
fn ghosts_know_their_place_in_the_union() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let lay = |text: &str, layout: Layout| {
        std::fs::write(file.path(), text).unwrap();
        let mut layout = layout;
        let summary = walk(&[Source::new(file.path())], Order::Frame, None, &mut layout).unwrap();
        layout.finish(&summary).unwrap()
    };
    let (after, union) =
        (Comparison::default(), Comparison { widths: Widths::Union, ..Comparison::default() });
    let text = "a;b 10 20\na;b;d 0 10\na;e 900 0\na;e;f 50 0\na;g 500 1\na;h 1 1000\n";
    let ghosts = lay(text, Layout::new(0.01, None).comparing(after.clone()).with_ghosts());
    let union = lay(text, Layout::new(0.01, None).comparing(union));
    let places = |graph: &Graph| {
        graph.frames().map(|f| (f.name.to_vec(), f.union.unwrap_or((f.start, f.total)))).collect::<Vec<_>>()
    };
    assert_eq!(ghosts.union, Some(union.total));
    for place in places(&union) {
        assert!(places(&ghosts).contains(&place), "{place:?}");
    }
    let gone: Vec<_> = ghosts.frames().filter(|f| f.after.is_zero()).map(|f| (f.start, f.total)).collect();
    assert_eq!(gone, [(Weight::new(30), Weight::ZERO); 2]);
    let just_wide_enough = Layout::new(0.5, None).comparing(after.clone()).with_ghosts();
    assert_eq!(lay("a 5 5\nb 5 0\n", just_wide_enough).union, Some(Weight::new(10)));
    // Everything is wide enough: the result is as without the option.
    for text in ["a;b 1000 2000\na;c 1 0\nd 0 5\n", "a;b 10\nc 1\n", "a;b 5 0\n"] {
        let asked = lay(text, Layout::new(0.01, None).comparing(after.clone()).with_ghosts());
        let plain = lay(text, Layout::new(0.01, None).comparing(after.clone()));
        assert_eq!(asked.union, None);
        assert_eq!(asked.frames().collect::<Vec<_>>(), plain.frames().collect::<Vec<_>>());
    }
}

#[test]
fn keeps_little_more_than_what_is_drawn() {
    let text: String = (0..200_000).map(|n| format!("main;call{n:07};leaf{n:07} 1\n")).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    struct Watch(Layout, usize);
    impl Visitor for Watch {
        fn exit(&mut self, frame: Frame<'_>, so_far: Weights) -> Result<()> {
            self.0.exit(frame, so_far)?;
            self.1 = self.1.max(self.0.boxes.len());
            Ok(())
        }
        fn restart(&mut self) -> Result<()> {
            self.0.restart()
        }
    }
    let mut watch = Watch(Layout::new(1e-4, None), 0);
    let summary = walk(&[Source::new(file.path())], Order::Frame, None, &mut watch).unwrap();
    assert!(watch.1 <= 2 * LOOK_AGAIN_FRAMES, "{} frames were kept", watch.1);
    assert_eq!(watch.0.finish(&summary).unwrap().boxes.len(), 1);
}

#[test]
fn what_vanished_is_told_to_the_frame_it_vanished_from() {
    let graph = graph("a;b 10 20\na;b;d 0 10\na;e 10 0\na;e;f 5 0\nz 7 0\n", 0.0);
    let gone: Vec<_> =
        graph.frames().map(|f| (f.name[0], f.before.to_string(), f.gone.to_string())).collect();
    assert_eq!(
        gone,
        [(b'a', "25".into(), "15".into()), (b'b', "10".into(), "0".into()), (b'd', "0".into(), "0".into())]
    );
    assert_eq!(graph.gone, Weight::new(7));
    assert_eq!(graph.largest_change().unwrap(), Weight::new(20));
}

#[test]
fn a_total_must_not_be_too_small() {
    let mut layout = Layout::new(0.0, Some(Weight::new(5)));
    let frame = |total| Frame { name: b"a", depth: 0, start: Weights::default(), own: total, total };
    let total = Weights::one(Weight::new(6));
    layout.exit(frame(total), total).unwrap();
    let summary = WalkSummary { total, ..WalkSummary::default() };
    let error = layout.finish(&summary).err().unwrap().to_string();
    assert_eq!(error, "the total 5 is smaller than the weight of all stacks, 6");
}

#[test]
fn parts_that_other_threads_laid_out_stand_behind_one_another() {
    let frame = |name: &'static str, depth, start: i128, own: i128, total: i128| {
        let one = |weight| Weights::one(Weight::new(weight));
        Frame { name: name.as_bytes(), depth, start: one(start), own: one(own), total: one(total) }
    };
    let so_far = |weight| Weights::one(Weight::new(weight));
    let mut layout = Layout::new(0.1, None);
    layout.exit(frame("b", 1, 0, 10, 10), so_far(10)).unwrap();
    layout.exit(frame("a", 0, 0, 0, 10), so_far(10)).unwrap();
    let mut fork = layout.fork().expect("plain input may have several threads");
    fork.exit(frame("b", 1, 0, 20, 20), so_far(20)).unwrap();
    fork.exit(frame("narrow", 1, 20, 1, 1), so_far(21)).unwrap();
    fork.exit(frame("c", 0, 0, 0, 21), so_far(21)).unwrap();
    layout.join(fork, so_far(10)).unwrap();
    let summary = WalkSummary { total: so_far(31), ..WalkSummary::default() };
    let graph = layout.finish(&summary).unwrap();
    assert_eq!(shown(&graph), ["0 a 0 10", "1 b 0 10", "0 c 10 21", "1 b 10 20"]);
    assert_eq!(graph.left_out, 1);
}

#[test]
fn only_plain_graphs_have_several_threads() {
    let summary = WalkSummary::default();
    let forks = |comparison: Comparison| {
        let mut layout = Layout::new(0.1, None).comparing(comparison).with_ghosts();
        [Columns::One, Columns::Two].map(|columns| {
            layout.begin(&Known { columns, facts: &summary.facts, places: &summary.places }).unwrap();
            layout.fork().is_some()
        })
    };
    assert_eq!(forks(Comparison::default()), [true, false]);
    assert_eq!(forks(Comparison { own: true, ..Comparison::default() }), [false; 2]);
    for widths in [Widths::Before, Widths::Union] {
        assert_eq!(forks(Comparison { widths, ..Comparison::default() }), [false; 2]);
    }
}

#[test]
fn a_second_look_waits_until_the_kept_frames_or_their_names_have_doubled() {
    let keep = |frames: usize, name_length: usize| {
        let mut layout = Layout::new(0.0, None);
        for n in 0..frames {
            let name = format!("{n:0name_length$}");
            let total = Weights::one(Weight::ONE);
            let frame = Frame { name: name.as_bytes(), depth: 0, start: total, own: total, total };
            layout.exit(frame, total).unwrap();
        }
        layout.look_again();
        layout.look_again
    };
    assert_eq!(keep(10, 5), (LOOK_AGAIN_FRAMES, LOOK_AGAIN_BYTES));
    assert_eq!(keep(LOOK_AGAIN_FRAMES, 5), (2 * LOOK_AGAIN_FRAMES, LOOK_AGAIN_BYTES));
    assert_eq!(keep(40, 60_000), (LOOK_AGAIN_FRAMES, 2 * 40 * 60_000));
}

#[test]
fn names_of_frames_that_became_too_narrow_are_let_go() {
    let mut layout = Layout::new(0.3, None);
    for n in 0..60 {
        let name = format!("{n:060000}");
        let (start, total) = (Weights::one(Weight::new((1 << n) - 1)), Weights::one(Weight::new(1 << n)));
        let so_far = Weights::one(Weight::new((2 << n) - 1));
        layout.exit(Frame { name: name.as_bytes(), depth: 0, start, own: total, total }, so_far).unwrap();
    }
    assert!(layout.name_bytes <= LOOK_AGAIN_BYTES + 60_000, "{}", layout.name_bytes);
}

#[test]
fn a_change_is_judged_by_the_weight_of_a_sample() {
    let is_sure = |text: &str| {
        let mut layout = Layout::new(0.0, None);
        let profile = crate::Profile::from_bytes(text).unwrap();
        let summary = feed(&profile, &Settings::default(), &mut layout).unwrap();
        let graph = layout.finish(&summary).unwrap();
        graph.frames().find(|frame| frame.name == b"b").unwrap().is_sure
    };
    // Two samples of 100, and two hundred of 1.
    assert!(!is_sure("a 5000 5000\nb 100 300\n"));
    assert!(is_sure("a 5000 5000\nb 100 300\nc 1 1\n"));
}

#[test]
fn weights_are_shown_multiplied_by_the_factor() {
    let mut graph = graph("a 1\na;b 2\n", 0.0);
    assert_eq!((graph.factor(), graph.shown(Weight::new(7)).unwrap()), (Weight::ONE, Weight::new(7)));
    graph.scale(Weight::new(3)).unwrap();
    assert_eq!((graph.factor(), graph.shown(Weight::new(7)).unwrap()), (Weight::new(3), Weight::new(21)));
    assert!(graph.scale(Weight::new(i128::MAX)).is_err());
}
