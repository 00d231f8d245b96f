"""The whole program against `fg-collapse -r` and `fg-diff` on the same files; on a cluster, too."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

import recordings

from fg_fleet import cli, query
from fg_fleet.store import Store

PROGRAMS = Path(os.environ.get("FG_BIN", Path(__file__).parents[2] / "target" / "debug")).resolve()
# The recordings that are compared with one machine; ten thousand take a quarter of an hour.
COUNT = int(os.environ.get("FG_FLEET_RECORDINGS", "60"))
SMALL = ["--conf", "spark.driver.host=127.0.0.1"]


class Fleet(unittest.TestCase):
    """A folder for a test, and the programs."""

    maxDiff = None

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
        out, says = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(says):
            found = cli.main([str(argument) for argument in arguments])
        self.assertEqual(found, status, f"{arguments}: {says.getvalue()}")
        return out.getvalue(), says.getvalue()

    def fleet_process(self, *arguments: object) -> tuple[str, str]:
        """Runs fg-fleet as a program, and returns what it and those that it calls wrote and said."""
        command = [sys.executable, "-m", "fg_fleet", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def add(self, *more: object, status: int = 0, folder: Path | None = None) -> str:
        """Adds the recordings to the store, and returns what was said."""
        command = [PROGRAMS / "fg-collapse", "-r", folder or self.profiles, "--store", self.data, *more]
        done = subprocess.run([*command, "--path-pattern", recordings.PATTERN], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def expect(self, says: str, added: int, there: int, left_out: int) -> None:
        last = f"fg-collapse: {self.data}: added {added} recordings, {there} there before, {left_out} left out"
        self.assertTrue(says.splitlines()[-1].startswith(last), says)

    def folded(self, where: str, *by: str) -> bytes:
        """The answer of the store."""
        out = self.folder / "out.folded"
        by_labels = ["--by", ",".join(by)] if by else []
        self.fleet("folded", self.data, "--where", where, *by_labels, "-o", out, "--", "--no-header", "--quiet")
        return out.read_bytes()

    def on_one_machine(self, kind: str) -> bytes:
        """The answer of `fg-collapse -r`."""
        labels = ["--label", "service,version,host", "--path-pattern", recordings.PATTERN.partition("/")[2]]
        command = [PROGRAMS / "fg-collapse", "-r", self.profiles / kind, "--no-header", *labels]
        done = subprocess.run(command, capture_output=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertGreater(len(done.stdout), 0)
        return done.stdout

    def expect_equal_to_one_machine(self) -> None:
        for kind, (value, _) in recordings.SOURCES.items():
            expected = self.on_one_machine(kind)
            found = self.folded(f"kind = '{kind}' and value_type = '{value}'", "service", "version", "host")
            if found != expected:
                lines = set(found.splitlines()) ^ set(expected.splitlines())
                self.fail(f"{kind}: these lines are in one of them only: {sorted(lines)[:6]}")

    def files(self) -> dict[str, int]:
        """The files of the store, with their times."""
        found = (path for path in self.data.rglob("*") if path.is_file())
        return {str(path.relative_to(self.data)): path.stat().st_mtime_ns for path in found}


class OnThisMachine(Fleet):
    def test_sums_are_those_of_one_machine_and_a_repeated_run_adds_nothing(self) -> None:
        recordings.write(self.profiles, COUNT)
        self.expect(self.add(), COUNT + 2, 0, 0)
        self.expect_equal_to_one_machine()
        before = self.files()
        self.assertTrue(any(name.startswith("stacks/run=") and "/service=web; 2/" in name for name in before))
        self.expect(self.add(), 0, COUNT + 2, 0)
        self.assertEqual(self.files(), before)
        # What a run has left that was killed counts for nothing, and is removed.
        run = next((self.data / "stacks").iterdir())
        left = [shutil.copytree(run, run.with_name("run=dead")), self.data / "functions" / "run=dead"]
        left[1].mkdir()
        self.assertEqual(self.folded("kind = 'us'", "service", "version", "host"), self.on_one_machine("us"))
        # A file that was touched is no other recording, nor is one that was moved; what was changed is one.
        hard = self.profiles / "ns/api/2.1/host1/hard.folded"
        os.utime(hard, (1, 1))
        hard.rename(hard.with_name("hard.txt"))
        new = self.profiles / "us/api/3/host9/1.folded"
        new.parent.mkdir(parents=True)
        new.write_bytes(b"# unit: us\n# event: cpu\nmain;new 5\n")
        self.expect(self.add(), 1, COUNT + 2, 0)
        self.assertFalse(any(path.exists() for path in left))
        new.write_bytes(b"# unit: us\n# event: cpu\nmain;new 6\n")
        self.expect(self.add(), 1, COUNT + 2, 0)
        self.assertIn(b"version=3;main;new 11\n", self.folded("kind = 'us' and value_type = 'cpu'", "version"))

    def test_broken_files_are_said_once_and_mended_ones_are_read(self) -> None:
        recordings.write(self.profiles, 8)
        recordings.write_broken(self.profiles)
        says = self.add(status=1)
        self.expect(says, 10, 0, 4)
        for name, message in {
            "text.gz": "not a format known here",
            "cut.gz": "cut|damaged|ends",
            "stray": "its path does not fit --path-pattern",
            "two.gz": "a differential profile",
        }.items():
            self.assertRegex(says, f"{name}: .*({message})")
        self.assertIn("1 without samples", says)
        before = self.files()
        self.expect(self.add(), 0, 11, 4)
        self.add("--strict", status=1)
        self.assertEqual(self.files(), before, "the same rejects are not added again")
        listed, _ = self.fleet("sql", self.data, "select path from rejects order by 1")
        self.assertEqual(listed.count("/p/"), 4)
        (self.profiles / "ns/api/2.1/host2/text.gz").write_bytes(b"# unit: ns\nmain;mended 1\n")
        self.expect(self.add(), 1, 11, 3)
        self.assertIn(b";main;mended 1\n", self.folded("kind = 'ns' and value_type = 'time'", "host"))

    def test_writers_at_the_same_time_add_everything_once(self) -> None:
        recordings.write(self.profiles, 12)
        pattern = ["--path-pattern", recordings.PATTERN]
        command = [PROGRAMS / "fg-collapse", "-r", self.profiles, "--store", self.data, *pattern]
        writers = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(4)]
        # One is killed, at whatever moment.
        writers[0].send_signal(signal.SIGKILL)
        self.assertEqual([writer.wait() for writer in writers[1:]], [0, 0, 0])
        self.expect(self.add(), 0, 14, 0)
        self.expect_equal_to_one_machine()
        self.assertFalse((self.data / "_commit").exists())

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
        self.add()
        out, _ = self.fleet("top", self.data)
        heads = [line for line in out.splitlines() if line.endswith("in all")]
        self.assertEqual(heads, ["space: 7 bytes in all", "time: 9616 ns in all"])
        expected = ["value\tunit\tself\tself%\ttotal\ttotal%\tversion\tfunction"]
        expected += ["time\tns\t4002\t41.62%\t4002\t41.62%\t2.3\tcold", "time\tns\t4002\t41.62%\t4002\t41.62%\t2.4\tcold"]
        expected += ["time\tns\t1206\t12.54%\t5208\t54.16%\t2.4\tmain", "time\tns\t406\t4.22%\t4408\t45.84%\t2.3\tmain"]
        expected += ["time\tns\t0\t0.00%\t1206\t12.54%\t2.4\thot", "time\tns\t0\t0.00%\t406\t4.22%\t2.3\thot"]
        # Out of the table by function, and out of the stacks, since that one has no hosts.
        for where in ("unit = 'ns'", "unit = 'ns' and host like 'host%'"):
            out, _ = self.fleet("top", self.data, "--where", where, "--by", "version", "--tsv")
            self.assertEqual(out.splitlines(), expected)
        for arguments, message in (
            (["folded", self.data], "several units cannot be added up: space in bytes (1 recordings), time in ns (8"),
            (["folded", self.data, "--where", "service = 'nobody'"], "the labels are host, kind, service, time, version"),
            (["folded", self.data, "--where", "service = "], "Parser Error"),
            (["top", self.folder], "there is no store"),
            (["top", self.data, "--by", "hots"], "no recording has the label hots"),
        ):
            _, says = self.fleet(*arguments, status=2)
            self.assertIn(message, says)
            self.assertEqual(len(says.splitlines()), 1, says)
        # Hosts are the runs of the test.
        report = self.folder / "report.json"
        sides = ["--before", "version = '2.3'", "--after", "version = '2.4'"]
        self.fleet("diff", self.data, "--where", "unit = 'ns'", *sides, "-o", report, "--", "--format=json")
        files = {}
        for version in ("2.3", "2.4"):
            hosts = (self.profiles / "ns/api" / version).iterdir()
            files[version] = [host / "1.folded" for host in sorted(hosts)]
        command = [PROGRAMS / "fg-diff", "--format=json", "--before", *files["2.3"], "--after", *files["2.4"]]
        direct = subprocess.run(command, capture_output=True, check=True).stdout
        self.assertEqual(rows(report.read_bytes()), rows(direct))
        for name in ("x.svg", "x.html"):
            picture = self.folder / name
            self.fleet("page", self.data, "--where", "unit = 'ns'", "-o", picture, "--", "--title", "all of it")
            self.assertTrue("all of it" in picture.read_text())
        back = subprocess.run([PROGRAMS / "fg-collapse", picture], capture_output=True, text=True).stdout
        self.assertIn("main;hot;main ", back)

    def test_the_trend_names_the_version_and_the_function(self) -> None:
        for version in range(12):
            for host in range(4):
                folder = self.profiles / f"ns/api/2.{version}/host{host}"
                folder.mkdir(parents=True)
                # Some spread, and a function that is half again as slow from 2.7 on.
                spread = (version * 7 + host * 5) % 11
                hot = (3_000_000 if version < 7 else 4_500_000) + 20_000 * spread
                text = f"# unit: ns\n# start: 2026-11-21T{version:02}:00:00Z\nmain;hot {hot}\nmain;cold {7_000_000 + 30_000 * spread}\n"
                (folder / "1.folded").write_text(text)
        self.add()
        out, _ = self.fleet_process("trend", self.data, "--by", "version")
        self.assertRegex(out, r"(?m)^2\.7\b.*\bhot\b")
        self.assertNotIn("cold", out)
        self.assertEqual({line.split()[0] for line in out.splitlines()}, {"2.7"}, out)
        _, says = self.fleet("trend", self.data, "--by", "commit", status=2)
        self.assertIn("no recording has the label commit", says)

    def test_values_and_units_stay_apart(self) -> None:
        heap = self.profiles / "bytes/api/1/host0"
        heap.mkdir(parents=True)
        shutil.copy(recordings.FIXTURES / recordings.SOURCES["bytes"][1][0], heap / "1.pb.gz")
        self.add()
        found, _ = self.fleet("top", self.data, "--tsv", "-n", "1")
        values = {tuple(line.split("\t")[:2]) for line in found.splitlines()[1:]}
        self.assertGreaterEqual(values, {("alloc_space", "bytes"), ("inuse_space", "bytes"), ("alloc_objects", "objects")})
        _, says = self.fleet("folded", self.data, "--where", "unit = 'bytes'", status=2)
        self.assertIn("several values cannot be added up", says)

    def test_runs_become_one_and_old_days_coarse(self) -> None:
        for day, weight in (("2020-01-01", 5), ("2020-01-02", 7)):
            folder = self.profiles / f"ns/api/1/host{weight}"
            folder.mkdir(parents=True)
            rare = "".join(f"main;rare{number} 1\n" for number in range(30))
            text = f"# unit: ns\nmain;hot {weight}00000\n{rare}"
            (folder / f"{day}.folded").write_text(text)
            self.add()
        before = self.folded("true", "day")
        says, _ = self.fleet("compact", self.data)
        self.assertIn("2 runs are one: 62 rows of stacks are 62", says)
        self.assertEqual(self.folded("true", "day"), before)
        self.expect(self.add(), 0, 2, 0)
        says, _ = self.fleet("compact", self.data, "--retain", "30d")
        self.assertIn("1 runs are one: 62 rows of stacks are 4, 2 of them [other]", says)
        expected = b"day=2020-01-01;[other] 30\nday=2020-01-01;main;hot 500000\n"
        expected += b"day=2020-01-02;[other] 30\nday=2020-01-02;main;hot 700000\n"
        self.assertEqual(self.folded("true", "day"), expected)
        self.fleet("compact", self.data, "--coarse", "30d")
        self.fleet("top", self.data, "--where", "day > '2019'")
        self.expect(self.add(), 0, 2, 0)
        self.assertEqual(Store(str(self.data)).sql.execute("select count(*) from stacks").fetchall(), [(0,)])

    def test_the_sql_of_the_readme_runs(self) -> None:
        recordings.write(self.profiles, 8)
        recordings.write_broken(self.profiles)
        self.add(status=1)
        readme = (Path(__file__).parents[1] / "README.md").read_text()
        block = readme.partition("```sql\n")[2].partition("```")[0]
        out = self.folder / "day.folded"
        sql = Store(str(self.data)).sql
        answers = []
        for statement in block.replace("'day.folded'", f"'{out}'").split(";\n"):
            # The day of the recordings, in their labels, is that of the files.
            statement = re.sub(r"day = '[^']+' and", "", statement)
            if statement.strip():
                answers.append(sql.execute(statement).fetchall())
        self.assertEqual(len(answers), 5)
        self.assertEqual({Path(path).name for path, _ in answers[-1]}, {"text.gz", "cut.gz", "two.gz", "stray"})
        self.assertIn("main;a;c 18446744073709551616", out.read_text())

    def test_texts_are_no_words(self) -> None:
        self.assertEqual(query.words("service = 'a host' and \"my label\" > '2'"), {"service", "and", "my label"})
        self.assertEqual(query.to_bytes("b\uefff\uef80 é"), b"b\xff\x80 \xc3\xa9")


def rows(report: bytes) -> object:
    """The rows of a report of fg-diff, without the names of files."""
    found = json.loads(report)
    return {key: found[key] for key in ("verdict", "rows")}


try:
    import pyspark
except ImportError:
    pyspark = None  # type: ignore[assignment]


@unittest.skipUnless(pyspark and shutil.which("java"), "no PySpark (pip install 'pyspark>=4'), or no Java")
class OnACluster(Fleet):
    def collapse(self, master: str, *more: object, status: int = 0) -> str:
        """Adds the recordings by Spark, in a process of its own."""
        command = [sys.executable, "-W", "ignore", "-m", "fg_fleet", "collapse", self.profiles, "--out", self.data]
        given = ["--labels", recordings.PATTERN, "--master", master, *SMALL, *more]
        here = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        done = subprocess.run([*command, *given], capture_output=True, text=True, env=here)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def rows_of(self, data: Path) -> list[object]:
        """The rows of the two large tables, in an order of their own."""
        sql = Store(str(data)).sql
        found = []
        for table, leave_out in (("stacks", "run"), ("recordings", "run, path, modified, content")):
            found += sql.execute(f"select * exclude ({leave_out}) from {table} order by all").fetchall()
        sums = "select labels, value_type, unit, function, sum(self), sum(total), day, service from functions"
        return found + sql.execute(f"{sums} group by all order by all").fetchall()

    def test_spark_writes_the_same_rows(self) -> None:
        recordings.write(self.profiles, COUNT)
        self.collapse("local[2]")
        self.expect_equal_to_one_machine()
        by_spark, self.data = self.data, self.folder / "by-one-machine"
        self.add()
        self.assertEqual(self.rows_of(by_spark), self.rows_of(self.data))

    def test_a_changed_program_reads_nothing(self) -> None:
        recordings.write(self.profiles, 4)
        from fg_fleet import cluster

        with unittest.mock.patch("fg_fleet.cluster.sha256", return_value="0" * 64):
            program = cluster.Program("fg-collapse-x", "1" * 64, ())
            with unittest.mock.patch("pyspark.SparkFiles.get", return_value=str(PROGRAMS / "fg-collapse")):
                with self.assertRaisesRegex(RuntimeError, "was changed on its way"):
                    program.path()

    def test_a_worker_that_is_killed_loses_nothing(self) -> None:
        from cluster import Cluster, kill_executor_of, until

        recordings.write(self.profiles, COUNT, large=20_000)
        recordings.write_broken(self.profiles)
        waiting, gate = self.folder / "waiting", self.folder / "gate"
        gate.touch()
        program = self.folder / "fg-collapse"
        # The task with this recording is under way until the gate is gone.
        program.write_text(f"""#!/bin/sh
case "$*" in *hard.folded*)
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

        with Cluster(self.folder / "cluster", workers=2) as machines:
            killer = threading.Thread(target=kill)
            killer.start()
            more = ["--program", program, "--conf", "spark.executor.memory=512m"]
            says = self.collapse(machines.url, *more, status=1)
            killer.join()
            self.assertEqual(len(killed), 1, says)
            dead = [worker.pid for worker in machines.workers if worker.poll() is not None]
            self.assertEqual(dead, killed)
        self.expect(self.add(), 0, COUNT + 3, 4)
        self.expect_equal_to_one_machine()


if __name__ == "__main__":
    unittest.main()
