"""One task of a collapse, on an executor: recordings through `fg-collapse`, and rows of Arrow out of its text.

A row has a `kind`, which is the table that it goes to. `fg-collapse` writes to a temporary file, and its rows
leave only when it has ended well: nothing of a recording that cannot be read is in the tables.

Weights are integers of 10^-18 here, and decimals in the tables: nothing is rounded.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import IO, Any

import pyarrow as pa
from pyarrow import fs

DECIMALS = 18
DIGITS = 38
WEIGHT = pa.decimal128(DIGITS, DECIMALS)
LABELS = pa.map_(pa.string(), pa.string())
FRAME = pa.struct([("function", pa.string()), ("file", pa.string()), ("line", pa.int64()), ("module", pa.string())])
TIME = pa.timestamp("us", tz="UTC")

# The rows of all tables; each table has some of the columns.
ROW = pa.schema(
    [
        ("kind", pa.string()),
        ("day", pa.string()),
        ("service", pa.string()),
        ("time", TIME),
        ("labels", LABELS),
        ("value_type", pa.string()),
        ("unit", pa.string()),
        ("stack", pa.list_(FRAME)),
        ("weight", WEIGHT),
        ("function", pa.string()),
        ("self", WEIGHT),
        ("total", WEIGHT),
        ("path", pa.string()),
        ("size", pa.int64()),
        ("modified", pa.int64()),
        ("stacks", pa.int64()),
        ("facts", pa.string()),
        ("message", pa.string()),
    ]
)

# A batch ends at this number of rows or frames: some megabytes in memory.
ROWS = 8192
FRAMES = 200_000
# The functions of this many pairs of labels and function are kept before they are handed on.
FUNCTIONS = 500_000
# Labels with a value for each recording: the table by function adds up over them.
NOT_BY_FUNCTION = ("time", "host")
# What the value is called that has no name, by its unit, as `--format parquet` has it.
VALUE_TYPES = {
    "samples": "samples",
    "ns": "time",
    "us": "time",
    "µs": "time",
    "ms": "time",
    "s": "time",
    "bytes": "space",
}
MESSAGE = 2000


class Reject(Exception):
    """A recording that cannot be read, with the message about it."""


@dataclass(frozen=True)
class Program:
    """The program that reads recordings, as every executor gets it."""

    # The name of the file that Spark sends to the executors.
    name: str
    sha256: str
    options: tuple[str, ...]

    def path(self) -> str:
        """The path of the program here, after its hash was checked."""
        from pyspark import SparkFiles

        path = SparkFiles.get(self.name)
        if (path, self.sha256) not in _CHECKED:
            found = sha256(path)
            if found != self.sha256:
                raise RuntimeError(f"{path}: the program was changed on its way: sha256 {found}, not {self.sha256}")
            os.chmod(path, 0o755)
            _CHECKED.add((path, self.sha256))
        return path


_CHECKED: set[tuple[str, str]] = set()


def sha256(path: str) -> str:
    """The hash of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


# --- text -------------------------------------------------------------------------------------

_ESCAPED = re.compile("[\udc80-\udcff\uef80-\uefff]")
_ESCAPES = re.compile(rb"\xee(?:\xbe[\x80-\xbf]|\xbf[\x80-\xbf])")


def to_text(name: bytes) -> str:
    """A name as text. A byte that is no UTF-8 becomes U+EF00 plus the byte; `to_bytes` gives it back."""
    text = name.decode("utf-8", "surrogateescape")
    if not text.isascii() and _ESCAPED.search(text):
        # Names that hold these characters themselves are escaped byte by byte.
        text = _ESCAPED.sub(lambda at: "".join(chr(0xEF00 + b) for b in _raw(at[0])), text)
    return text


