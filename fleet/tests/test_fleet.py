"""The whole program, on two threads and on a cluster, against `fg-collapse -r` on the same files."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
import unittest.mock
from pathlib import Path

import recordings
from cluster import Cluster, kill_executor_of, until

from fg_fleet import cli

PROGRAMS = Path(os.environ.get("FG_BIN", Path(__file__).parents[2] / "target" / "debug")).resolve()
# The recordings that are compared with one machine; ten thousand take a quarter of an hour.
COUNT = int(os.environ.get("FG_FLEET_RECORDINGS", "60"))
# The bytes of a recording that has a task for itself; 2 GB take some minutes.
LARGE = int(os.environ.get("FG_FLEET_BYTES", str(8 << 20)))
SMALL = ["--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.driver.host=127.0.0.1"]


class Fleet(unittest.TestCase):
    """A folder for a test, and the program."""

    master = "local[2]"

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="fg-fleet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.profiles = self.folder / "p"
        self.data = self.folder / "data"
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{PROGRAMS}{os.pathsep}{path}"
        self.addCleanup(os.environ.__setitem__, "PATH", path)

    def fleet(self, *arguments: object, status: int = 0) -> tuple[str, str]:
        """Runs fg-fleet, and returns what it wrote and said."""
        given = [str(argument) for argument in arguments]
        at = given.index("--") if "--" in given else len(given)
        given[at:at] = ["--master", self.master, *SMALL]
        out, says = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(says):
            found = cli.main(given)
        self.assertEqual(found, status, f"{given}: {says.getvalue()}")
        return out.getvalue(), says.getvalue()

    def collapse(self, status: int = 0, *more: object, folder: object = None) -> str:
        """Adds the recordings to the data set."""
        labels = ["--labels", recordings.PATTERN]
        return self.fleet("collapse", folder or self.profiles, "--out", self.data, *labels, *more, status=status)[1]

    def folded(self, where: str, *by: str) -> bytes:
        """The answer of the data set."""
        out = self.folder / "out.folded"
        by_labels = ["--by", ",".join(by)] if by else []
        self.fleet("folded", self.data, "--where", where, *by_labels, "-o", out, "--", "--no-header", "--quiet")
        return out.read_bytes()

    def on_one_machine(self, kind: str) -> tuple[bytes, str]:
        """The answer of `fg-collapse -r`, and the files that it left out."""
        labels = ["--label", "service,version,host", "--path-pattern", recordings.PATTERN.partition("/")[2]]
        command = [PROGRAMS / "fg-collapse", "-r", self.profiles / kind, "--no-header", *labels]
        done = subprocess.run(command, capture_output=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout, done.stderr.decode()

    def expect_equal_to_one_machine(self) -> None:
        for kind in recordings.SOURCES:
            expected, _ = self.on_one_machine(kind)
            self.assertGreater(len(expected), 0)
            found = self.folded(f"kind = '{kind}'", "service", "version", "host")
            if found != expected:
                lines = set(found.splitlines()) ^ set(expected.splitlines())
                self.fail(f"{kind}: these lines are in one of them only: {sorted(lines)[:6]}")

    def files(self) -> dict[str, int]:
        """The files of the data set, with their times."""
        found = (path for path in self.data.rglob("*") if path.is_file())
        return {str(path.relative_to(self.data)): path.stat().st_mtime_ns for path in found}


class OnThisMachine(Fleet):
    def test_sums_are_those_of_one_machine_and_a_repeated_run_adds_nothing(self) -> None:
        recordings.write(self.profiles, COUNT)
        says = self.collapse()
        all_of_them = COUNT + 2
        last = f"fg-fleet: {all_of_them} recordings added, 0 there before, 0 left out"
        self.assertEqual(says.splitlines()[-1], last)
        self.expect_equal_to_one_machine()
        before = self.files()
        self.assertTrue(any(name.startswith("stacks/run=") and "/service=web" in name for name in before))
        says = self.collapse()
        last = f"fg-fleet: 0 recordings added, {all_of_them} there before, 0 left out"
        self.assertEqual(says.splitlines()[-1], last)
        self.assertEqual(self.files(), before)
        # What a run has left that was killed counts for nothing, and is removed.
        run = next((self.data / "stacks").iterdir())
        left = [shutil.copytree(run, run.with_name("run=dead")), self.data / "functions" / "run=dead"]
        left[1].mkdir()
        expected, _ = self.on_one_machine("us")
        self.assertEqual(self.folded("kind = 'us'", "service", "version", "host"), expected)
        # Only what is new is added, and what was changed is said.
        new = self.profiles / "us/api/3/host9/1.folded"
        new.parent.mkdir(parents=True)
        new.write_bytes(b"# unit: us\nmain;new 5\n")
        changed = self.profiles / "ns/api/2.1/host1/hard.folded"
        changed.write_bytes(b"# unit: ns\nmain;b 100000\n")
        says = self.collapse(1)
        self.assertIn(f"{changed}: it was changed after it had been read", says)
        last = f"fg-fleet: 1 recordings added, {all_of_them} there before, 1 left out"
        self.assertEqual(says.splitlines()[-1], last)
        self.assertFalse(any(path.exists() for path in left))
        expected, _ = self.on_one_machine("us")
        self.assertEqual(self.folded("kind = 'us'", "service", "version", "host"), expected)

    def test_broken_files_are_a_table_with_their_messages(self) -> None:
        recordings.write(self.profiles, 8)
        recordings.write_broken(self.profiles)
        says = self.collapse(1)
        self.assertEqual(says.splitlines()[-1], "fg-fleet: 10 recordings added, 0 there before, 5 left out")
        self.expect_equal_to_one_machine()
        _, named = self.on_one_machine("ns")
        for name, message in {
            "text.gz": "not a format known here",
            "cut.gz": "cut",
            "empty.gz": "no samples",
            "stray": "its path does not fit --labels",
            "two.gz": "a differential profile",
        }.items():
            self.assertRegex(says, f"{name}: .*{message}")
            if name not in ("stray", "empty.gz"):
                self.assertIn(name, named)
        before = self.files()
        self.collapse(1)
        self.assertEqual(self.files(), before, "the same rejects are not added again")
        # A file that was mended is read.
        (self.profiles / "ns/api/2.1/host2/text.gz").write_bytes(b"# unit: ns\nmain;mended 1\n")
        says = self.collapse(1)
        self.assertEqual(says.splitlines()[-1], "fg-fleet: 1 recordings added, 10 there before, 4 left out")
        self.assertIn(b";main;mended 1\n", self.folded("kind = 'ns'", "host"))

    def test_a_large_recording_has_a_task_for_itself_and_equal_sums(self) -> None:
        recordings.write(self.profiles, 8)
        large = self.profiles / "ns/api/2.1/host1/large.perf"
        recordings.write_large(large, LARGE)
        says = self.collapse()
        self.assertEqual(says.splitlines()[-1], "fg-fleet: 11 recordings added, 0 there before, 0 left out")
        self.expect_equal_to_one_machine()

    maxDiff = None

    def test_questions(self) -> None:
        for version, hot in (("2.3", 100), ("2.4", 300)):
            for host in range(4):
                folder = self.profiles / "ns/api" / version / f"host{host}"
                folder.mkdir(parents=True)
                text = f"# unit: ns\nmain;hot;main {hot + host}\nmain;cold 1000.5\n"
                (folder / "1.folded").write_text(text)
        heap = self.profiles / "bytes/api/2.3/host0"
        heap.mkdir(parents=True)
        (heap / "1.folded").write_text("# unit: bytes\nmain 7\n")
        out, _ = self.fleet("collapse", self.profiles, "--out", self.data, "--labels", recordings.PATTERN, "--top", "1")
        self.assertEqual(
            [line for line in out.splitlines() if line.endswith("in all")], ["7 bytes in all", "9616 ns in all"]
        )
        expected = ["unit\tself\tself%\ttotal\ttotal%\tversion\tfunction"]
        expected += ["ns\t4002\t41.62%\t4002\t41.62%\t2.3\tcold", "ns\t4002\t41.62%\t4002\t41.62%\t2.4\tcold"]
        expected += ["ns\t1206\t12.54%\t5208\t54.16%\t2.4\tmain", "ns\t406\t4.22%\t4408\t45.84%\t2.3\tmain"]
        expected += ["ns\t0\t0.00%\t1206\t12.54%\t2.4\thot", "ns\t0\t0.00%\t406\t4.22%\t2.3\thot"]
        # Out of the table by function, and out of the stacks, since that one has no hosts.
        for where in ("unit = 'ns'", "unit = 'ns' and host like 'host%'"):
            out, _ = self.fleet("top", self.data, "--where", where, "--by", "version", "--tsv")
            self.assertEqual(out.splitlines(), expected)
        _, says = self.fleet("folded", self.data, status=2)
        self.assertIn("several units cannot be added up: space in bytes (1 recordings), time in ns (8", says)
        _, says = self.fleet("folded", self.data, "--where", "service = 'nobody'", status=2)
        self.assertIn("nothing is there of which that is true; the labels are host, kind, service, time, version", says)
        _, says = self.fleet("folded", self.data, "--where", "service = ", status=2)
        self.assertIn("PARSE_SYNTAX_ERROR", says)
        _, says = self.fleet("top", self.folder, status=2)
        self.assertIn("there is no data set of fg-fleet", says)
        # Hosts are the runs of the test.
        report = self.folder / "report.json"
        sides = ["--before", "version = '2.3'", "--after", "version = '2.4'"]
        self.fleet("diff", self.data, "--where", "unit = 'ns'", *sides, "-o", report, "--", "--json")
        files = {}
        for version in ("2.3", "2.4"):
            hosts = (self.profiles / "ns/api" / version).iterdir()
            files[version] = [host / "1.folded" for host in sorted(hosts)]
        command = [PROGRAMS / "fg-diff", "--json", "--before", *files["2.3"], "--after", *files["2.4"]]
        direct = subprocess.run(command, capture_output=True, check=True).stdout
        self.assertEqual(rows(report.read_bytes()), rows(direct))
        picture = self.folder / "x.svg"
        self.fleet("render", self.data, "--where", "unit = 'ns'", "-o", picture, "--", "--title", "all of it")
        self.assertRegex(picture.read_text(), "(?s)<svg.*all of it.*hot")

    def test_duckdb_reads_the_same_files(self) -> None:
        try:
            import duckdb
        except ImportError:
            self.skipTest("no DuckDB: pip install duckdb")
        recordings.write(self.profiles, 8)
        self.collapse()
        stacks = f"read_parquet('{self.data}/stacks/**/*.parquet', hive_partitioning = true)"
        total = duckdb.sql(f"select sum(weight) from {stacks} where labels['kind'] = 'us'").fetchall()
        sums = [line.rpartition(b" ")[2] for line in self.on_one_machine("us")[0].splitlines()]
        self.assertEqual(total, [(sum(map(int, sums)),)])
        functions = f"read_parquet('{self.data}/functions/**/*.parquet', hive_partitioning = true)"
        by_function = duckdb.sql(f"select sum(self) from {functions} where unit = 'us' and service = 'api'").fetchall()
        by_stack = duckdb.sql(f"select sum(weight) from {stacks} where unit = 'us' and service = 'api'").fetchall()
        self.assertEqual(by_function, by_stack)

    def test_the_sql_of_the_readme_runs(self) -> None:
        try:
            import duckdb
        except ImportError:
            self.skipTest("no DuckDB: pip install duckdb")
        recordings.write(self.profiles, 8)
        recordings.write_broken(self.profiles)
        # As from an object store: listed by PyArrow, and piped.
        _, says = self.fleet("collapse", "file:///nowhere", "--out", self.data, status=2)
        self.assertIn("file:///nowhere: cannot list it: ", says)
        says = self.collapse(1, folder=f"file://{self.folder}/p")
        self.assertEqual(says.splitlines()[-1], "fg-fleet: 10 recordings added, 0 there before, 5 left out")
        self.assertRegex(says, f"file://{self.profiles}/.*/cut.gz: damaged gzip data")
        self.expect_equal_to_one_machine()
        readme = (Path(__file__).parents[1] / "README.md").read_text()
        block = next(part for part in readme.split("```text\n") if part.startswith("create view")).partition("```")[0]
        connection = duckdb.connect()
        out = self.folder / "day.folded"
        answers = []
        for statement in block.replace("'data/", f"'{self.data}/").replace("'day.folded'", f"'{out}'").split(";\n"):
            # The day of the recordings, in their labels, is that of the files.
            statement = re.sub(r"day = '[^']+' and", "", statement)
            if statement.strip():
                answers.append(connection.execute(statement).fetchall())
        self.assertEqual(len(answers), 7)
        self.assertEqual(
            {Path(path).name for path, _ in answers[-1]}, {*(f"{name}.gz" for name in recordings.BROKEN), "stray"}
        )
        self.assertIn("main;a;c 18446744073709551616", out.read_text())

    def test_a_changed_program_reads_nothing(self) -> None:
        recordings.write(self.profiles, 4)
        with unittest.mock.patch("fg_fleet.collapse.reader.sha256", return_value="0" * 64):
            _, says = self.fleet(
                *("collapse", self.profiles, "--out", self.data, "--labels", recordings.PATTERN), status=2
            )
        self.assertRegex(says, "fg-collapse-0+: the program was changed on its way: sha256 [0-9a-f]{64}, not 0+")
        self.assertFalse((self.data / "recordings").exists())


def rows(report: bytes) -> object:
    """The rows of a report of fg-diff, without the names of files."""
    found = json.loads(report)
    return {key: found[key] for key in ("verdict", "rows")}


class OnACluster(Fleet):
    def test_a_worker_that_is_killed_loses_nothing(self) -> None:
        recordings.write(self.profiles, COUNT, large=20_000)
        recordings.write_broken(self.profiles)
        waiting, gate = self.folder / "waiting", self.folder / "gate"
        gate.touch()
        program = self.folder / "fg-collapse"
        # The task with this recording is under way until the gate is gone.
        program.write_text(f"""#!/bin/sh
