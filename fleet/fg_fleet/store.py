"""The data set: four tables of Parquet, and the runs in them.

```text
DATA/stacks/run=K/day=2026-11-21/service=api/*.parquet      a row for each stack of each recording
DATA/functions/run=K/day=2026-11-21/service=api/*.parquet   sums by function, over times and hosts
DATA/recordings/run=K/*.parquet                             a row for each recording that is in the others
DATA/rejects/run=K/*.parquet                                a row for each one that could not be read
DATA/_staging/K-…/                                          a run that is being written
```
A run is written below `_staging` and moved when it is complete; `recordings` is moved last. So a run is in the
data set exactly if `recordings` has it: what a run leaves behind that was killed is never read, and the next
run removes it.
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from fg_fleet import reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COLUMNS = {
    "stacks": ["time", "labels", "value_type", "unit", "stack", "weight", "day", "service"],
    "functions": ["labels", "value_type", "unit", "function", "self", "total", "day", "service"],
    "recordings": [
        *("day", "service", "time", "labels", "value_type", "unit", "weight", "stacks"),
        *("path", "size", "modified", "facts", "message"),
    ],
    "rejects": ["day", "service", "path", "size", "modified", "message"],
}
TABLES = tuple(_COLUMNS)
PARTITIONED = ("stacks", "functions")
STAGING = "_staging"
# What a run has left that was killed so long ago is removed.
LEFT_MS = 24 * 60 * 60 * 1000


class Trouble(Exception):
    """An error for the user, in a line."""


class Store:
    """The data set in a folder of any file system that Spark knows."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.spark = spark
        jvm: Any = spark._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        path = self._path(root)
        self._fs = path.getFileSystem(spark._jsc.hadoopConfiguration())
        self.root: str = self._fs.makeQualified(path).toString()

    def _at(self, *parts: str) -> Any:
        return self._path("/".join([self.root.rstrip("/"), *parts]))

    def _names(self, *parts: str) -> list[Any]:
        place = self._at(*parts)
        return list(self._fs.listStatus(place)) if self._fs.exists(place) else []

    def _runs(self, table: str) -> list[str]:
        names = [status.getPath().getName() for status in self._names(table)]
        return sorted(name[4:] for name in names if name.startswith("run="))

    def runs(self) -> list[str]:
        """The complete runs."""
        return self._runs("recordings")

    def read(self, table: str) -> DataFrame:
        """The rows of a table, of complete runs."""
        columns = [*_COLUMNS[table], "run"]
        schema = from_arrow_schema(reader.ROW.append(reader.pa.field("run", reader.pa.string())))
        schema = type(schema)([schema[name] for name in columns])
        paths = [self._at(table, f"run={run}") for run in self.runs()]
        paths = [path.toString() for path in paths if self._fs.exists(path)]
        if not paths:
            return self.spark.createDataFrame([], schema)
        return self.spark.read.schema(schema).option("basePath", self._at(table).toString()).parquet(*paths)

    def demand(self) -> None:
        """Refuses a folder that is no data set."""
        if not self.runs():
            raise Trouble(f"{self.root}: there is no data set of fg-fleet; `fg-fleet collapse` makes one")

    def begin(self) -> None:
        """Removes what runs that were killed have left."""
        complete = set(self.runs())
        for table in TABLES:
            for run in self._runs(table):
                if run not in complete:
                    self._fs.delete(self._at(table, f"run={run}"), True)
        now = time.time() * 1000
        for status in self._names(STAGING):
            if now - status.getModificationTime() > LEFT_MS:
                self._fs.delete(status.getPath(), True)

    def write(self, run: str, rows: DataFrame, tasks: int) -> None:
        """Writes the rows of all tables as a run, or leaves the data set as it was."""
        before = self.runs()
        staging = f"{run}-{uuid.uuid4().hex[:8]}"
        try:
            for table in TABLES:
                frame = rows.where(F.col("kind") == table).select(_COLUMNS[table])
                if table == "functions":
                    keys = [name for name in _COLUMNS[table] if name not in ("self", "total")]
                    sums = [F.sum(name).cast(rows.schema[name].dataType).alias(name) for name in ("self", "total")]
                    frame = frame.groupBy(keys).agg(*sums).select(_COLUMNS[table])
                    # One file for a day of a service, in the order in which it is looked at.
                    frame = frame.repartition("day", "service").sortWithinPartitions("day", "service", "function")
                elif table != "stacks":
                    frame = frame.repartition(max(1, tasks // 64))
                writer = frame.write.mode("overwrite").option("compression", "zstd")
                if table in PARTITIONED:
                    writer = writer.partitionBy("day", "service")
                writer.parquet(self._at(STAGING, staging, table).toString())
            if self.runs() != before:
                raise Trouble(f"{self.root}: another collapse has added a run meanwhile; repeat this one")
            for table in (*(table for table in TABLES if table != "recordings"), "recordings"):
                self._fs.mkdirs(self._at(table))
                if not self._fs.rename(self._at(STAGING, staging, table), self._at(table, f"run={run}")):
                    raise Trouble(f"{self.root}/{table}: cannot move the run into its place")
        finally:
            self._fs.delete(self._at(STAGING, staging), True)