def to_bytes(text: str) -> bytes:
    """The name that `to_text` made a text of."""
    return _ESCAPES.sub(lambda at: bytes([ord(at[0].decode()) - 0xEF00]), text.encode())


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def scaled(weight: bytes) -> int:
    """A weight as an integer of 10^-18."""
    whole, _, part = weight.partition(b".")
    if len(part) > DECIMALS:
        raise Reject(f"the weight {weight.decode()} has more than {DECIMALS} decimals")
    number = int(whole + part) * 10 ** (DECIMALS - len(part))
    if abs(number) >= 10**DIGITS:
        raise Reject(f"the weight {weight.decode()} has more than {DIGITS - DECIMALS} digits before the point")
    return number


def decimals(numbers: list[int]) -> pa.Array:
    """Integers of 10^-18 as decimals."""
    data = b"".join(number.to_bytes(16, "little", signed=True) for number in numbers)
    return pa.Array.from_buffers(WEIGHT, len(numbers), [None, pa.py_buffer(data)])


def parse_time(text: str) -> datetime | None:
    """`2026-11-21T10:00:00.123456789Z`, to the microsecond."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?Z", text)
    if not found:
        return None
    try:
        whole = datetime.fromisoformat(found[1]).replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return whole + timedelta(microseconds=int((found[2] or "")[:6].ljust(6, "0")))


def service_of(labels: dict[str, str]) -> str | None:
    """The service, as `--format parquet` finds it among the labels."""
    return next((labels[key] for key in ("service", "service.name", "service_name") if key in labels), None)


# --- recordings -------------------------------------------------------------------------------


@dataclass
class Facts:
    """The header in front of the stacks."""

    text: str = ""
    unit: str | None = None
    event: str | None = None
    start: datetime | None = None
    labels: list[str] = field(default_factory=list)

    def take(self, line: bytes) -> None:
        """Takes a line of the header."""
        text = to_text(line)
        self.text += text + "\n"
        key, _, value = text[2:].partition(": ")
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        if key == "unit":
            self.unit = value
        elif key == "event":
            self.event = value
        elif key == "start":
            self.start = parse_time(value)
        elif key == "labels":
            self.labels = value.split(", ")

    @property
    def value_type(self) -> str:
        """The name of the value: its event, where that is known."""
        return self.event or VALUE_TYPES.get(self.unit or "", self.unit or "weight")


def run(program: Program, root: str, recording: dict[str, Any], out: IO[bytes]) -> str:
    """Writes the folded text of a recording, and returns what was said of it."""
    place = recording["place"]
    command = [program.path(), *program.options, "-" if is_remote(root) else place]
    with tempfile.TemporaryFile() as says:
        given = subprocess.PIPE if is_remote(root) else subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=given, stdout=out, stderr=says)
        try:
            if process.stdin:
                feed(root, place, process.stdin)
            status = process.wait()
        finally:
            process.kill()
            process.wait()
        says.seek(0)
        message = to_text(says.read(MESSAGE)).strip()
    message = message.replace("fg-collapse: ", "").replace(place + ": ", "").replace("standard input: ", "")
    if status < 0:
        raise Reject(f"fg-collapse was ended by signal {-status}, as the system does without memory. {message}")
    if status:
        raise Reject(message or f"fg-collapse failed with status {status}")
    return message


def is_remote(root: str) -> bool:
    """True if a folder is in an object store or another file system that programs cannot open."""
    return "://" in root


def filesystem(root: str) -> tuple[fs.FileSystem, str]:
    """The file system of a folder, and the folder's path in it."""
    if not is_remote(root):
        return fs.LocalFileSystem(), os.path.abspath(root)
    return fs.FileSystem.from_uri(re.sub("^s3[an]://", "s3://", root))


def feed(root: str, place: str, pipe: IO[bytes]) -> None:
    """Writes a remote recording to a program."""
    try:
        stream = filesystem(root)[0].open_input_stream(place, compression=None)
    except OSError as error:
        raise Reject(f"cannot open it: {error}") from error
    with stream, contextlib.suppress(BrokenPipeError), pipe:
        # A program that has seen enough closes its input.
        while True:
            try:
                block = stream.read(1 << 20)
            except OSError as error:
                raise Reject(f"cannot read it: {error}") from error
            if not block:
                break
            pipe.write(block)


