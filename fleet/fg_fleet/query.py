"""Questions to the store: `fg-fleet top`, `folded`, `diff`, `trend`, `page`, `sql`.

DuckDB adds up and sorts; the programs of fg-tools judge and draw. Sums are exact beyond the 20 digits that a
weight may have before its point: whole numbers and fractions are added up apart.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from decimal import Context, Decimal
from pathlib import Path
from typing import IO

from fg_fleet.store import COLUMNS, NOT_BY_FUNCTION, PLACE, Store, Trouble, quoted

# At most this many runs of a side go to fg-diff; more hosts share one.
RUNS = 64
# The most values that a message names.
NAMED = 5
# Rows that are taken from DuckDB at a time.
ROWS = 20_000
# What the value is called that has no name, by its unit, as `--format parquet` has it.
UNNAMED = {"ns": "time", "us": "time", "µs": "time", "ms": "time", "s": "time", "bytes": "space"}
_EXACT = Context(prec=80)
_LITERAL = re.compile(r"'(?:[^']|'')*'")
_WORD = re.compile(r'"([^"]+)"|([A-Za-z_]\w*)')
_ESCAPES = re.compile(rb"\xee(?:\xbe[\x80-\xbf]|\xbf[\x80-\xbf])")


def to_bytes(text: str) -> bytes:
    """The name of which `fg-collapse --store` made a text: a byte that is no UTF-8 is U+EF00 plus the byte."""
    return _ESCAPES.sub(lambda at: bytes([ord(at[0].decode()) - 0xEF00]), text.encode())


def words(where: str | None) -> set[str]:
    """The words of a condition that may be labels."""
    return {quoted_word or word for quoted_word, word in _WORD.findall(_LITERAL.sub(" ", where or ""))}


def name(label: str) -> str:
    """A label as a name in SQL."""
    return '"' + label.replace('"', '""') + '"'


class Question:
    """The rows for which a condition holds, and the units and values that they have."""

    def __init__(self, store: Store, where: str | None = None, value: str | None = None) -> None:
        store.demand()
        self.store = store
        self.where = f"({where})" if where else "true"
        if value:
            self.where += f" and value_type = {quoted(value)}"
        self.labels = store.labels()
        table = "stacks" if {"stack"} & words(self.where) else "recordings"
        period = "regexp_extract(facts, '(?m)^(# period: .*)$', 1)" if table == "recordings" else "''"
        unnamed = f"select * from {self.rows(table)} where {self.where}"
        if table == "recordings":
            unnamed += " and stacks > 0"
        kinds = store.sql.execute(
            f"select value_type, unit, count(*), list(distinct {period}) from ({unnamed}) group by 1, 2"
        ).fetchall()
        found = sorted((unit or "", kind, count) for kind, unit, count, _ in kinds)
        if not found:
            names = ", ".join(self.labels) or "none"
            raise Trouble(f"nothing is there of which that is true; the labels are {names}")
        # The weight of a sample, by which fg-diff judges, if all recordings have the same.
        self.periods = {period for *_, periods in kinds for period in periods}
        listed = [f"{kind} in {unit or 'no unit'} ({count} {table})" for unit, kind, count in found]
        more = [f"and {len(listed) - NAMED} more"] if len(listed) > NAMED else []
        self.listed = ", ".join([*listed[:NAMED], *more])
        self.units = sorted({unit for unit, _, _ in found if unit})
        self.value_types = sorted({kind for _, kind, _ in found})

    def rows(self, table: str, labels: Iterable[str] = ()) -> str:
        """A table, in which labels that are asked for are columns."""
        asked = words(self.where) | set(labels)
        more = [f"labels[{quoted(key)}] as {name(key)}" for key in sorted(asked & set(self.labels)) if key not in COLUMNS[table]]
        return f"(select *, {', '.join(more)} from {table})" if more else table

    def expect_labels(self, labels: list[str]) -> None:
        """Refuses labels that no recording has."""
        for label in labels:
            if label not in {*PLACE, *self.labels}:
                raise Trouble(f"no recording has the label {label}; the labels are {', '.join(self.labels) or 'none'}")

    def expect_one_kind(self) -> None:
        """Refuses weights of several units or values, which do not add up."""
        if len(self.units) > 1:
            hint = f"--where \"unit = '{self.units[0]}'\" chooses"
            raise Trouble(f"weights of several units cannot be added up: {self.listed}; {hint}")
        if len(self.value_types) > 1:
            raise Trouble(f"several values cannot be added up: {self.listed}; --value {self.value_types[0]} chooses")

    def header(self, labels: list[str]) -> bytes:
        """The header of folded text."""
        lines = [f"# unit: {unit}" for unit in self.units]
        kind = self.value_types[0]
        if kind not in ("weight", *self.units, *(UNNAMED.get(unit) for unit in self.units)):
            lines.append(f"# event: {kind}")
        if len(self.periods) == 1:
            lines += [period for period in self.periods if period]
        if labels:
            lines.append(f"# labels: {', '.join(labels)}")
        return to_bytes("".join(line + "\n" for line in lines))

    def stacks(self, keys: list[str], where: str | None = None) -> Iterator[tuple[list[str], bytes]]:
        """The keys and the folded text of each stack, with their weight, in order."""
        condition = f"{self.where} and ({where})" if where else self.where
        source = self.rows("stacks", words(where) | words(" ".join(keys)))
        listed = "".join(f"{key}, " for key in keys)
        query = f"""
            select {listed} array_to_string(list_transform(stack, lambda frame: frame.function), ';'),
                sum(trunc(weight)::hugeint)::varchar, sum(weight - trunc(weight))
            from {source} where {condition}
            group by {listed} list_transform(stack, lambda frame: frame.function)
            order by {listed} list_transform(stack, lambda frame: frame.function)"""
        rows = self.store.sql.execute(query)
        while batch := rows.fetchmany(ROWS):
            for *found, stack, whole, part in batch:
                weight = whole if not part else text_of(_add(Decimal(whole), part))
                yield found, to_bytes(f"{stack} {weight}\n")


def _root(label: str, value: object) -> str:
    text = str(value if value is not None else "").translate({59: ":", 10: " ", 13: " "})
    return f"{label}={text};"


def folded_lines(question: Question, labels: list[str], step: str | None = None) -> Iterator[bytes]:
    """The folded text. With a step the first label is the time, in seconds."""
    keys = [name(label) for label in labels]
    shown = labels
    if step:
        keys.insert(0, f"epoch(time_bucket(interval '{step}', time))::bigint")
        shown = ["time", *labels]
    header = question.header(shown)
    if step:
        header += b"# clock: realtime\n# time-zero: 0 s\n"
    yield header
    for found, line in question.stacks(keys):
        values = [f"{value or 0}s" if label == "time" and step else value for label, value in zip(shown, found)]
        yield to_bytes("".join(map(_root, shown, values))) + line


def tool(program: str) -> str:
    """The path of a program of fg-tools."""
    path = shutil.which(program)
    if not path:
        raise Trouble(f"no {program}: install fg-tools")
    return path


def pipe(command: list[str], lines: Iterator[bytes]) -> int:
    """Gives lines to a program, and returns its exit status."""
    first = next(lines)
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    given: IO[bytes] | None = process.stdin
    assert given is not None
    try:
        with given:
            given.write(first)
            given.writelines(lines)
    except BrokenPipeError:
        pass
    except BaseException:
        # No half result: a file appears when its program ends well.
        process.kill()
        process.wait()
        raise
    return process.wait()


def folded(question: Question, labels: list[str], output: str | None, options: list[str]) -> int:
    """Writes one folded file, as fg-collapse does."""
    question.expect_labels(labels)
    target = ["-o", output] if output else []
    return pipe([tool("fg-collapse"), "--input-format", "folded", *target, *options], folded_lines(question, labels))


def page(question: Question, labels: list[str], step: str, output: str, options: list[str]) -> int:
    """Draws the stacks as a page or picture; the page has labels as lanes, and a time line."""
    question.expect_labels(labels)
    command = [tool("fg-render"), "-o", output, *options]
    # Only a page has a time line.
    steps = step if output.endswith((".html", ".htm")) else None
    return pipe(command, folded_lines(question, labels, steps))


def diff(question: Question, before: str, after: str, runs: str, output: str | None, options: list[str]) -> int:
    """Compares two sides by fg-diff; each host is a run of its test."""
    question.expect_labels([runs])
    command = [tool("fg-diff"), *(["-o", output] if output else []), *(options or ["--table"])]
    with tempfile.TemporaryDirectory(prefix="fg-fleet-") as folder:
        for side, where in (("before", before), ("after", after)):
            files = _runs(question, where, runs, Path(folder, side), question.header([]))
            if not files:
                raise Trouble(f"--{side}: nothing is there of which that is true: {where}")
            command += [f"--{side}", *files]
        return subprocess.run(command, check=False).returncode


def trend(question: Question, by: str, runs: str, output: str | None, options: list[str]) -> int:
    """Names the versions with which the whole or a function changed for good, by a history of fg-diff."""
    question.expect_labels([by, runs])
    source = question.rows("recordings", {by, runs})
    # Versions come in the order in which they were first seen.
    began = "min(coalesce(time, make_timestamptz(modified // 1000)))"
    found = question.store.sql.execute(
        f"select {name(by)}, strftime({began} at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ') as began"
        f" from {source} where {question.where} and {name(by)} is not null group by 1 order by began, 1"
    ).fetchall()
    if not found:
        raise Trouble(f"no recording of which that is true has the label {by}; --by names the label of versions")
    with tempfile.TemporaryDirectory(prefix="fg-fleet-") as folder:
        history = [tool("fg-diff"), "--history", str(Path(folder, "history"))]
        for number, (version, start) in enumerate(found):
            header = f"# start: {start}\n".encode() + question.header([])
            files = _runs(question, f"{name(by)} = {quoted(version)}", runs, Path(folder, str(number)), header)
            add = [*history, "--quiet", "--machine", "all", "--commit", version, *files]
            done = subprocess.run(add, stdout=subprocess.DEVNULL, check=False)
            if done.returncode:
                return done.returncode
        return subprocess.run([*history, "--trend", *(["-o", output] if output else []), *options], check=False).returncode


def _runs(question: Question, where: str, runs: str, folder: Path, header: bytes) -> list[str]:
    """Writes the stacks of each host into a file."""
    folder.mkdir()
    source = question.rows("recordings", words(where) | {runs})
    condition = f"{question.where} and ({where})"
    hosts = question.store.sql.execute(f"select distinct {name(runs)} from {source} where {condition}").fetchall()
    if any(row[0] is None for row in hosts):
        raise Trouble(f"not all recordings have the label {runs}; --runs names the label of repeated runs")
    key = name(runs)
    if len(hosts) > RUNS:
        print(f"fg-fleet: {runs}: {len(hosts)} of them are put together as {RUNS} runs", file=sys.stderr)
        key = f"printf('%02d', hash({name(runs)}) % {RUNS})"
    files: list[str] = []
    file: IO[bytes] | None = None
    current = None
    try:
        for (run,), line in question.stacks([key], where):
            if file is None or run != current:
                if file:
                    file.close()
                current = run
                shown = re.sub(r"[^\w.-]", "_", run)[:80]
                files.append(str(folder / f"{len(files):04}-{shown}.folded"))
                file = open(files[-1], "wb")
                file.write(header)
            file.write(line)
    finally:
        if file:
            file.close()
    return files


def functions(question: Question, labels: list[str]) -> str:
    """A query for self and total weight by function, and by labels."""
    asked = words(question.where) | set(labels)
    listed = "".join(f"{name(label)}, " for label in labels)
    sums = ", ".join(
        f"sum(trunc({column})::hugeint) as {column}_whole, sum({column} - trunc({column})) as {column}_part"
        for column in ("self", "total")
    )
    if asked & {*NOT_BY_FUNCTION, "stack", "weight", "run"}:
        # The table by function is without these.
        source = f"""(
            select *, unnest(list_distinct(names)) as function, weight as total,
                case when function = names[-1] then weight else 0 end as self
            from (select *, list_transform(stack, lambda frame: frame.function) as names
                from {question.rows("stacks", labels)} where {question.where}))"""
        return f"select {listed} value_type, unit, function, {sums} from {source} group by all"
    source = question.rows("functions", labels)
    return f"select {listed} value_type, unit, function, {sums} from {source} where {question.where} group by all"


def top(question: Question, labels: list[str], limit: int, by: str, tsv: bool) -> int:
    """Writes the functions with the most weight, of each value and unit."""
    question.expect_labels(labels)
    sql = question.store.sql
    sql.execute(f"create or replace temp table found as {functions(question, labels)}")
    kinds = sql.execute("select distinct value_type, unit from found order by unit, value_type").fetchall()
    for number, kind in enumerate(kinds):
        _top(question, kind, labels, limit, by, tsv and number + 1)
    return 0


def top_rows(
    question: Question, kind: tuple[str, str | None], labels: list[str], limit: int, by: str
) -> tuple[Decimal, list[tuple[list[str], Decimal, Decimal]]]:
    """The whole of a value in the table `found`, and its heaviest functions: labels and name, self and total weight."""
    sql = question.store.sql
    mine = "value_type = ? and unit is not distinct from ?"
    sums = f"select sum(self_whole), sum(self_part) from found where {mine}"
    whole = _add(*sql.execute(sums, list(kind)).fetchall()[0])
    order = ", ".join(f"{column}_whole + {column}_part desc" for column in (by, "total", "self"))
    keys = "".join(f"{name(label)}, " for label in labels)
    some = f"limit {limit}" if limit else ""
    rows = sql.execute(
        f"select {keys} function, self_whole, self_part, total_whole, total_part from found where {mine}"
        f" order by {order}, {keys} function {some}",
        list(kind),
    ).fetchall()
    return whole, [
        ([printable(str(text or "")) for text in names], _add(self_whole, self_part), _add(total_whole, total_part))
        for *names, self_whole, self_part, total_whole, total_part in rows
    ]


def _top(
    question: Question, kind: tuple[str, str | None], labels: list[str], limit: int, by: str, tsv: int
) -> None:
    """Writes a list; `tsv` is its number, from 1 on."""
    whole, rows = top_rows(question, kind, labels, limit, by)
    value_type, unit = kind
    cells = [("self", "self%", "total", "total%", *labels, "function")]
    for names, own, total in rows:
        cells.append((text_of(own), share(own, whole), text_of(total), share(total, whole), *names))
    if tsv:
        cells = [("value", "unit", *cells[0]), *((value_type, unit or "", *cell) for cell in cells[1:])]
        cells = cells[1:] if tsv > 1 else cells
        sys.stdout.writelines("\t".join(cell) + "\n" for cell in cells)
        return
    print(f"{value_type}: {text_of(whole)} {unit or ''}".rstrip() + " in all\n")
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for cell in cells:
        numbers = [text.rjust(width) for text, width in zip(cell[:4], widths)]
        texts = [text.ljust(width) for text, width in zip(cell[4:-1], widths[4:])]
        print("  ".join([*numbers, *texts, cell[-1]]))
    print()


def _add(whole: int | Decimal | None, part: Decimal | None) -> Decimal:
    return _EXACT.add(Decimal(whole or 0), Decimal(part or 0))


def text_of(number: Decimal) -> str:
    """A weight as folded text has it."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def share(number: Decimal, whole: Decimal) -> str:
    """A part of the whole in percent."""
    return f"{100 * number / whole:.2f}%" if whole else ""


def printable(text: str) -> str:
    """A name for a terminal: no control characters, and none that stand for bytes."""
    found = to_bytes(text).decode(errors="replace")
    return "".join(char if char.isprintable() else "\ufffd" for char in found)
