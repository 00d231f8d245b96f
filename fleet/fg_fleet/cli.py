"""The command line of `fg-fleet`."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from fg_fleet import __version__

EXAMPLES = """\
examples:
  fg-fleet collapse profiles --labels '{service}/{version}/{host}/*' --out data --top 20
  fg-fleet top data --where "service = 'api' and version >= '2.3'"
  fg-fleet diff data --where "service = 'api'" --before "version = '2.3'" --after "version = '2.4'"
  fg-fleet folded data --where "day = '2026-11-21'" --by service -o day.folded
  fg-fleet render data --where "service = 'api'" -o api.svg -- --title api

What stands behind -- is given to the program that does the work: fg-collapse, fg-diff or fg-render.
Exit status: 0, 1 if recordings were left out (top, folded, diff, render: as that program), 2 on errors.
"""


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    tool = argparse.ArgumentParser(
        prog="fg-fleet",
        description="Profiles of a whole fleet on Apache Spark",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tool.add_argument("--version", action="version", version=f"fg-fleet {__version__}")
    commands = tool.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shared = argparse.ArgumentParser(add_help=False)
    cluster = shared.add_argument_group("Spark")
    cluster.add_argument("--master", metavar="URL", help="the cluster, if spark-submit does not name it: local[*]")
    cluster.add_argument("--conf", metavar="KEY=VALUE", action="append", default=[], help="a setting of Spark")

    collapse = commands.add_parser("collapse", parents=[shared], help="add a folder of recordings to the data set")
    collapse.add_argument("folder", metavar="FOLDER", help="recordings of any formats: a path, s3a://…, hdfs://…")
    collapse.add_argument("--out", metavar="DATA", required=True, help="the data set; it is made if it is not there")
    collapse.add_argument("--labels", metavar="PATTERN", help="labels from the path: {service}/{version}/{host}/*")
    collapse.add_argument("--program", metavar="FILE", help="the fg-collapse to send to the executors")
    collapse.add_argument("--top", metavar="N", type=int, help="write the N functions with the most weight then")

    question = argparse.ArgumentParser(add_help=False)
    question.add_argument("data", metavar="DATA", help="the data set")
    question.add_argument("--where", metavar="CONDITION", help="in SQL, over columns and labels")
    question.add_argument("--value", metavar="NAME", help="the value, where there are several: cpu-clock, alloc_space")
    by = argparse.ArgumentParser(add_help=False)
    by.add_argument("--by", metavar="LABELS", help="take these labels apart: service,version")
    output = argparse.ArgumentParser(add_help=False)
    output.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of standard output")

    top = commands.add_parser("top", parents=[question, by, shared], help="write the functions with the most weight")
    top.add_argument("-n", "--limit", metavar="N", type=int, default=20, help="at most N; 0 is all (default: 20)")
    top.add_argument("--sort", choices=("self", "total"), default="self", help="by this weight (default: self)")
    top.add_argument("--tsv", action="store_true", help="separate cells by tabs")
    diff = commands.add_parser("diff", parents=[question, output, shared], help="compare two sides by fg-diff")
    diff.add_argument("--before", metavar="CONDITION", required=True, help="the recordings before the change")
    diff.add_argument("--after", metavar="CONDITION", required=True, help="the recordings after it")
    diff.add_argument("--runs", metavar="LABEL", default="host", help="the label of repeated runs (default: host)")
    commands.add_parser("folded", parents=[question, by, output, shared], help="write one folded file")
    commands.add_parser("render", parents=[question, by, output, shared], help="draw a picture by fg-render")
    return tool


def session(args: argparse.Namespace):  # type: ignore[no-untyped-def]
    """The session of spark-submit, or one of our own."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(f"fg-fleet {args.command}")
    if args.master:
        builder = builder.master(args.master)
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
    for setting in args.conf:
        key, _, value = setting.partition("=")
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    for key, value in {
        "spark.sql.session.timeZone": "UTC",
        # A sum that is too large is an error.
        "spark.sql.ansi.enabled": "true",
        # A service may be called 1.
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        # A task has few services, so that their rows need not be sorted.
        "spark.sql.maxConcurrentOutputFileWriters": "16",
    }.items():
        spark.conf.set(key, value)
    # Spark's 200 parts of a sort are for clusters: each is a job when a result is read in order.
    context, parts = spark.sparkContext, "spark.sql.shuffle.partitions"
    if (context.master or "").startswith("local") and not context.getConf().contains(parts):
        spark.conf.set(parts, str(2 * context.defaultParallelism))
    return spark


def run(args: argparse.Namespace, options: list[str]) -> int:
    """Runs a command."""
    from fg_fleet import query
    from fg_fleet.collapse import collapse
    from fg_fleet.store import Store

    labels = [label for label in (getattr(args, "by", None) or "").split(",") if label]
    spark = session(args)
    try:
        if args.command == "collapse":
            status = collapse(spark, args.folder, args.out, args.labels, args.program, options)
            if args.top is not None:
                query.top(query.Question(Store(spark, args.out)), [], args.top, "self", False)
            return status
        question = query.Question(Store(spark, args.data), args.where, args.value)
        if args.command == "top":
            return query.top(question, labels, args.limit, args.sort, args.tsv)
        question.expect_one_unit()
        if args.command == "diff":
            return query.diff(question, args.before, args.after, args.runs, args.output, options)
        work = query.folded if args.command == "folded" else query.render
        return work(question, labels, args.output, options)
    finally:
        spark.stop()


def main(arguments: list[str] | None = None) -> int:
    """The program."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options: list[str] = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, options = arguments[:at], arguments[at + 1 :]
    args = parser().parse_args(arguments)
    if options and args.command == "top":
        parser().error("top gives no options to another program")
    try:
        from pyspark.errors import PySparkException
    except ImportError:
        print("fg-fleet: no PySpark: pip install 'pyspark>=4'", file=sys.stderr)
        return 2
    from py4j.protocol import Py4JJavaError

    from fg_fleet.store import Trouble

    try:
        return run(args, options)
    except KeyboardInterrupt:
        return 130
    except (Trouble, OSError) as error:
        message = str(error)
    except (PySparkException, Py4JJavaError) as error:
        message = reason(str(error))
    print(f"fg-fleet: {message}", file=sys.stderr)
    return 2


def reason(text: str) -> str:
    """The line of an error of Spark that says why."""
    named = r"^(?:: |Caused by: )?(?:\w+\.)*(\w*(?:Error|Exception)): (.+)$"
    raised = re.findall(named, text.partition("SQLSTATE")[0], re.MULTILINE)
    if raised:
        kind, message = raised[-1]
        if kind == "ClassNotFoundException" and "hadoop.fs" in message:
            # Spark comes without the file systems of object stores.
            return f"Spark cannot write there: {message}; --conf spark.jars.packages=… adds it (README: Object stores)"
        return message if kind == "RuntimeError" else f"{kind}: {message}"
    return next((line.strip() for line in text.splitlines() if line.strip()), "Spark failed")


if __name__ == "__main__":
    sys.exit(main())