class Rows:
    """Rows of stacks and functions that wait to be handed on."""

    def __init__(self) -> None:
        self.functions: dict[tuple[Any, ...], dict[str, list[int]]] = {}
        self.function_count = 0
        self.clear()

    def clear(self) -> None:
        """Forgets the stacks."""
        self.names: dict[bytes, int] = {}
        self.texts: list[str] = []
        self.stacks: dict[bytes, int] = {}
        self.frames: list[int] = []
        self.offsets: list[int] = [0]
        # The functions of each stack, its own one first.
        self.within: list[tuple[str, ...]] = []
        self.recordings: list[dict[str, Any]] = []
        self.row_stack: list[int] = []
        self.row_recording: list[int] = []
        self.weights: list[int] = []

    def is_full(self) -> bool:
        """True if the stacks should be handed on."""
        return len(self.weights) >= ROWS or len(self.frames) >= FRAMES

    def number(self, stack: bytes) -> int:
        """The number of a stack."""
        number = self.stacks.get(stack)
        if number is not None:
            return number
        number = self.stacks[stack] = len(self.within)
        frames = []
        for name in stack.split(b";"):
            frame = self.names.get(name)
            if frame is None:
                frame = self.names[name] = len(self.texts)
                self.texts.append(to_text(name))
            frames.append(frame)
        self.frames += frames
        self.offsets.append(len(self.frames))
        self.within.append(tuple(self.texts[frame] for frame in dict.fromkeys(reversed(frames))))
        return number

    def add(self, recording: int, sums: dict[str, list[int]], stack: bytes, weight: int) -> None:
        """Adds a row; `sums` are those of the functions with its labels."""
        number = self.number(stack)
        self.row_stack.append(number)
        self.row_recording.append(recording)
        self.weights.append(weight)
        own = weight
        for function in self.within[number]:
            so_far = sums.get(function)
            if so_far is None:
                sums[function] = [own, weight]
                self.function_count += 1
            else:
                so_far[0] += own
                so_far[1] += weight
            own = 0

    def take_stacks(self) -> pa.RecordBatch:
        """Hands on the stacks."""
        texts = pa.array(self.texts, pa.string())
        function = texts.take(pa.array(self.frames, pa.int32()))
        nothing = [pa.nulls(len(function), kind) for kind in (pa.string(), pa.int64(), pa.string())]
        frames = pa.StructArray.from_arrays([function, *nothing], fields=list(FRAME))
        stacks = pa.ListArray.from_arrays(pa.array(self.offsets, pa.int32()), frames)
        which = pa.array(self.row_recording, pa.int32())
        columns = {
            name: pa.array([recording[name] for recording in self.recordings], ROW.field(name).type).take(which)
            for name in ("day", "service", "time", "labels", "value_type", "unit")
        }
        columns["stack"] = stacks.take(pa.array(self.row_stack, pa.int32()))
        columns["weight"] = decimals(self.weights)
        self.clear()
        return batch("stacks", columns)

    def take_functions(self) -> Iterator[pa.RecordBatch]:
        """Hands on the functions."""
        for (day, service, labels, value_type, unit), sums in self.functions.items():
            names = list(sums)
            for start in range(0, len(names), ROWS):
                part = names[start : start + ROWS]
                shared = {"day": day, "service": service, "labels": labels, "value_type": value_type, "unit": unit}
                columns = {
                    name: pa.array([value], ROW.field(name).type).take(pa.array([0] * len(part), pa.int32()))
                    for name, value in shared.items()
                }
                columns["function"] = pa.array(part, pa.string())
                columns["self"] = decimals([sums[name][0] for name in part])
                columns["total"] = decimals([sums[name][1] for name in part])
                yield batch("functions", columns)
        self.functions.clear()
        self.function_count = 0


