"""The store that `fg-collapse -r --store` writes, as DuckDB sees it.

```text
DATA/stacks/run=K/day=2026-11-21/service=api/*.parquet      a row for each stack of each value of a recording
DATA/functions/run=K/day=2026-11-21/service=api/*.parquet   sums by function, over times and hosts
DATA/recordings/run=K/*.parquet                             a row for each value of each recording
DATA/rejects/run=K/*.parquet                                a row for each file that could not be read
```
A run is in the store exactly if `recordings` has it and no other run replaces it: a file `_replaces` in the
run's folder of `recordings` names those that it stands for.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import uuid
from contextlib import contextmanager
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import duckdb

LABELS = "map(varchar, varchar)"
FRAME = "struct(function varchar, file varchar, line bigint, module varchar)"
SHARED = {"labels": LABELS, "value_type": "varchar", "unit": "varchar"}
PLACE = {"day": "varchar", "service": "varchar"}
FILE = {"path": "varchar", "size": "bigint", "modified": "bigint"}
WEIGHT = "decimal(38, 18)"
COLUMNS = {
    "stacks": {"time": "timestamptz", **SHARED, "stack": f"{FRAME}[]", "weight": WEIGHT, **PLACE},
    "functions": {**SHARED, "function": "varchar", "self": WEIGHT, "total": WEIGHT, **PLACE},
    "recordings": {
        **{**PLACE, "time": "timestamptz", **SHARED, "weight": WEIGHT, "stacks": "bigint", **FILE},
        **{"content": "varchar", "facts": "varchar", "message": "varchar"},
    },
    "rejects": {**PLACE, **FILE, "message": "varchar"},
}
PARTITIONED = ("stacks", "functions")
# Labels with a value for each recording: the table by function adds up over them.
NOT_BY_FUNCTION = ("time", "host")
# A stack with a smaller share of its day, service and value becomes `[other]` where days are kept coarsely.
RARE = "0.0005"
# What another run replaces is removed when nobody can be reading it any more.
READ_S = 3600
# Moving a run takes moments: a lock of this age was left.
HELD_S = 60


class Trouble(Exception):
    """An error for the user, in a line."""


def quoted(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


class Store:
    """The tables of a store as views of a connection: stacks, functions, recordings, rejects."""

    def __init__(self, root: str, memory: str | None = None) -> None:
        self.root = root.rstrip("/") or root
        self.sql = duckdb.connect()
        self.sql.execute("set timezone = 'UTC'")
        if memory:
            self.sql.execute(f"set memory_limit = {quoted(memory)}")
        if "://" in root:
            self.sql.execute("install httpfs; load httpfs")
            if root.startswith(("s3://", "s3a://", "s3n://")):
                self.root = re.sub("^s3[an]://", "s3://", self.root)
                self.sql.execute("create secret (type s3, provider credential_chain)")
        self.runs = self._runs()
        for table, columns in COLUMNS.items():
            self._view(table, columns)

    def _glob(self, pattern: str) -> list[str]:
        rows = self.sql.execute("select file from glob(?)", [f"{self.root}/{pattern}"]).fetchall()
        return sorted(row[0] for row in rows)

    def _runs(self) -> set[str]:
        def run_of(file: str) -> str:
            return re.findall(r"/run=([^/]+)/[^/]+$", file)[0]

        runs = {run_of(file) for file in self._glob("recordings/run=*/*.parquet")}
        for file in self._glob("recordings/run=*/_replaces"):
            (text,) = self.sql.execute("select content from read_text(?)", [file]).fetchall()[0]
            runs -= set(text.split())
        return runs

    def files(self, table: str) -> list[str]:
        """The files of a table, of complete runs."""
        below = "day=*/service=*/*.parquet" if table in PARTITIONED else "*.parquet"
        found = self._glob(f"{table}/run=*/{below}")
        return [file for file in found if re.findall(r"/run=([^/]+)/", file)[-1] in self.runs]

    def _view(self, table: str, columns: dict[str, str]) -> None:
        files = self.files(table)
        if files:
            listed = "[" + ", ".join(map(quoted, files)) + "]"
            kinds = "{'run': varchar, 'day': varchar, 'service': varchar}"
            if table not in PARTITIONED:
                kinds = "{'run': varchar}"
            source = f"read_parquet({listed}, hive_types = {kinds}, hive_partitioning = true, union_by_name = true)"
            there = {row[0] for row in self.sql.execute(f"describe from {source}").fetchall()}
            shown = ", ".join(f'"{name}"' if name in there else f'null::{kind} as "{name}"' for name, kind in columns.items())
            self.sql.execute(f"create view {table} as select {shown}, run from {source}")
        else:
            nothing = ", ".join(f'null::{kind} as "{name}"' for name, kind in columns.items())
            self.sql.execute(f"create view {table} as select {nothing}, null::varchar as run limit 0")

    def labels(self) -> list[str]:
        """The labels that recordings have."""
        keys = self.sql.execute("select distinct unnest(map_keys(labels)) from recordings").fetchall()
        return sorted(row[0] for row in keys)

    def demand(self) -> None:
        """Refuses a folder that is no store."""
        if not self.runs:
            raise Trouble(f"{self.root}: there is no store; `fg-collapse -r FOLDER --store {self.root}` makes one")

    # --- compacting -------------------------------------------------------------------------------

    def compact(self, retain: str | None, coarse: str | None) -> str:
        """Makes one run of all. Days older than `retain` become coarse, and those older than `coarse` go."""
        if "://" in self.root:
            raise Trouble(f"{self.root}: a store in a bucket cannot be compacted from here")
        self._sweep()
        fine, kept = _days_ago(retain), _days_ago(coarse)
        run = "c" + uuid.uuid4().hex[:15]
        staged = Path(self.root, "_staging", run)
        staged.mkdir(parents=True)
        try:
            before = self.sql.execute("select count(*) from stacks").fetchall()[0][0]
            self._write(staged / "stacks", self._kept_stacks(fine, kept), "day, service, value_type, stack")
            self._write(staged / "functions", self._kept_functions(kept), "day, service, value_type, function")
            self._write(staged / "recordings", self._all("recordings"), "day, service, path", flat=True)
            self._write(staged / "rejects", self._all("rejects"), "day, service, path", flat=True)
            (staged / "recordings" / "_replaces").write_text("".join(f"{run}\n" for run in sorted(self.runs)))
            with self._commit():
                if Store(self.root).runs != self.runs:
                    raise Trouble(f"{self.root}: a run was added meanwhile; try again")
                for table in ("stacks", "functions", "rejects", "recordings"):
                    Path(self.root, table).mkdir(exist_ok=True)
                    (staged / table).rename(Path(self.root, table, f"run={run}"))
        finally:
            shutil.rmtree(staged, ignore_errors=True)
        after = Store(self.root)
        rows = after.sql.execute("select count(*) from stacks").fetchall()[0][0]
        other = after.sql.execute("select count(*) from stacks where stack[1].function = '[other]' and len(stack) = 1").fetchall()[0][0]
        told = f", {other} of them [other]" if other else ""
        return f"{len(self.runs)} runs are one: {before} rows of stacks are {rows}{told}"

    def _all(self, table: str) -> str:
        names = ", ".join(f'"{name}"' for name in COLUMNS[table])
        return f"select {names} from {table}"

    def _kept_stacks(self, fine: str | None, kept: str | None) -> str:
        where = f"day >= {quoted(kept)}" if kept else "true"
        names = ", ".join(f'"{name}"' for name in COLUMNS["stacks"])
        if not fine:
            return f"select {names} from stacks where {where}"
        lost = ", ".join(map(quoted, NOT_BY_FUNCTION))
        other = f"[{{'function': '[other]', 'file': null, 'line': null, 'module': null}}]::{FRAME}[]"
        return f"""
            with old as (
                select null::timestamptz as time,
                    map_from_entries(list_filter(map_entries(labels), lambda entry: entry.key not in ({lost}))) as labels,
                    value_type, unit, stack, sum(weight)::{WEIGHT} as weight, day, service
                from stacks where {where} and day < {quoted(fine)}
                group by all
            ),
            shares as (
                select *, sum(abs(weight)) over (partition by day, service, value_type, unit) as whole from old
            ),
            coarse as (
                select time, labels, value_type, unit,
                    case when abs(weight) < {RARE} * whole then {other} else stack end as stack,
                    weight, day, service
                from shares
            )
            select time, labels, value_type, unit, stack, sum(weight)::{WEIGHT} as weight, day, service
            from coarse group by all
            union all
            select {names} from stacks where {where} and day >= {quoted(fine)}"""

    def _kept_functions(self, kept: str | None) -> str:
        where = f"where day >= {quoted(kept)}" if kept else ""
        return f"""select labels, value_type, unit, function, sum(self)::{WEIGHT} as self, sum(total)::{WEIGHT} as total,
            day, service from functions {where} group by all"""

    def _write(self, folder: Path, query: str, order: str, flat: bool = False) -> None:
        folder.mkdir()
        if flat:
            to = f"{quoted(str(folder / 'part-0.parquet'))} (format parquet, compression zstd)"
        else:
            to = f"{quoted(str(folder))} (format parquet, compression zstd, partition_by (day, service), overwrite_or_ignore)"
        self.sql.execute(f"copy (select * from ({query}) order by {order}) to {to}")

    @contextmanager
    def _commit(self) -> Iterator[None]:
        """Nobody else moves a run meanwhile: the folder that `fg-collapse` makes as well."""
        lock = Path(self.root, "_commit")
        for _ in range(600):
            try:
                lock.mkdir()
                break
            except FileExistsError:
                try:
                    if time.time() - lock.stat().st_mtime > HELD_S:
                        lock.rmdir()
                except OSError:
                    pass
                time.sleep(0.1)
        else:
            raise Trouble(f"{self.root}: another program has been adding to it for a minute; try again")
        try:
            yield
        finally:
            lock.rmdir()

    def _sweep(self) -> None:
        """Removes the runs that another has replaced some time ago."""
        for file in self._glob("recordings/run=*/_replaces"):
            if time.time() - os.stat(file).st_mtime < READ_S:
                continue
            for run in Path(file).read_text().split():
                for table in ("stacks", "functions", "rejects", "recordings"):
                    shutil.rmtree(Path(self.root, table, f"run={run}"), ignore_errors=True)


def _days_ago(age: str | None) -> str | None:
    """The day of `30d`, `12w` or `1y` ago."""
    if age is None:
        return None
    found = re.fullmatch(r"(\d+)([dwy])", age)
    if not found:
        raise Trouble(f"{age!r} is no age: 30d, 12w or 1y is one")
    days = int(found[1]) * {"d": 1, "w": 7, "y": 365}[found[2]]
    return (datetime.now(timezone.utc) - timedelta(days=days)).date().isoformat()
