"""Questions to the data set: `fg-fleet top`, `folded`, `diff`, `render`.

Spark adds up and sorts; the programs of fg-tools judge and draw. Sums are exact beyond the 20 digits that a
weight may have before its point: whole numbers and fractions are added up apart.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from decimal import Context, Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pyspark.sql import functions as F

from fg_fleet.reader import NOT_BY_FUNCTION, VALUE_TYPES, to_bytes
from fg_fleet.store import Store, Trouble

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# At most this many runs of a side go to fg-diff; more hosts share one.
RUNS = 64
_EXACT = Context(prec=80)
_LITERAL = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"")
_WORD = re.compile(r"`([^`]+)`|([A-Za-z_]\w*)")


def words(where: str) -> list[str]:
    """The words of a condition that may be labels."""
    return sorted({quoted or word for quoted, word in _WORD.findall(_LITERAL.sub(" ", where))})


def select(frame: DataFrame, where: str | None, labels: list[str] | None = None) -> DataFrame:
    """The rows for which a condition holds. Its names are columns, and else labels."""
    for word in [*words(where or ""), *(labels or [])]:
        if word not in frame.columns:
            frame = frame.withColumn(word, F.col("labels")[word])
    return frame.where(where) if where else frame


class Question:
    """The rows of which a condition is true, and the units and values that they have."""

    def __init__(self, store: Store, where: str | None = None, value: str | None = None) -> None:
        store.demand()
        self.store = store
        self.where = where
        if value:
            is_it = "value_type = '" + value.replace("'", "\\'") + "'"
            self.where = f"({where}) and {is_it}" if where else is_it
        table = "stacks" if {"stack", "weight"} & set(words(self.where or "")) else "recordings"
        frame = select(store.read(table), self.where)
        facts = F.col("facts") if table == "recordings" else F.lit("")
        frame = frame.withColumn("period", F.regexp_extract(facts, "(?m)^(# period: .*)$", 1))
        kinds = frame.groupBy("value_type", "unit").agg(F.count("*").alias("count"), F.collect_set("period"))
        rows = kinds.collect()
        # The weight of a sample, by which fg-diff judges, if all recordings have the same.
        self.periods = {period for row in rows for period in row[3]}
        found = sorted((row.unit or "", row.value_type, row["count"]) for row in rows)
        if not found:
            keys = store.read("recordings").select(F.explode(F.map_keys("labels"))).distinct().collect()
            names = ", ".join(sorted(row[0] for row in keys)) or "none"
            raise Trouble(f"nothing is there of which that is true; the labels are {names}")
        self.listed = ", ".join(f"{kind} in {unit or 'no unit'} ({count} {table})" for unit, kind, count in found)
        self.units = sorted({unit for unit, _, _ in found if unit})
        self.value_types = sorted({kind for _, kind, _ in found})

    def expect_one_unit(self) -> None:
        """Refuses weights of several units, which cannot be added up; those without one go with any."""
        if len(self.units) > 1:
            hint = f"--where \"unit = '{self.units[0]}'\" chooses"
            raise Trouble(f"weights of several units cannot be added up: {self.listed}; {hint}")
        if len(self.value_types) > 1:
            print(f"fg-fleet: several values are added up: {self.listed}; --value chooses", file=sys.stderr)

    def header(self, labels: list[str]) -> bytes:
        """The header of folded text."""
        lines = [f"# unit: {unit}" for unit in self.units]
        unnamed = ["weight", *self.units, *(VALUE_TYPES.get(unit) for unit in self.units)]
        if len(self.value_types) == 1 and self.value_types[0] not in unnamed:
            lines.append(f"# event: {self.value_types[0]}")
        lines += [period for period in self.periods if period and len(self.periods) == 1]
        if labels:
            lines.append(f"# labels: {', '.join(labels)}")
        return to_bytes("".join(line + "\n" for line in lines))

    def stacks(self, labels: list[str], where: str | None = None) -> DataFrame:
        """The stacks as texts, with the labels as columns."""
        frame = select(select(self.store.read("stacks"), self.where, labels), where)
        return frame.withColumn("frames", F.transform("stack", lambda frame: frame["function"]))


def _sums(name: str) -> list[Column]:
    weight = F.col(name)
    whole = F.when(weight < 0, F.ceil(weight)).otherwise(F.floor(weight))
    return [F.sum(whole).alias(f"{name}_whole"), F.sum(weight % F.lit(1)).alias(f"{name}_part")]


def _lines(sums: DataFrame, *keys: str) -> Iterator[tuple[list[str], bytes]]:
    """The keys and the folded line of each row, in order."""
    part = F.when(F.col("weight_part") != 0, F.col("weight_part"))
    columns = [F.array_join("frames", ";"), F.col("weight_whole").cast("string"), part]
    for row in sums.orderBy(*keys, "frames").select(*keys, *columns).toLocalIterator(prefetchPartitions=True):
        *found, stack, whole, fraction = row
        weight = whole if fraction is None else _text(_add(Decimal(whole), fraction))
        yield found, to_bytes(f"{stack} {weight}\n")


def _frame(key: str) -> Column:
    """The root frame of a label."""
    value = F.translate(F.coalesce(F.col(key), F.lit("")), ";\n\r", ":  ")
    return F.concat(F.lit(key + "="), value)


def folded_lines(question: Question, labels: list[str]) -> Iterator[bytes]:
    """The folded text, in frame order but for names that are no UTF-8."""
    yield question.header(labels)
    frame = question.stacks(labels)
    roots = F.array(*[_frame(key) for key in labels]) if labels else F.array().cast("array<string>")
    frame = frame.withColumn("frames", F.concat(roots, F.col("frames")))
    for _, line in _lines(frame.groupBy("frames").agg(*_sums("weight"))):
        yield line


def tool(name: str) -> str:
    """The path of a program of fg-tools."""
    path = shutil.which(name)
    if not path:
        raise Trouble(f"no {name}: install fg-tools")
    return path


def pipe(command: list[str], lines: Iterator[bytes]) -> int:
    """Gives lines to a program, and returns its exit status."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    given: IO[bytes] | None = process.stdin
    assert given is not None
    try:
        with given:
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
    target = ["-o", output] if output else []
    return pipe([tool("fg-collapse"), "-f", "folded", *target, *options], folded_lines(question, labels))


