"""`fg-fleet collapse` on Apache Spark: `fg-collapse --store` on every processor of a cluster.

The recordings are cut into chunks of about the same cost. A task gives its chunk to `fg-collapse`, which adds it to
the store as a run: what one machine would write, the cluster writes, row for row. Tasks that fail are repeated by
Spark, and a recording that is in the store is passed over, so that nothing is there twice.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fg_fleet.store import Trouble

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A task has at most this many bytes and files, but for a recording that is larger.
LARGEST = 256 << 20
MOST = 2000
# What a recording costs beside its bytes.
COST = 64 << 10
# Tasks for each processor: those that are done early help the others.
TASKS = 4


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
        found = sha256(path)
        if found != self.sha256:
            raise RuntimeError(f"{path}: the program was changed on its way: sha256 {found}, not {self.sha256}")
        os.chmod(path, 0o755)
        return path


def sha256(path: str) -> str:
    """The hash of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def session(master: str | None, conf: list[str], name: str) -> SparkSession:
    """The session of spark-submit, or one of our own."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    # Silent on success; nobody looks at a page of a command that ends soon.
    for key, value in {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={Path(__file__).parent}/log4j2.properties",
        "spark.log.level": "FATAL",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
    }.items():
        builder = builder.config(key, value)
    # Executors on this machine have the same packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for setting in conf:
        key, _, value = setting.partition("=")
        builder = builder.config(key, value)
    return builder.getOrCreate()


def ship(spark: SparkSession, program: str | None, options: list[str]) -> Program:
    """Sends fg-collapse and this package to the executors."""
    path = program or os.environ.get("FG_COLLAPSE") or shutil.which("fg-collapse")
    if not path or not os.path.isfile(path):
        raise Trouble(f"no {program or 'fg-collapse'}: install fg-tools, or name the program with --program")
    digest = sha256(path)
    # The driver serves these files as long as the session lasts.
    folder = tempfile.mkdtemp(prefix="fg-fleet-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    name = f"fg-collapse-{digest[:16]}"
    shutil.copyfile(path, f"{folder}/{name}")
    spark.sparkContext.addFile(f"{folder}/{name}")
    package = shutil.make_archive(f"{folder}/fg_fleet", "zip", Path(__file__).parent.parent, "fg_fleet")
    spark.sparkContext.addPyFile(package)
    return Program(name, digest, tuple(options))


def find(root: str, own: str) -> list[tuple[str, int]]:
    """The files below a folder, by their paths there, and their sizes; names that begin with a dot are passed over."""
    if not os.path.isdir(root):
        raise Trouble(f"{root}: it is no folder")
    own = os.path.realpath(own)
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name[0] != "." and os.path.realpath(f"{folder}/{name}") != own]
        if "data" in files and _is_threaded(f"{folder}/data"):
            # `perf record --threads` writes a folder.
            folders.clear()
            found.append((os.path.relpath(folder, root), 0))
            continue
        for name in files:
            place = os.path.join(folder, name)
            if name[0] != "." and os.path.isfile(place) and not os.path.islink(place):
                found.append((os.path.relpath(place, root), os.stat(place).st_size))
    return sorted(found)


def _is_threaded(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(8) == b"PERFILE2"
    except OSError:
        return False


def chunks(found: list[tuple[str, int]], parallelism: int) -> list[list[str]]:
    """The recordings of each task."""
    total = sum(size + COST for _, size in found)
    most = min(LARGEST, -(-total // (TASKS * parallelism)))
    parts: list[list[str]] = []
    room = 0
    for path, size in found:
        cost = size + COST
        if cost > room or len(parts[-1]) >= MOST:
            parts.append([])
            room = most
        parts[-1].append(path)
        room -= cost
    return parts


def run(part: list[str], program: Program, root: str, out: str, labels: str | None) -> tuple[int, str]:
    """Adds a chunk to the store; the exit status, and what was said."""
    pattern = ["--path-pattern", labels] if labels else []
    command = [program.path(), "-r", "--store", out, *pattern, *program.options, "--", *part]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    said = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1):
        # Spark tries it again, elsewhere.
        raise RuntimeError(said.strip() or f"fg-collapse ended with {done.returncode}")
    return done.returncode, said


def collapse(
    spark: SparkSession, root: str, out: str, labels: str | None, program: str | None, options: list[str]
) -> int:
    """Adds the recordings of a folder that all executors see. Returns the exit status."""
    shipped = ship(spark, program, options)
    root, out = os.path.abspath(root), os.path.abspath(out)
    parts = chunks(find(root, out), spark.sparkContext.defaultParallelism)
    if not parts:
        raise Trouble(f"{root}: there are no files in it")

    def work(part: list[str]) -> tuple[int, str]:
        return run(part, shipped, root, out, labels)

    results: Iterator[Any] = iter(spark.sparkContext.parallelize(parts, len(parts)).map(work).collect())
    status = 0
    for code, said in results:
        status = max(status, code)
        sys.stderr.write(said)
    return status
