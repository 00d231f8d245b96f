"""The rows of the table of scripts/bench."""

from checks import (
    ends_after, events, first_value, grown, nothing_lost, periods, printed_total, program_total, same_bytes, same_lines, same_root,
    same_stacks, same_total, samples_and_losses, written,
)
from inputs import (
    callgrind, changed, dwarf_recording, first, folded, frame_pointer_recording, gimli_path, jfr, perf_text, pprof, viewer_json, workload,
)
from tools import BENCH, PROJECT, Unavailable, inferno, need, ours


class Row:
    """One line of the table: two sides, whether they say the same, and the goals by their words."""

    def __init__(self, name, work, sides, check, goals):
        self.name, self.work, self.sides, self.check, self.goals = name, work, sides, check, goals


def less(times):
    return {f"≥ {times} times less CPU": lambda took: took.ratio <= 1 / times}


def at_most(times):
    return {f"≤ {times} times the CPU": lambda took: took.ratio <= times}


def megabytes(most):
    return {f"≤ {most} MB": lambda took: took.peak[0] <= most}


def collapse(*options, file=True):
    perf = perf_text()
    return ([ours("fg-collapse"), "-q", *options, *([perf] if file else [])], None if file else perf)


def render_sides(order):
    file = folded(order)
    # The same frames are left out: those narrower than a ten thousandth.
    return (
        ([ours("fg-render"), "-q", "--minwidth", "0.01%", file], None),
        ([inferno("flamegraph"), "-q", "--minwidth", "0.01", file], None),
    )


def render_as(name, *options):
    return ([ours("fg-render"), "-q", "--format", name, *options, folded("sorted")], None)


def filter_sides(theirs, *pattern):
    file = folded("sorted")
    return (([ours("fg-filter"), *pattern, file], None), ([*theirs, *pattern, file], None))


def perf_data_sides(recording, *options, path=None):
    """Without perf against perf and inferno; the whole tree of processes."""
    pipeline = 'perf script "$@" | "$0" -q'
    theirs = ["sh", "-c", pipeline, inferno("collapse-perf"), *options, "-i", recording]
    if path is not None:
        theirs = ["env", f"PATH={path}", *theirs]
    return (([ours("fg-collapse"), "-q", *options, recording], None), (theirs, None))


def record_sides(rate, call_graph):
    """Each samples the same work into a file of perf's format."""
    need("perf")
    options = ["-F", rate, "--call-graph", call_graph]
    work = ["--", workload(), "1200x"]
    ours_file, theirs_file = BENCH / "ours.data", BENCH / "theirs.data"
    return (
        ([ours("fg-record"), "-q", "--raw", *options, "-o", ours_file, *work], None),
        (["perf", "record", "-q", *options, "-o", theirs_file, *work], None),
    )


def ten_seconds():
    """A recording to the folded text of it, and the same ten seconds without."""
    work = [workload(), "10"]
    return (([ours("fg-record"), "-q", "--", *work], None), (work, None))


def an_end(took):
    return took.wall[0] - took.wall[1] < 1


def a_fifth(took):
    return took.peak[0] <= took.peak[1] / 5


def a_third(took):
    return took.peak[0] <= took.peak[1] / 3


def diff_sides():
    files = (folded("sorted"), changed())
    return (
        ([ours("fg-diff"), "--absolute", *files], None),
        ([inferno("diff-folded"), *files], None),
    )


ALLOCATIONS = "jdk.ObjectAllocationInNewTLAB"


def theirs_prints(program, files, theirs):
    need(program)
    return (([ours("fg-collapse"), *files], None), (theirs, None))


def speedscope_reads(name, part):
    """Its importer alone, in node: without a page or a picture."""
    need("node")
    package = PROJECT / "tests/browser/node_modules/speedscope"
    if not package.is_dir():
        raise Unavailable("no speedscope: scripts/check browser installs it")
    file = viewer_json(name, part)
    importer = ["node", PROJECT / "benches/speedscope.cjs", package, file]
    return (([ours("fg-collapse"), "-q", file], None), (importer, None))


def more_of_it(tool, part):
    """The whole input, or a part of it, against the sixteenth part."""
    whole = perf_text() if tool == "fg-collapse" else folded("sorted")
    options = {"fg-collapse": ["-q", "-n", "1"], "fg-filter": ["-v", "cpu_idle"], "fg-diff": ["--absolute"], "fg-render": ["-q"]}

    def side(file):
        files = [file, first(changed(), 16 if file.name.endswith("-16") else part)] if tool == "fg-diff" else [file]
        return ([ours(tool), *options[tool], *files], None)

    return side(whole if part == 1 else first(whole, part)), side(first(whole, 16))


