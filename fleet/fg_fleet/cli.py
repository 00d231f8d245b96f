"""The command line of `fg-fleet`."""

from __future__ import annotations

import argparse
import re
import sys

from fg_fleet import __version__

EXAMPLES = """\
examples:
  fg-collapse -r profiles --store data --path-pattern '{service}/{version}/{host}/*'
  fg-fleet top data --where "service = 'api' and version >= '2.3'"
  fg-fleet diff data --where "service = 'api'" --before "version = '2.3'" --after "version = '2.4'"
  fg-fleet trend data --where "service = 'api'" --by version
  fg-fleet folded data --where "day = '2026-11-21'" --by service -o day.folded
  fg-fleet page data --where "service = 'api'" --by host -o api.html
  fg-fleet serve data
  fg-fleet compact data --retain 30d --coarse 1y

What stands behind -- is given to the program that does the work: fg-collapse, fg-diff or fg-render.
Exit status: 0, 1 if recordings were left out (diff, trend, folded, page: as that program), 2 on errors.
"""


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    tool = argparse.ArgumentParser(
        prog="fg-fleet",
        description="Questions to the profiles of a whole fleet, in a store that fg-collapse -r --store writes",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tool.add_argument("--version", action="version", version=f"fg-fleet {__version__}")
    commands = tool.add_subparsers(dest="command", required=True, metavar="COMMAND")
    data = argparse.ArgumentParser(add_help=False)
    data.add_argument("data", metavar="DATA", help="the store: a folder, or s3://…")
    data.add_argument("--memory", metavar="SIZE", help="the most that DuckDB takes: 4GB (default: 80%% of what there is)")
    question = argparse.ArgumentParser(add_help=False, parents=[data])
    question.add_argument("--where", metavar="CONDITION", help="in SQL, over columns and labels")
    question.add_argument("--value", metavar="NAME", help="the value, where there are several: cpu-clock, alloc_space")
    by = argparse.ArgumentParser(add_help=False)
    by.add_argument("--by", metavar="LABELS", help="take these labels apart: service,version")
    output = argparse.ArgumentParser(add_help=False)
    output.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of standard output")

    top = commands.add_parser("top", parents=[question, by], help="write the functions with the most weight")
    top.add_argument("-n", "--limit", metavar="N", type=int, default=20, help="at most N; 0 is all (default: 20)")
    top.add_argument("--sort", choices=("self", "total"), default="self", help="by this weight (default: self)")
    top.add_argument("--tsv", action="store_true", help="separate cells by tabs")
    diff = commands.add_parser("diff", parents=[question, output], help="compare two sides by fg-diff")
    diff.add_argument("--before", metavar="CONDITION", required=True, help="the recordings before the change")
    diff.add_argument("--after", metavar="CONDITION", required=True, help="the recordings after it")
    diff.add_argument("--runs", metavar="LABEL", default="host", help="the label of repeated runs (default: host)")
    trend = commands.add_parser("trend", parents=[question, output], help="name the versions that changed something for good")
    trend.add_argument("--by", metavar="LABEL", default="version", help="the label of versions, or day (default: version)")
    trend.add_argument("--runs", metavar="LABEL", default="host", help="the label of repeated runs (default: host)")
    commands.add_parser("folded", parents=[question, by, output], help="write one folded file")
    page = commands.add_parser("page", parents=[question, by], help="draw a page or picture by fg-render")
    page.add_argument("-o", "--output", metavar="FILE", required=True, help="the page: api.html, or api.svg")
    page.add_argument("--step", metavar="TIME", default="1 day", help="the steps of its time line (default: 1 day)")
    sql = commands.add_parser("sql", parents=[data], help="answer a question in SQL over stacks, functions, recordings")
    sql.add_argument("query", metavar="QUERY")
    compact = commands.add_parser("compact", parents=[data], help="make one run of all, and forget what is old")
    compact.add_argument("--retain", metavar="AGE", help="keep times and hosts of days so old: 30d; all by default")
    compact.add_argument("--coarse", metavar="AGE", help="keep the stacks of days so old at all: 1y; all by default")
    serve = commands.add_parser("serve", parents=[data], help="show the store in a browser, and take profiles that agents send")
    serve.add_argument("--listen", metavar="HOST:PORT", default="127.0.0.1:4040", help="the address (default: 127.0.0.1:4040)")
    serve.add_argument("--labels", metavar="LABELS", default="service,version,host", help="the labels of profiles that are kept (default: service,version,host)")
    serve.add_argument("--token-file", metavar="FILE", help="ask for the token in FILE: as a bearer's, or as a password")
    serve.add_argument("--read-only", action="store_true", help="take no profiles")
    collapse = commands.add_parser("collapse", help="add a folder of recordings to a store, on Apache Spark")
    collapse.add_argument("folder", metavar="FOLDER", help="recordings of any formats, in a folder that all executors see")
    collapse.add_argument("--out", metavar="DATA", required=True, help="the store, likewise; it is made if it is not there")
    collapse.add_argument("--labels", metavar="PATTERN", help="labels from the path: {service}/{version}/{host}/*")
    collapse.add_argument("--program", metavar="FILE", help="the fg-collapse to send to the executors")
    collapse.add_argument("--master", metavar="URL", help="the cluster, if spark-submit does not name it: local[*]")
    collapse.add_argument("--conf", metavar="KEY=VALUE", action="append", default=[], help="a setting of Spark")
    return tool


def run(args: argparse.Namespace, options: list[str]) -> int:
    """Runs a command."""
    if args.command == "collapse":
        from fg_fleet import cluster

        spark = cluster.session(args.master, args.conf, "fg-fleet")
        try:
            return cluster.collapse(spark, args.folder, args.out, args.labels, args.program, options)
        finally:
            spark.stop()
    from fg_fleet import query
    from fg_fleet.store import Store, Trouble

    if args.command == "serve":
        from fg_fleet import serve

        token = None
        if args.token_file:
            with open(args.token_file, encoding="utf-8") as file:
                token = file.read().strip()
            if not token:
                raise Trouble(f"{args.token_file}: there is no token in it")
        if not re.fullmatch(r".+:\d{1,5}", args.listen):
            raise Trouble(f"{args.listen!r} is no HOST:PORT")
        labels = [label for label in args.labels.split(",") if label]
        return serve.run(args.data, args.memory, args.listen, labels, token, args.read_only)
    store = Store(args.data, args.memory)
    store.demand()
    if args.command == "compact":
        print(store.compact(args.retain, args.coarse))
        return 0
    if args.command == "sql":
        answer = store.sql.sql(args.query)
        if answer is not None:
            answer.show(max_width=10_000, max_rows=1_000)
        return 0
    labels = [label for label in (getattr(args, "by", None) or "").split(",") if label]
    question = query.Question(store, args.where, args.value)
    if args.command == "top":
        return query.top(question, labels, args.limit, args.sort, args.tsv)
    question.expect_one_kind()
    if args.command == "diff":
        return query.diff(question, args.before, args.after, args.runs, args.output, options)
    if args.command == "trend":
        return query.trend(question, args.by, args.runs, args.output, options)
    if args.command == "page":
        return query.page(question, labels, args.step, args.output, options)
    return query.folded(question, labels, args.output, options)


def main(arguments: list[str] | None = None) -> int:
    """The program."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options: list[str] = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, options = arguments[:at], arguments[at + 1 :]
    args = parser().parse_args(arguments)
    if options and args.command in ("top", "sql", "compact", "serve"):
        parser().error(f"{args.command} gives no options to another program")
    try:
        import duckdb
    except ImportError:
        print("fg-fleet: no DuckDB: pip install duckdb", file=sys.stderr)
        return 2
    from fg_fleet.store import Trouble

    try:
        return run(args, options)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever reads has seen enough.
        sys.stderr.close()
        return 0
    except ImportError:
        message = "no PySpark: pip install 'pyspark>=4'; without a cluster, fg-collapse -r FOLDER --store DATA does the same"
    except (Trouble, OSError) as error:
        message = str(error)
    except duckdb.Error as error:
        message = next((line.strip() for line in str(error).splitlines() if line.strip()), "DuckDB failed")
    except Exception as error:
        if not type(error).__module__.startswith(("py4j", "pyspark")):
            raise
        message = reason(str(error))
    print(f"fg-fleet: {message}", file=sys.stderr)
    return 2


def reason(text: str) -> str:
    """The line of an error of Spark that says why."""
    named = r"^(?:: |Caused by: )?(?:\w+\.)*(\w*(?:Error|Exception)): (.+)$"
    raised = re.findall(named, text.partition("SQLSTATE")[0], re.MULTILINE)
    if raised:
        kind, message = raised[-1]
        return message if kind == "RuntimeError" else f"{kind}: {message}"
    return next((line.strip() for line in text.splitlines() if line.strip()), "Spark failed")


if __name__ == "__main__":
    sys.exit(main())
