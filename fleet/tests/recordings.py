"""Folders of recordings, made of the repository's own."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "tests" / "fixtures"
PATTERN = "{kind}/{service}/{version}/{host}/{time}.*"
# The value of each kind, and recordings of it.
SOURCES = {
    "ns": ("cpu-clock", ["perf-script/cpp-fp/input.txt.gz"]),
    "us": ("cpu", ["austin/v3-cpu/input.txt.gz"]),
    "bytes": ("inuse_space", ["pprof/heap/input.pb.gz"]),
    "samples": (
        "samples",
        ["py-spy/native/input.txt.gz", "py-spy/newline/input.txt", "py-spy/subprocesses/input.txt.gz"],
    ),
}
# Names that are no UTF-8, that are an escape of such bytes, weights with fractions, below zero, beyond 64 bits.
HARD = (
    "# unit: ns\n# event: cpu-clock\n# start: 2026-11-21T10:00:00.5Z\n"
    "main;b\udcff\udc80 1\nmain;\uef80\ue000\uf8ff 2.5\nmain;a b;c 0.000000000000000001\n"
    "main;a;c 18446744073709551616\nmain;a 3\nmain;a;main;a 4\nmain;x\x01y -7\n"
).encode("utf-8", "surrogateescape")
BROKEN = {"text": b"hello there\nthis is no recording\n", "cut": None, "empty": b"", "two": b"main 4 5\n"}


def write(root: Path, count: int, large: int = 2000) -> None:
    """Writes so many recordings, nine of ten of one service, and a larger one of so many stacks."""
    kinds = {kind: [FIXTURES / source for source in sources] for kind, (_, sources) in SOURCES.items()}
    for number in range(count):
        kind = list(kinds)[number % len(kinds)]
        source = kinds[kind][number // len(kinds) % len(kinds[kind])]
        service = "api" if number % 10 else "web; 2"
        host = root / kind / service / f"2.{number % 3}" / f"host{number % 7}"
        host.mkdir(parents=True, exist_ok=True)
        target = host / f"{number:05}.{source.name.partition('.')[2]}"
        try:
            os.link(source, target)
        except OSError:
            target.write_bytes(source.read_bytes())
    odd = root / "ns" / "api" / "2.1" / "host1"
    odd.mkdir(parents=True, exist_ok=True)
    (odd / "hard.folded").write_bytes(HARD)
    stacks = (f"main;worker {number % 97};step{number};leaf\udcfe {number}.25\n" for number in range(1, large))
    text = "# unit: ns\n# event: cpu-clock\n" + "".join(stacks)
    (odd / "large.folded.gz").write_bytes(gzip.compress(text.encode("utf-8", "surrogateescape"), 1))


def write_broken(root: Path) -> None:
    """Writes files that are no recordings."""
    folder = root / "ns" / "api" / "2.1" / "host2"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in BROKEN.items():
        cut = (FIXTURES / SOURCES["ns"][1][0]).read_bytes()[:5000]
        (folder / f"{name}.gz").write_bytes(cut if content is None else content)
    (root / "stray").write_bytes(b"main 1\n")