ROWS = [
    Row(
        "collapse-one-thread", "collapse perf script, one thread; `inferno-collapse-perf -n 1`",
        lambda: (collapse("-n", "1"), ([inferno("collapse-perf"), "-q", "-n", "1", perf_text()], None)),
        periods, {**less(8), "half the memory": lambda took: took.peak[0] <= took.peak[1] / 2},
    ),
    Row(
        "collapse-threads", "the same, default threads; ours with one",
        lambda: (collapse(), collapse("-n", "1")),
        same_bytes, {**at_most(1.2), "faster on the clock": lambda took: took.wall[0] < took.wall[1]},
    ),
    Row(
        "collapse-pipe", "the same from a pipe; ours from the file",
        lambda: (collapse(file=False), collapse()),
        same_bytes, at_most(1.3),
    ),
    Row(
        "perf-data-inlined", "collapse perf.data of a Rust release binary, stack dumps, with inlined functions; `perf script | inferno-collapse-perf`",
        lambda: perf_data_sides(dwarf_recording()),
        same_stacks, {**less(25), "a fifth of the memory": a_fifth},
    ),
    Row(
        "perf-data-plain", "the same, `--no-inline` on both sides",
        lambda: perf_data_sides(dwarf_recording(), "--no-inline"),
        same_stacks, less(5),
    ),
    Row(
        "perf-data-gimli", "with inlined functions, gimli's `addr2line` for perf",
        lambda: perf_data_sides(dwarf_recording(), path=gimli_path()),
        same_stacks, less(8),
    ),
    Row(
        "perf-data-frame-pointers", "collapse perf.data of a Rust program, frame pointers, `--no-inline` for both",
        lambda: perf_data_sides(frame_pointer_recording(), "--no-inline"),
        same_stacks, less(4),
    ),
    Row(
        "render-sorted", "render a sorted file of 1M stacks; `inferno-flamegraph`",
        lambda: render_sides("sorted"),
        same_root, {**less(10), **megabytes(12), "≥ 16 times faster": lambda took: took.wall[0] <= took.wall[1] / 16},
    ),
    Row(
        "render-shuffled", "render the same shuffled; `inferno-flamegraph`",
        lambda: render_sides("shuffled"),
        same_root, {**less(5), **megabytes(100)},
    ),
    Row(
        "render-top", "its functions as a table, `--format top`; reading it and drawing two rows, `--minwidth 20%`",
        lambda: (render_as("top"), render_as("svg", "--minwidth", "20%")),
        same_total, {**at_most(1.5), **megabytes(32)},
    ),
    Row(
        "render-speedscope", "the same for speedscope; as folded stacks again, `--format collapsed`",
        lambda: (render_as("speedscope"), render_as("collapsed")),
        written, megabytes(32),
    ),
    Row(
        "render-pprof", "the same for pprof; as folded stacks again",
        lambda: (render_as("pprof"), render_as("collapsed")),
        written, megabytes(32),
    ),
    Row(
        "diff-sorted", "diff it with a changed one, both sorted; `inferno-diff-folded`",
        diff_sides,
        same_lines, {**less(12), **megabytes(16), "≥ 25 times faster": lambda took: took.wall[0] <= took.wall[1] / 25},
    ),
    Row(
        "filter-plain", "filter it, `-v cpu_idle`; `grep`",
        lambda: filter_sides(["grep"], "-v", "cpu_idle"),
        same_bytes, at_most(1.2),
    ),
    Row(
        "filter-regex", "filter it, `'sys_(read|write)'`; `grep -E`",
        lambda: filter_sides(["grep", "-E"], "sys_(read|write)"),
        same_bytes, at_most(1.2),
    ),
    Row(
        "filter-hide", "hide a common frame in it, `--hide '^do_syscall_64$'`; `grep -v do_syscall_64`",
        lambda: (
            ([ours("fg-filter"), "--hide", "^do_syscall_64$", folded("sorted")], None),
            (["grep", "-v", "do_syscall_64", folded("sorted")], None),
        ),
        nothing_lost, at_most(3),
    ),
]

for rate in (997, 9999):
    for how, words in (("dwarf", "stack dumps"), ("fp", "frame pointers")):
        ROWS.append(Row(
            f"record-{rate}-{how}", f"record a Rust program of two threads into perf.data, {rate} Hz, {words}; `perf record`",
            lambda rate=rate, how=how: record_sides(rate, how),
            samples_and_losses, at_most(1),
        ))
ROWS.append(Row(
    "record-end", "record ten seconds of it, 997 Hz, stack dumps, and fold; the ten seconds alone",
    ten_seconds, ends_after, {"ends within a second": an_end},
))

ROWS += [
    Row(
        "read-pprof", "collapse a file of pprof's; `go tool pprof -raw`",
        lambda: theirs_prints("go", ["-q", pprof()], ["go", "tool", "pprof", "-raw", pprof()]),
        first_value, {**less(3), "a third of the memory": a_third},
    ),
    Row(
        "read-jfr", "collapse a recording of Java's Flight Recorder; `jfr print`",
        lambda: theirs_prints("jfr", ["-q", "--value", ALLOCATIONS, jfr()], ["jfr", "print", "--events", ALLOCATIONS, "--stack-depth", "64", jfr()]),
        events, {**less(3), "a third of the memory": a_third},
    ),
    Row(
        "read-callgrind", "collapse a file of callgrind's; `callgrind_annotate`",
        lambda: theirs_prints("callgrind_annotate", ["-q", callgrind()], ["callgrind_annotate", callgrind()]),
        program_total, {**less(3), "a third of the memory": a_third},
    ),
    Row(
        "read-speedscope", "collapse a file of speedscope's; its own importer",
        lambda: speedscope_reads("speedscope", 1),
        printed_total, {**less(3), "a third of the memory": a_third},
    ),
    Row(
        "read-chrome", "collapse a trace of events as Chrome's; speedscope's importer",
        lambda: speedscope_reads("chrome-trace", 16),
        printed_total, {**less(3), "a third of the memory": a_third},
    ),
]
for tool in ("fg-collapse", "fg-filter", "fg-diff", "fg-render"):
    for times in (4, 16):
        ROWS.append(Row(
            f"grow-{tool.removeprefix('fg-')}-{times}", f"{tool} of {times} times as much; of a sixteenth of the file",
            lambda tool=tool, times=times: more_of_it(tool, 16 // times),
            grown, at_most(round(1.1 * times, 1)),
        ))
