"""`fg-fleet collapse`: a folder of recordings into the data set.

The recordings are cut into chunks of about the same cost, in the order of day and service: a large one has a task
for itself, and a service with most of the data has most of the tasks.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import fs
from pyspark import StorageLevel
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from fg_fleet import reader
from fg_fleet.reader import Program
from fg_fleet.store import Store, Trouble

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GIVEN = "place string, path string, size long, modified long, day string, service string, labels map<string,string>"
# A task has at most this many bytes, but for a recording that is larger.
LARGEST = 256 << 20
# What a recording costs beside its bytes: the start of a program.
COST = 64 << 10
# Tasks for each processor: those that are done early help the others.
TASKS = 4
DAY = re.compile(r"(?<!\d)(20\d\d)[-/]?(0[1-9]|1[0-2])[-/]?(0[1-9]|[12]\d|3[01])(?!\d)")


@dataclass
class Recording:
    """A file that may be a recording."""

    # Its path in its file system, the one that people see, and the one below the folder.
    place: str
    path: str
    relative: str
    size: int
    # Nanoseconds since 1970.
    modified: int
    day: str = ""
    labels: dict[str, str] | None = None

    @property
    def identity(self) -> tuple[str, int, int]:
        """What tells it from another content under its name."""
        return self.path, self.size, self.modified


class PathPattern:
    """`{service}/{version}/{host}/*`: labels from the path, as `fg-collapse -r --path-pattern` takes them."""

    def __init__(self, text: str) -> None:
        self.text = text
        regex, self.names = "", list[str]()
        for part in re.findall(r"\{[^{}/*]+\}|\*\*/|.", re.sub(r"^(\./)+", "", text), re.DOTALL):
            if len(part) > 1 and part[0] == "{":
                self.names.append(part[1:-1])
                regex += "([^/]+)"
            elif part in "{}":
                raise Trouble(f"{text!r}: a name is wanted between braces, as in {{service}}/*")
            else:
                regex += {"**/": "(?:.*/)?", "*": "[^/]*"}.get(part, re.escape(part))
        twice = [name for name in self.names if self.names.count(name) > 1]
        if twice:
            raise Trouble(f"{text!r}: {{{twice[0]}}} stands there twice")
        self._regex = re.compile(regex, re.DOTALL)

    def labels(self, relative: str) -> dict[str, str] | None:
        """The labels of a path; none if it does not fit."""
        found = self._regex.fullmatch(relative)
        return dict(zip(self.names, map(_clean, found.groups()))) if found else None


def _clean(name: str) -> str:
    return reader.to_text(os.fsencode(name))


def find(root: str, own: str) -> Iterator[Recording]:
    """The files below a folder, but those of the data set itself; names that begin with a dot are passed over."""
    if reader.is_remote(root):
        yield from _find_remote(root, own)
        return
    top = os.path.abspath(root)
    if not os.path.isdir(top):
        raise Trouble(f"{root}: it is no folder")
    own = os.path.realpath(own.removeprefix("file:"))

    def unreadable(error: OSError) -> None:
        raise Trouble(f"{error.filename}: cannot read the folder: {error.strerror}")

    for folder, folders, files in os.walk(top, onerror=unreadable):
        folders[:] = [name for name in folders if name[0] != "." and os.path.realpath(f"{folder}/{name}") != own]
        if "data" in files and _is_threaded(f"{folder}/data"):
            # `perf record --threads` writes a folder.
            folders.clear()
            files = [""]
        for name in files:
            place = os.path.join(folder, name).rstrip("/")
            kind = os.lstat(place)
            if name.startswith(".") or os.path.islink(place) or not (os.path.isfile(place) or name == ""):
                continue
            relative = os.path.relpath(place, top)
            yield Recording(place, place, relative, kind.st_size, kind.st_mtime_ns)


def _is_threaded(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(8) == b"PERFILE2"
    except OSError:
        return False


def _find_remote(root: str, own: str) -> Iterator[Recording]:
    scheme = root.partition("://")[0]
    try:
        filesystem, top = reader.filesystem(root)
        infos = filesystem.get_file_info(fs.FileSelector(top, recursive=True))
    except (OSError, pa.ArrowException) as error:
        raise Trouble(f"{root}: cannot list it: {error}") from error
    own = _plain(own.rstrip("/")) + "/"
    for info in infos:
        relative = info.path[len(top.rstrip("/")) :].lstrip("/")
        shown = f"{scheme}://{info.path}"
        if info.is_file and not _plain(shown).startswith(own) and "/." not in f"/{relative}":
            yield Recording(info.path, shown, relative, info.size, info.mtime_ns or 0)


def _plain(url: str) -> str:
    """A place without what its names differ in: `s3a` and `s3`, `file:/x` and `file:///x`."""
    return re.sub("^s3[an]:", "s3:", re.sub("^file:/+", "file:///", url))


def day_of(recording: Recording) -> str:
    """The label `day`, else a date in the path, else the day of the last change."""
    given = (recording.labels or {}).get("day") or recording.path
    found = DAY.search(given)
    if found:
        return "-".join(found.groups())
    return datetime.fromtimestamp(recording.modified / 1e9, timezone.utc).date().isoformat()


def chunks(recordings: list[Recording], parallelism: int) -> list[list[Recording]]:
    """The recordings of each task."""

    def order(recording: Recording) -> tuple[str, str, str]:
        return recording.day, reader.service_of(recording.labels or {}) or "", recording.path

    recordings = sorted(recordings, key=order)
    total = sum(recording.size + COST for recording in recordings)
    most = min(LARGEST, -(-total // (TASKS * parallelism)))
    parts: list[list[Recording]] = []
    room = 0
    for recording in recordings:
        cost = recording.size + COST
        if cost > room:
            parts.append([])
            room = most
        parts[-1].append(recording)
        room -= cost
    return parts


def ship(spark: SparkSession, program: str | None, options: list[str]) -> Program:
    """Sends fg-collapse and this package to the executors."""
    path = program or os.environ.get("FG_COLLAPSE") or shutil.which("fg-collapse")
    if not path or not os.path.isfile(path):
        raise Trouble(f"no {program or 'fg-collapse'}: install fg-tools, or name the program with --program")
    digest = reader.sha256(path)
    # The driver serves these files as long as the session lasts.
    folder = tempfile.mkdtemp(prefix="fg-fleet-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    name = f"fg-collapse-{digest[:16]}"
    shutil.copyfile(path, f"{folder}/{name}")
    os.chmod(f"{folder}/{name}", 0o755)
    spark.sparkContext.addFile(f"{folder}/{name}")
    with zipfile.ZipFile(f"{folder}/fg_fleet.zip", "w") as package:
        for source in sorted(Path(__file__).parent.glob("*.py")):
            package.write(source, f"fg_fleet/{source.name}")
    spark.sparkContext.addPyFile(f"{folder}/fg_fleet.zip")
    return Program(name, digest, tuple(options))


def collapse(
    spark: SparkSession, root: str, out: str, pattern: str | None, program: str | None, options: list[str]
) -> int:
    """Adds the recordings of a folder that are not there yet. Returns the exit status."""
    shipped = ship(spark, program, options)
    store = Store(spark, out)
    store.begin()
    labels = PathPattern(pattern) if pattern else None
    found = list(find(root, store.root))
    taken, known_rejects = _known(store, _prefix(root))
    new: list[Recording] = []
    rejects: list[tuple[Recording, str]] = []
    there = 0
    for recording in found:
        recording.labels = labels.labels(recording.relative) if labels else {}
        recording.path, recording.relative = _clean(recording.path), _clean(recording.relative)
        recording.day = day_of(recording)
        if recording.path in taken:
            there += 1
            if taken[recording.path] != recording.identity[1:]:
                rejects.append((recording, "it was changed after it had been read: its old samples are kept"))
        elif recording.labels is None:
            rejects.append((recording, f"its path does not fit --labels {pattern}"))
        else:
            new.append(recording)
    if not new and not rejects and not there:
        raise Trouble(f"{root}: there are no files in it")
    parts = chunks(new, spark.sparkContext.defaultParallelism)
    given = spark.sparkContext.parallelize([list(map(_row, part)) for part in parts], max(1, len(parts)))
    rows = spark.createDataFrame(given.flatMap(list), GIVEN).mapInArrow(
        partial(reader.read, program=shipped, root=root), from_arrow_schema(reader.ROW)
    )
    # All tables come from one reading.
    rows = rows.persist(StorageLevel.DISK_ONLY)
    try:
        count = rows.where("kind = 'recordings'").count()
        by_path = {recording.path: recording for recording in new}
        for row in rows.where("kind = 'rejects'").select("path", "message").toLocalIterator():
            rejects.append((by_path[row.path], row.message))
        fresh = [item for item in rejects if (*item[0].identity, item[1]) not in known_rejects]
        if count or fresh:
            kept = rows.where("kind <> 'rejects'")
            if fresh:
                said = [reader.one("rejects", **_given(recording), message=why) for recording, why in fresh]
                table = pa.Table.from_batches(said, schema=reader.ROW)
                kept = kept.unionByName(spark.createDataFrame(table).select(kept.columns))
            store.write(_run(new, fresh, shipped), kept, len(parts))
    finally:
        rows.unpersist()
    for recording, message in sorted(rejects, key=lambda item: item[0].path):
        print(f"fg-fleet: {recording.path}: {message}", file=sys.stderr)
    print(f"fg-fleet: {count} recordings added, {there} there before, {len(rejects)} left out", file=sys.stderr)
    return 1 if rejects else 0


def _prefix(root: str) -> str:
    """The beginning of all paths below a folder."""
    if not reader.is_remote(root):
        return _clean(os.path.abspath(root).rstrip("/") + "/")
    return f"{root.partition('://')[0]}://{reader.filesystem(root)[1].rstrip('/')}/"


def _known(store: Store, prefix: str) -> tuple[dict[str, tuple[int, int]], set[tuple[str, int, int, str]]]:
    """The recordings of a folder that are there, and the rejects with their messages."""
    identity = ("path", "size", "modified")
    # Parquet's statistics tell the runs that hold none of them.
    is_below = F.col("path").startswith(prefix)
    taken = store.read("recordings").where(is_below).select(*identity).toLocalIterator()
    rejects = store.read("rejects").where(is_below).select(*identity, "message").toLocalIterator()
    return {row.path: (row.size, row.modified) for row in taken}, {tuple(row) for row in rejects}


def _given(recording: Recording) -> dict[str, object]:
    service = reader.service_of(recording.labels or {})
    return {
        **{"path": recording.path, "size": recording.size, "modified": recording.modified},
        **{"day": recording.day, "service": service},
    }


def _row(recording: Recording) -> tuple[object, ...]:
    given = _given(recording)
    labels = recording.labels or {}
    return recording.place, *(given[name] for name in ("path", "size", "modified", "day", "service")), labels


def _run(new: list[Recording], rejects: list[tuple[Recording, str]], program: Program) -> str:
    """The name of a run: the same for the same work, so that it cannot be there twice."""
    digest = hashlib.sha256(f"{program.sha256} {program.options}".encode())
    for recording in sorted(new, key=lambda recording: recording.path):
        digest.update(repr(recording.identity).encode())
    for recording, message in rejects:
        digest.update(repr((recording.identity, message)).encode())
    return digest.hexdigest()[:16]