case "$*" in *hard.folded)
  [ -e {gate} ] && echo $$ >{waiting}.new && mv {waiting}.new {waiting}
  while [ -e {gate} ]; do sleep 0.1; done ;;
esac
exec {PROGRAMS}/fg-collapse "$@"
""")
        killed: list[int] = []

        def kill() -> None:
            try:
                process = until(lambda: int(waiting.read_text()) if waiting.exists() else None, "the recording")
                killed.append(kill_executor_of(process))
            finally:
                gate.unlink()

        with Cluster(self.folder / "cluster", workers=2) as cluster:
            self.master = cluster.url
            killer = threading.Thread(target=kill)
            killer.start()
            says = self.collapse(1, "--program", program, "--conf", "spark.executor.memory=512m")
            killer.join()
            self.assertEqual(len(killed), 1, says)
            dead = [worker.pid for worker in cluster.workers if worker.poll() is not None]
            self.assertEqual(dead, killed)
            last = f"fg-fleet: {COUNT + 2} recordings added, 0 there before, 5 left out"
            self.assertEqual(says.splitlines()[-1], last)
            before = self.files()
            says = self.collapse(1, "--program", program, "--conf", "spark.executor.memory=512m")
            last = f"fg-fleet: 0 recordings added, {COUNT + 2} there before, 5 left out"
            self.assertEqual(says.splitlines()[-1], last)
            self.assertEqual(self.files(), before)
        self.master = OnThisMachine.master
        self.expect_equal_to_one_machine()


if __name__ == "__main__":
    unittest.main()