def render(question: Question, labels: list[str], output: str | None, options: list[str]) -> int:
    """Draws the stacks by fg-render."""
    target = ["-o", output] if output else []
    return pipe([tool("fg-render"), *target, *options], folded_lines(question, labels))


def diff(question: Question, before: str, after: str, host: str, output: str | None, options: list[str]) -> int:
    """Compares two sides by fg-diff; each host is a run of its test."""
    command = [tool("fg-diff"), *(["-o", output] if output else []), *(options or ["--table"])]
    with tempfile.TemporaryDirectory(prefix="fg-fleet-") as folder:
        for side, where in (("before", before), ("after", after)):
            files = _runs(question, where, host, Path(folder, side))
            if not files:
                raise Trouble(f"--{side}: nothing is there of which that is true: {where}")
            command += [f"--{side}", *files]
        return subprocess.run(command, check=False).returncode


def _runs(question: Question, where: str, host: str, folder: Path) -> list[str]:
    """Writes the stacks of each host into a file."""
    folder.mkdir()
    frame = question.stacks([host], where)
    hosts = frame.select(host).distinct().limit(RUNS + 1).collect()
    if any(row[0] is None for row in hosts):
        raise Trouble(f"not all recordings have the label {host}; --runs names the label of repeated runs")
    if len(hosts) > RUNS:
        print(f"fg-fleet: {host}: more than {RUNS} of them are put together as {RUNS} runs", file=sys.stderr)
        frame = frame.withColumn(host, F.format_string("%02d", F.pmod(F.xxhash64(host), F.lit(RUNS))))
    sums = frame.groupBy(host, "frames").agg(*_sums("weight"))
    files: list[str] = []
    file: IO[bytes] | None = None
    current = ""
    try:
        for (run,), line in _lines(sums, host):
            if file is None or run != current:
                if file:
                    file.close()
                current = run
                name = re.sub(r"[^\w.-]", "_", current)[:80]
                files.append(str(folder / f"{len(files):04}-{name}.folded"))
                file = open(files[-1], "wb")
                file.write(question.header([]))
            file.write(line)
    finally:
        if file:
            file.close()
    return files


