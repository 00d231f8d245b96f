"""A standalone cluster of Spark on this machine: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import pyspark

T = TypeVar("T")
# Nothing here takes long; a machine that is busy may.
PATIENCE = 600


def until(look: Callable[[], T | None], what: str) -> T:
    """Waits until something is there."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = look()
        if found is not None:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come in {PATIENCE} seconds")


class Cluster:
    """One master and some workers with a processor each."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        self.folder.mkdir()
        self.workers: list[subprocess.Popen[bytes]] = []
        self._started: list[subprocess.Popen[bytes]] = []
        self._count = workers
        self.url = ""

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        script = Path(pyspark.__file__).parent / "bin" / "spark-class"
        environment = {
            **os.environ,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOG_DIR": str(self.folder),
            "PYSPARK_PYTHON": sys.executable,
        }
        with open(self.folder / name, "wb") as log:
            process = subprocess.Popen(
                [script, f"org.apache.spark.deploy.{arguments[0]}", *arguments[1:]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
            )
        self._started.append(process)
        return process

    def _said(self, name: str, pattern: str) -> str:
        def look() -> str | None:
            found = re.search(pattern, (self.folder / name).read_text(errors="replace"))
            return found[0] if found else None

        return until(look, f"{pattern!r} of {name}")

    def __enter__(self) -> Cluster:
        web = ["--webui-port", "0"]
        self._start("master", "master.Master", "--host", "127.0.0.1", "--port", "0", *web)
        try:
            self.url = self._said("master", r"spark://127\.0\.0\.1:\d+")
            for number in range(self._count):
                work = ["--work-dir", str(self.folder / f"work{number}")]
                room = ["--cores", "1", "--memory", "1g"]
                self.workers.append(self._start(f"worker{number}", "worker.Worker", *web, *work, *room, self.url))
            for number in range(self._count):
                self._said(f"worker{number}", "Successfully registered")
        except BaseException:
            self._end()
            raise
        return self

    def _end(self) -> None:
        for process in reversed(self._started):
            process.terminate()
        for process in self._started:
            process.wait()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._end()


def kill_executor_of(process: int) -> int:
    """Kills the executor that a process was started by, and its worker. Returns the worker's number."""
    while True:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
        parent = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        if b"CoarseGrainedExecutorBackend" in command:
            os.kill(parent, signal.SIGKILL)
            os.kill(process, signal.SIGKILL)
            return parent
        if parent <= 1:
            raise AssertionError("no executor started it")
        process = parent