def batch(kind: str, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """Rows of a table; the columns that it does not have are empty."""
    count = len(next(iter(columns.values())))
    columns["kind"] = pa.array([kind] * count, pa.string())
    arrays = [columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in ROW]
    return pa.RecordBatch.from_arrays(arrays, schema=ROW)


def one(kind: str, **values: Any) -> pa.RecordBatch:
    """One row of a table."""
    return batch(kind, {name: pa.array([value], ROW.field(name).type) for name, value in values.items()})


def read_one(program: Program, root: str, recording: dict[str, Any], rows: Rows) -> Iterator[pa.RecordBatch]:
    """The rows of a recording. Its stacks may stay behind in `rows`."""
    path_labels = dict(recording["labels"])
    same = {name: recording[name] for name in ("path", "size", "modified", "day", "service")}
    with tempfile.TemporaryFile() as out:
        try:
            message = run(program, root, recording, out)
            facts, total = survey(out, path_labels)
        except Reject as reject:
            yield one("rejects", **same, message=str(reject))
            return
        shared = {
            "day": recording["day"],
            "service": recording["service"],
            "time": facts.start,
            "value_type": facts.value_type,
            "unit": facts.unit,
        }
        by_function = [(key, value) for key, value in path_labels.items() if key not in NOT_BY_FUNCTION]
        group = (recording["day"], recording["service"], tuple(by_function), facts.value_type, facts.unit)
        count, own_labels = 0, None
        for labels, stack, weight in lines(out, facts):
            if rows.is_full():
                yield rows.take_stacks()
                own_labels = None
            if rows.function_count >= FUNCTIONS:
                yield from rows.take_functions()
            if labels != own_labels:
                own_labels = labels
                number = len(rows.recordings)
                rows.recordings.append({**shared, "labels": [*path_labels.items(), *labels]})
            sums = rows.functions.setdefault(group, {})
            rows.add(number, sums, stack, weight)
            count += 1
    yield one(
        "recordings",
        **same,
        time=facts.start,
        labels=list(path_labels.items()),
        value_type=facts.value_type,
        unit=facts.unit,
        weight=None if abs(total) >= 10 ** DIGITS else decimals([total])[0].as_py(),
        stacks=count,
        facts=facts.text,
        message=message or None,
    )


def lines(out: IO[bytes], facts: Facts) -> Iterator[tuple[tuple[tuple[str, str], ...], bytes, int]]:
    """The labels, the stack and the weight of each line."""
    out.seek(0)
    is_header = True
    for line in out:
        if is_header and line.startswith(b"# "):
            continue
        is_header = False
        stack, _, weight = line.rstrip(b"\n").rpartition(b" ")
        labels = []
        for key in facts.labels:
            first, _, rest = stack.partition(b";")
            found, equals, value = first.partition(b"=")
            if not equals or to_text(found) != key:
                break
            if value:
                labels.append((key, to_text(value)))
            stack = rest
        yield tuple(labels), stack, scaled(weight)


# A profile is a differential one if all its lines end in two numbers.
_NUMBER = re.compile(rb" -?\d+(\.\d+)?$")


def survey(out: IO[bytes], path_labels: dict[str, str]) -> tuple[Facts, int]:
    """Reads the header, and refuses a recording before any row of it has left."""
    facts = Facts()
    out.seek(0)
    for line in out:
        if not line.startswith(b"# "):
            break
        facts.take(line.rstrip(b"\n"))
    both = [key for key in facts.labels if key in path_labels]
    if both:
        raise Reject(f"the label {both[0]} is in the path and in the recording")
    total, is_differential = 0, True
    for _, stack, weight in lines(out, facts):
        total += weight
        is_differential = is_differential and _NUMBER.search(stack) is not None
    if is_differential:
        raise Reject("a differential profile, with two weights on each line, cannot be added up with others")
    return facts, total


def read(batches: Iterator[pa.RecordBatch], program: Program, root: str) -> Iterator[pa.RecordBatch]:
    """The rows of a task's recordings, in the order of `ROW`."""
    rows = Rows()
    for given in batches:
        for recording in given.to_pylist():
            yield from read_one(program, root, recording, rows)
    if rows.weights:
        yield rows.take_stacks()
    yield from rows.take_functions()
