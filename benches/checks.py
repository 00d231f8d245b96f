"""Whether both sides of a row of scripts/bench say the same."""

import hashlib
import re
import subprocess
from decimal import Decimal
from pathlib import Path

from inputs import folded, perf_text
from measure import once
from tools import BENCH, inferno, ours


def output_of(side):
    path = BENCH / "output"
    with open(path, "wb") as file:
        once(side, file)
    return path


def folded_lines(side):
    """The lines of the folded text that a side writes, without its header."""
    with open(output_of(side), "rb") as lines:
        yield from (line for line in lines if not line.startswith(b"# "))


def digest(lines):
    whole = hashlib.sha256()
    for line in lines:
        whole.update(line)
    return whole.hexdigest()


def same_bytes(a, b):
    one, other = (digest(folded_lines(side)) for side in (a, b))
    return "same output" if one == other else "OUTPUTS DIFFER"


def same_lines(a, b):
    """The other's lines come in an order of their own."""
    one, other = (digest(sorted(folded_lines(side))) for side in (a, b))
    return "same lines" if one == other else "OUTPUTS DIFFER"


def total(side):
    """The weight of the folded text that a side writes."""
    return sum(Decimal(line.rsplit(None, 1)[1].decode()) for line in folded_lines(side))


def periods(a, b):
    """Both totals, and that of the recording itself: the number before each sample's event."""
    event = re.compile(rb":\s+(\d+)\s+\S+:\s*$")
    with open(perf_text(), "rb") as lines:
        found = (event.search(line) for line in lines if line[:1] not in b"\t \n#")
        truth = sum(int(one[1]) for one in found if one)
    one, other = total(a), total(b)
    if one != truth:
        return f"OUR TOTAL {one:,} IS NOT THE FILE'S {truth:,}"
    lost = (truth - other) / truth
    return f"ours has the file's total, {truth:,}; the other " + (f"lacks {lost:.1%}" if lost else "too")


def same_stacks(a, b):
    """How much of the weight has the same stack on both sides."""

    def stacks(side):
        weights = {}
        for line in folded_lines(side):
            stack, weight = line.rsplit(None, 1)
            # A stack that is longer than what was recorded of it begins with [truncated] here,
            # and mostly with some address of nothing there: [unknown], [anon].
            stack = re.sub(rb"^([^;]*)(;\[[^;]*\])+;", rb"\1;", stack)
            weights[stack] = weights.get(stack, 0) + int(weight)
        return weights

    # perf's text, with names as we tidy them: inferno leaves more of them as they are.
    command, source = b
    b = ([ours("fg-collapse") if part == inferno("collapse-perf") else part for part in command], source)
    one, other = stacks(a), stacks(b)
    if sum(one.values()) != sum(other.values()):
        return f"TOTALS DIFFER: {sum(one.values()):,} and {sum(other.values()):,}"
    same = sum(min(weight, one.get(stack, 0)) for stack, weight in other.items())
    # Of the rest, what the other has without its callers.
    ends = {}
    for stack, weight in one.items():
        process, *frames = stack.split(b";")
        for n in range(1, len(frames)):
            end = b";".join([process, *frames[n:]])
            ends[end] = ends.get(end, 0) + max(0, weight - other.get(stack, 0))
    cut = sum(min(max(0, weight - one.get(stack, 0)), ends.get(stack, 0)) for stack, weight in other.items())
    all_of_it = sum(other.values())
    words = f"{same / all_of_it:.1%} of the weight in the same stacks"
    return words + (f", {cut / all_of_it:.1%} where the other lacks callers" if cut else "")


def nothing_lost(a, b):
    """Hiding keeps the weight that dropping lines loses."""
    kept, dropped, truth = total(a), total(b), total((["cat", folded("sorted")], None))
    words = f"hiding keeps the total, {truth:,}" if kept == truth else f"{kept:,} OF {truth:,} KEPT"
    return f"{words}; grep drops {(truth - dropped) / truth:.0%} of it"


def picture_total(side):
    """The weight of the whole, as a picture of a profile without a unit states it."""
    text = output_of(side).read_text(errors="replace")
    return re.search(r"<title>all \(([0-9,]*[0-9])", text)[1]


def same_root(a, b):
    """The weight of the whole, as both pictures state it."""
    one, other = picture_total(a), picture_total(b)
    return f"same total, {one}" if one == other else f"TOTALS DIFFER: {one} and {other}"


def same_total(a, b):
    """The weight of the whole, as a table and a picture state it."""
    table = re.match(r"[0-9,]*[0-9]", output_of(a).read_text(errors="replace"))
    one, other = table[0] if table else "none", picture_total(b)
    return f"same total, {one}" if one == other else f"TOTALS DIFFER: {one} and {other}"


def written(a, b):
    """How much each writes."""
    one, other = (output_of(side).stat().st_size / 1e6 for side in (a, b))
    return f"{one:.0f} MB and {other:.0f} MB"


def samples_and_losses(a, b):
    """What each has recorded, and what it lost, as one reader counts both."""

    def counted(side):
        once(side)
        recording = side[0][side[0].index("-o") + 1]
        said = subprocess.run([ours("fg-collapse"), "-v", recording], capture_output=True, text=True, check=True)
        samples, lost = re.search(r"(\d+) samples, (\d+) lost", said.stderr).groups()
        return f"{int(samples):,} samples" + (f", {int(lost):,} LOST" if lost != "0" else ", none lost")

    return f"{counted(a)}; the other {counted(b)}"


def ends_after(a, b):
    return f"{once(a).wall - once(b).wall:.2f} s more"


def grown(a, b):
    """How much more each reads than the other."""
    one, other = (sum(part.stat().st_size for part in side[0] if isinstance(part, Path)) for side in (a, b))
    return f"{one / other:.2f} times the input"


def first_value(a, b):
    """The totals of a file of pprof: that of what the other prints is added up by us."""
    one, printed = total(a), output_of(b)
    other = total(([ours("fg-collapse"), "-q", "-f", "pprof-raw", printed.rename(printed.with_name("printed"))], None))
    return f"same total, {one:,}" if one == other else f"TOTALS DIFFER: {one:,} and {other:,}"


def events(a, b):
    """The number of events, each of which the other prints on lines of its own."""
    one = total(a)
    with open(output_of(b), "rb") as lines:
        other = sum(line.startswith(b"jdk.") for line in lines)
    return f"same number of events, {one:,}" if one == other else f"EVENTS DIFFER: {one:,} and {other:,}"


def printed_total(a, b):
    """The totals of a viewer's JSON; the other prints its own."""
    one = total(a)
    other = Decimal(re.search(r"^total (\S+)$", output_of(b).read_text(), re.MULTILINE)[1])
    return f"same total, {one:,}" if one == other else f"TOTALS DIFFER: {one:,} and {other:,}"


def program_total(a, b):
    """The instructions of the whole program."""
    one = total(a)
    other = int(re.search(r"^ *([0-9,]+).*PROGRAM TOTALS", output_of(b).read_text(), re.MULTILINE)[1].replace(",", ""))
    return f"same total, {one:,}" if one == other else f"TOTALS DIFFER: {one:,} and {other:,}"