def functions(question: Question, labels: list[str]) -> DataFrame:
    """Self and total weight by function, and by labels."""
    asked = {*words(question.where or ""), *labels}
    if asked & {*NOT_BY_FUNCTION, "stack", "weight", "time"}:
        # The table by function is without these.
        frame = question.stacks(labels)
        frame = frame.withColumn("own", F.element_at("frames", -1))
        frame = frame.withColumn("function", F.explode(F.array_distinct("frames")))
        own = F.when(F.col("function") == F.col("own"), F.col("weight")).otherwise(F.lit(0).cast("decimal(38,18)"))
        frame = frame.withColumn("self", own).withColumn("total", F.col("weight"))
    else:
        frame = select(question.store.read("functions"), question.where, labels)
    return frame.groupBy(*labels, "function").agg(*_sums("self"), *_sums("total"))


def top(question: Question, labels: list[str], limit: int, by: str, tsv: bool) -> int:
    """Writes the functions with the most weight, of each unit."""
    if len(question.units) < 2:
        question.expect_one_unit()
        return _top(functions(question, labels), next(iter(question.units), None), labels, limit, by, tsv)
    frame = functions(question, ["unit", *labels]).persist()
    for unit in sorted((row.unit for row in frame.select("unit").distinct().collect()), key=lambda unit: unit or ""):
        _top(frame.where(F.col("unit").eqNullSafe(F.lit(unit))), unit, labels, limit, by, tsv)
    return 0


def _top(sums: DataFrame, unit: str | None, labels: list[str], limit: int, by: str, tsv: bool) -> int:
    whole = _add(*sums.agg(F.sum("self_whole"), F.sum("self_part")).collect()[0])
    weights = [f"{name}_{part}" for name in (by, "total", "self") for part in ("whole", "part")]
    rows = sums.orderBy(*map(F.desc, weights), *map(F.col, labels), F.col("function"))
    cells = [("self", "self%", "total", "total%", *labels, "function")]
    for row in (rows.limit(limit) if limit else rows).collect():
        own, total = (_add(row[f"{name}_whole"], row[f"{name}_part"]) for name in ("self", "total"))
        names = [_shown(row[label] or "") for label in (*labels, "function")]
        cells.append((_text(own), _share(own, whole), _text(total), _share(total, whole), *names))
    if tsv:
        cells = [("unit", *cells[0]), *((unit or "", *cell) for cell in cells[1:])]
        sys.stdout.writelines("\t".join(cell) + "\n" for cell in cells)
        return 0
    print(f"{_text(whole)} {unit or ''}".rstrip() + " in all\n")
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for cell in cells:
        numbers = [text.rjust(width) for text, width in zip(cell[:4], widths)]
        texts = [text.ljust(width) for text, width in zip(cell[4:-1], widths[4:])]
        print("  ".join([*numbers, *texts, cell[-1]]))
    print()
    return 0


def _add(whole: int | Decimal, part: Decimal) -> Decimal:
    return _EXACT.add(Decimal(whole), part)


def _text(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _share(number: Decimal, whole: Decimal) -> str:
    return f"{100 * number / whole:.2f}%" if whole else ""


def _shown(name: str) -> str:
    """A name for a terminal: no control characters, and none that stand for bytes."""
    text = to_bytes(name).decode(errors="replace")
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
