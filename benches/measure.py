"""What a run of a program takes: processor time, time, memory, and instructions."""

import re
import statistics
import subprocess
import sys

from tools import BENCH, ENVIRONMENT, need


class Took:
    """What one run took, as the launcher reports it."""

    def __init__(self, report):
        user, system, self.wall, peak, status = map(float, report.split())
        self.cpu, self.peak, self.status = user + system, peak / 1024, int(status)


def once(side, output=None):
    """Runs a side of a row. grep knows /dev/null and stops early there: all write into a pipe."""
    command, source = side
    report = BENCH / "report"
    feeder = None
    stdin = subprocess.DEVNULL
    if source is not None:
        feeder = subprocess.Popen(["cat", str(source)], stdout=subprocess.PIPE)
        stdin = feeder.stdout
    process = subprocess.Popen(
        [str(BENCH / "launch"), str(report), *map(str, command)],
        stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT,
    )
    if feeder is not None:
        feeder.stdout.close()
    drain = subprocess.Popen(["cat"], stdin=process.stdout, stdout=output or subprocess.DEVNULL)
    process.stdout.close()
    process.wait()
    drain.wait()
    if feeder is not None:
        feeder.wait()
    took = Took(report.read_text())
    if took.status != 0:
        sys.exit(f"bench: exit status {took.status} of {' '.join(map(str, command))}")
    return took


def pairs(a, b, runs):
    once(a), once(b)
    return [(once(a), once(b)) for _ in range(runs)]


class Pairs:
    """What the runs of a row took, each number the median over its pairs; [0] is ours."""

    def __init__(self, took):
        ratios = [a.cpu / b.cpu for a, b in took]
        self.ratio, self.ratios = statistics.median(ratios), (min(ratios), max(ratios))
        sides = list(zip(*took))
        self.cpu, self.wall, self.peak = (
            [statistics.median(getattr(one, what) for one in side) for side in sides]
            for what in ("cpu", "wall", "peak")
        )
        self.least_cpu = [min(one.cpu for one in side) for side in sides]


def instructions(side):
    """The instructions that a side executes, as cachegrind counts them: the same on a busy machine."""
    need("valgrind")
    command, source = side
    counts = BENCH / "cachegrind"
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={counts}", *map(str, command)]
    with open(source or "/dev/null", "rb") as stdin:
        subprocess.run(valgrind, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT, check=True)
    return int(re.search(r"^summary: ([0-9]+)", counts.read_text(), re.MULTILINE)[1])
