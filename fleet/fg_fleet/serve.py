"""`fg-fleet serve`: a page over the store, answers for other programs, and a place to send profiles to.

A WSGI application, which waitress runs. What a request asks becomes a condition over labels: no SQL comes from
outside. Pages are fg-render's and fg-diff's own.
"""

from __future__ import annotations

import base64
import hmac
import html
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import duckdb

from fg_fleet import query
from fg_fleet.incoming import Incoming, Refused, sent_to_ingest, sent_to_push, unpacked
from fg_fleet.store import PLACE, Store, Trouble, quoted

# Profiles that were sent are added to the store after so many seconds.
ADDED_S = 10
STYLE = """body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.3rem}table{border-collapse:collapse;width:100%}td,th{padding:.25rem .6rem;text-align:left;border-bottom:1px solid #e3e6ea}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}td.f{word-break:break-all;font-family:ui-monospace,monospace;font-size:.9em}
form{display:flex;flex-wrap:wrap;gap:.8rem;align-items:end;margin:1rem 0}label{display:grid;font-size:.85em}select,input,button{font:inherit;padding:.2rem .4rem}
a{color:#0b5cad}.bar{background:#f2a65a;height:.7rem}@media(prefers-color-scheme:dark){body{color:#e6e8eb;background:#15181c}td,th{border-color:#333a42}a{color:#7db7f0}}"""
# A page of fg-render brings its own policy.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
_TIME = re.compile(r"now(?:-(\d+)([smhdw]))?|\d{1,19}")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

Answer = tuple[str, bytes, dict[str, str]]


class App:
    """The requests that are answered."""

    def __init__(self, root: str, memory: str | None, incoming: Incoming | None, token: str | None) -> None:
        self.root, self.memory, self.incoming, self.token = root, memory, incoming, token

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        try:
            self._expect_token(environ.get("HTTP_AUTHORIZATION", ""))
            kind, body, more = self._answer(environ)
            status = "200 OK"
        except Refused as error:
            status, kind, more = f"{error.status} Refused", "text/plain", {}
            body = f"fg-fleet: {query.printable(str(error))}\n".encode()
            if error.status == 401:
                more = {"WWW-Authenticate": 'Basic realm="fg-fleet"'}
        except (Trouble, OSError, duckdb.Error) as error:
            why = " ".join(query.printable(str(error)).split())
            status, kind, body, more = "400 Refused", "text/plain", f"fg-fleet: {why[:500]}\n".encode(), {}
        headers = {"Content-Type": f"{kind}; charset=utf-8", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
        headers |= {"Content-Length": str(len(body)), "Cache-Control": "no-store"} | more
        start_response(status, list(headers.items()))
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def _expect_token(self, given: str) -> None:
        """The token as a bearer's, or as the password that a browser asks for."""
        if not self.token:
            return
        kind, _, value = given.partition(" ")
        if kind.lower() == "basic":
            try:
                value = base64.b64decode(value).decode().partition(":")[2]
            except ValueError:
                value = ""
        if not hmac.compare_digest(value.strip().encode(), self.token.encode()):
            raise Refused(401, "a token is asked for")

    def _answer(self, environ: dict[str, Any]) -> Answer:
        path, method = environ.get("PATH_INFO", "/"), environ["REQUEST_METHOD"]
        asked = parse_qsl(environ.get("QUERY_STRING", ""), max_num_fields=200)
        if method == "POST":
            return self._take(path, environ)
        if method not in ("GET", "HEAD"):
            raise Refused(405, f"{method} is not known")
        pages = {
            "/": self._home,
            "/page": self._page,
            "/diff": self._diff,
            "/api/labels": self._labels,
            "/api/top": self._top,
            "/api/flamegraph": self._nested_set,
            "/pyroscope/render": self._flamebearer,
            "/pyroscope/label-names": self._label_names,
            "/pyroscope/label-values": self._label_values,
        }
        if path not in pages:
            raise Refused(404, f"nothing is at {path}")
        return pages[path](asked)

    # --- profiles that are sent -------------------------------------------------------------------

    def _take(self, path: str, environ: dict[str, Any]) -> Answer:
        if not self.incoming:
            raise Refused(405, "this server is read-only")
        # Agents name no origin; a page of another site that a browser shows does.
        if environ.get("HTTP_ORIGIN"):
            raise Refused(403, "profiles are not taken from pages")
        body = environ["wsgi.input"].read()
        body = unpacked(body, environ.get("HTTP_CONTENT_ENCODING", "").lower())
        kind = environ.get("CONTENT_TYPE", "")
        if path == "/ingest":
            sent = sent_to_ingest(environ.get("QUERY_STRING", ""), kind, body)
        elif path == "/push.v1.PusherService/Push":
            sent = sent_to_push(body)
        elif path in ("/v1development/profiles", "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"):
            # The attributes of an export stay with its samples.
            sent = iter([(body, {}, "json" if kind.startswith("application/json") else "otlp")])
        else:
            raise Refused(404, f"profiles are sent to /ingest, /push.v1.PusherService/Push and /v1development/profiles, not {path}")
        for profile, labels, ending in list(sent):
            self.incoming.keep(profile, labels, ending)
        return "application/proto" if "proto" in kind else "application/json", b"" if "proto" in kind else b"{}", {}

    # --- questions --------------------------------------------------------------------------------

    def _question(self, asked: list[tuple[str, str]]) -> query.Question:
        """The rows that have the labels asked for: `l.version=2.3`; of several values the one with the most recordings."""
        store = Store(self.root, self.memory)
        store.demand()
        conditions = conditions_of(asked, "l.", {*PLACE, *store.labels()})
        plain = dict(asked)
        conditions += [
            f"time {sign} to_timestamp({moment(plain[key])})" for key, sign in (("from", ">="), ("until", "<")) if plain.get(key)
        ]
        where = " and ".join(conditions) or None
        value, unit = plain.get("value"), plain.get("unit")
        if not value or unit is None:
            all_kinds = query.Question(store, where, value)
            found = store.sql.execute(
                f"select value_type, coalesce(unit, '') from {all_kinds.rows('recordings')} where {all_kinds.where} and stacks > 0"
                " group by all order by count(*) desc, 1, 2 limit 1"
            ).fetchone()
            if found:
                value, unit = found
        kind = f"coalesce(unit, '') = {quoted(unit or '')}"
        return query.Question(store, f"{where} and {kind}" if where else kind, value)

    def _home(self, asked: list[tuple[str, str]]) -> Answer:
        store = Store(self.root, self.memory)
        if not store.runs:
            return page("No profiles yet", "<p>Profiles that are sent are here after some seconds.</p>")
        plain, everything = dict(asked), query.Question(store)
        shown = ["service", *(label for label in everything.labels if label != "service")]
        fields = []
        for label in shown:
            values = [row[0] for row in values_of(everything, label)]
            if values:
                fields.append(select(f"l.{label}", label, values, plain.get(f"l.{label}", "")))
        kinds = store.sql.execute("select value_type, coalesce(unit, '') from recordings where stacks > 0 group by all order by 1, 2").fetchall()
        question = self._question(asked)
        value, unit = question.value_types[0], (question.units or [""])[0]
        others = without(asked, "value", "unit")
        links = " · ".join(
            f'<a href="/?{link([*others, ("value", kind), ("unit", of)])}">{escaped(f"{kind} {of}".strip())}</a>' for kind, of in kinds
        )
        chosen = [*others, ("value", value), ("unit", unit)]
        hidden = "".join(f'<input type="hidden" name="{key}" value="{escaped(text)}">' for key, text in (("value", value), ("unit", unit)))
        whole, rows = top(question, 40)
        most = max((abs(own) for _, own, _ in rows), default=0) or 1
        lines = "".join(
            f'<tr><td class="n">{escaped(amount(own, unit))}</td><td class="n">{query.share(own, whole)}</td>'
            f'<td style="width:12rem"><div class="bar" style="width:{100 * abs(own) / most:.1f}%"></div></td>'
            f'<td class="n">{query.share(total, whole)}</td><td class="f">{escaped(names_[-1])}</td></tr>'
            for names_, own, total in rows
        )
        versions = compared(everything, asked)
        return page(
            f"{value}: {amount(whole, unit)}",
            f"<p>Values: {links}</p><form>{''.join(fields)}{hidden}<button>Show</button></form>"
            f'<p><a href="/page?{link(chosen)}">Flame graph</a>{versions}</p>'
            '<table><tr><th class="n">self</th><th class="n">self%</th><th></th><th class="n">total%</th><th>function</th></tr>'
            f"{lines}</table>",
        )

    def _drawn(self, make: Callable[[str], int]) -> Answer:
        with tempfile.TemporaryDirectory(prefix="fg-fleet-") as folder:
            path = str(Path(folder, "page.html"))
            status = make(path)
            if status not in (0, 1) or not Path(path).exists():
                raise Refused(500, f"the page was not drawn: exit status {status}")
            return "text/html", Path(path).read_bytes(), {}

    def _page(self, asked: list[tuple[str, str]]) -> Answer:
        question = self._question(asked)
        by = [value for key, value in asked if key == "by" and value]
        return self._drawn(lambda path: query.page(question, by, "1 day", path, ["--quiet"]))

    def _diff(self, asked: list[tuple[str, str]]) -> Answer:
        """Two sides: `before.version=2.3&after.version=2.4`."""
        question = self._question(asked)
        sides = []
        for side in ("before.", "after."):
            conditions = conditions_of(asked, side, {*PLACE, *question.labels})
            if not conditions:
                raise Refused(400, f"{side}LABEL is missing: /diff?before.version=2.3&after.version=2.4")
            sides.append(" and ".join(conditions))
        runs = dict(asked).get("runs", "host")
        return self._drawn(lambda path: query.diff(question, *sides, runs, path, ["--quiet"]))

    # --- answers for other programs ----------------------------------------------------------------

    def _labels(self, asked: list[tuple[str, str]]) -> Answer:
        everything = query.Question(Store(self.root, self.memory))
        names = sorted({*PLACE, *everything.labels})
        return as_json({name: [row[0] for row in values_of(everything, name)] for name in names})

    def _label_names(self, asked: list[tuple[str, str]]) -> Answer:
        everything = query.Question(Store(self.root, self.memory))
        return as_json(sorted({"service_name", *everything.labels} - {"service"}))

    def _label_values(self, asked: list[tuple[str, str]]) -> Answer:
        everything = query.Question(Store(self.root, self.memory))
        label = dict(asked).get("label", "")
        if label == "__name__":
            kinds = "select distinct value_type from recordings where stacks > 0 order by 1"
            return as_json([row[0] for row in everything.store.sql.execute(kinds).fetchall()])
        return as_json([row[0] for row in values_of(everything, "service" if label == "service_name" else label)])

    def _top(self, asked: list[tuple[str, str]]) -> Answer:
        question = self._question(asked)
        limit = dict(asked).get("limit", "20")
        if not re.fullmatch(r"\d{1,6}", limit):
            raise Refused(400, f"limit is no number: {limit}")
        whole, rows = top(question, int(limit))
        listed = [{"function": names[-1], "self": query.text_of(own), "total": query.text_of(total)} for names, own, total in rows]
        unit = (question.units or [None])[0]
        return as_json({"value": question.value_types[0], "unit": unit, "whole": query.text_of(whole), "functions": listed})

    def _nested_set(self, asked: list[tuple[str, str]]) -> Answer:
        """The frames as Grafana's flame graph panel takes them: level, value, self, label, parents before children."""
        rows: list[dict[str, object]] = []

        def add(level: int, name: str, own: int, total: int, _start: int) -> None:
            rows.append({"level": level, "value": total, "self": own, "label": name})

        walk(tree(self._question(asked)), add)
        return as_json(rows)

    def _flamebearer(self, asked: list[tuple[str, str]]) -> Answer:
        """`query=cpu{service_name="api"}`, answered in Pyroscope's flamebearer."""
        found = re.fullmatch(r"\s*([^{\s]*)\s*(?:\{(.*)\})?\s*", dict(asked).get("query", ""), re.S)
        if not found:
            raise Refused(400, 'query is not understood: cpu{service_name="api"}')
        matchers = re.findall(r'([\w.]+)\s*(=~|!=|!~|=)\s*"((?:[^"\\]|\\.)*)"', found[2] or "")
        if any(sign != "=" for _, sign, _ in matchers):
            raise Refused(400, "labels are matched by = only")
        names = {"service_name": "service"}
        wanted = [(f"l.{names.get(key, key)}", re.sub(r"\\(.)", r"\1", value)) for key, _, value in matchers]
        parts = found[1].split(":")
        # process_cpu:cpu:nanoseconds:cpu:nanoseconds
        value = parts[1] if len(parts) > 2 else parts[0]
        wanted += [("value", value)] if value else []
        question = self._question([*wanted, *((key, text) for key, text in asked if key in ("from", "until"))])
        names_of: dict[str, int] = {}
        levels: list[list[int]] = []
        ends: list[int] = []
        most = 0
        total_of_all = 0

        def add(level: int, name: str, own: int, total: int, start: int) -> None:
            nonlocal most, total_of_all
            while len(levels) <= level:
                levels.append([])
                ends.append(0)
            levels[level] += [start - ends[level], total, own, names_of.setdefault(name, len(names_of))]
            ends[level] = start + total
            most = max(most, own)
            total_of_all = total if level == 0 else total_of_all

        walk(tree(question), add)
        unit = (question.units or ["samples"])[0]
        return as_json(
            {
                "version": 1,
                "flamebearer": {"names": list(names_of), "levels": levels, "numTicks": total_of_all, "maxSelf": most},
                # Ticks are units: in nanoseconds, a thousand million a second.
                "metadata": {"format": "single", "units": unit, "name": question.value_types[0], "sampleRate": 10**9 if unit == "ns" else 100},
            }
        )


class Node:
    """A frame of the tree of all stacks."""

    __slots__ = ("children", "own")

    def __init__(self) -> None:
        self.children: dict[str, Node] = {}
        self.own = 0


def tree(question: query.Question) -> Node:
    """All stacks as a tree. Weights are whole there: fractions of a unit are cut."""
    question.expect_one_kind()
    root = Node()
    for _, line in question.stacks([]):
        stack, _, weight = line.decode(errors="replace").rstrip("\n").rpartition(" ")
        node = root
        for frame in stack.split(";"):
            node = node.children.setdefault(frame, Node())
        node.own += int(Decimal(weight))
    return root


def walk(root: Node, add: Callable[[int, str, int, int, int], None]) -> int:
    """Calls `add` with level, name, self, total and place of each frame, parents before children."""
    totals: dict[int, int] = {}
    order: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += node.children.values()
    for node in reversed(order):
        totals[id(node)] = node.own + sum(totals[id(child)] for child in node.children.values())
    waiting: list[tuple[int, str, Node, int]] = [(0, "total", root, 0)]
    while waiting:
        level, name, node, start = waiting.pop()
        add(level, name, node.own, totals[id(node)], start)
        at = start
        below = []
        for child_name, child in node.children.items():
            below.append((level + 1, child_name, child, at))
            at += totals[id(child)]
        waiting += reversed(below)
    return totals[id(root)]


def top(question: query.Question, limit: int) -> tuple[Any, list[tuple[list[str], Any, Any]]]:
    """The heaviest functions."""
    question.store.sql.execute(f"create or replace temp table found as {query.functions(question, [])}")
    kind = question.store.sql.execute("select distinct value_type, unit from found").fetchall()[0]
    return query.top_rows(question, kind, [], limit, "self")


def conditions_of(asked: list[tuple[str, str]], prefix: str, known: set[str]) -> list[str]:
    """The parameters `l.version=2.3` as conditions in SQL: labels that are known, and their values as texts."""
    found = [(key[len(prefix) :], value) for key, value in asked if key.startswith(prefix) and value]
    for label, _ in found:
        if label not in known:
            raise Refused(400, f"no recording has the label {query.printable(label)}")
    return [f"{query.name(label)} = {quoted(value)}" for label, value in found]


def moment(text: str) -> float:
    """Seconds since 1970: `now-1h`, seconds or milliseconds."""
    found = _TIME.fullmatch(text)
    if not found:
        raise Refused(400, f"{text!r} is no time: now-1h, or seconds since 1970")
    if text.startswith("now"):
        return time.time() - int(found[1] or 0) * _SECONDS.get(found[2] or "s", 1)
    return int(text) / (1000 if len(text) > 11 else 1)


def values_of(question: query.Question, label: str) -> list[tuple[str]]:
    """The values of a label."""
    if label not in {*PLACE, *question.labels}:
        raise Refused(400, f"no recording has the label {label}")
    source = question.rows("recordings", {label})
    named = query.name(label)
    return question.store.sql.execute(f"select distinct {named} from {source} where {named} is not null order by 1 limit 1000").fetchall()


def compared(question: query.Question, asked: list[tuple[str, str]]) -> str:
    """A link to the difference of the last two versions."""
    if "version" not in question.labels:
        return ""
    versions = [row[0] for row in values_of(question, "version")][-2:]
    if len(versions) < 2:
        return ""
    sides = [*without(asked, "l.version"), ("before.version", versions[0]), ("after.version", versions[1])]
    return f' · <a href="/diff?{link(sides)}">{escaped(versions[0])} → {escaped(versions[1])}</a>'


def without(asked: list[tuple[str, str]], *keys: str) -> list[tuple[str, str]]:
    """The parameters but these."""
    return [(key, value) for key, value in asked if key not in keys]


def link(asked: list[tuple[str, str]]) -> str:
    """Parameters as a part of a link in markup."""
    return escaped(urlencode(asked, quote_via=quote, errors="replace"))


def select(key: str, label: str, values: list[str], chosen: str) -> str:
    """A list to choose from."""
    options = "".join(f'<option{" selected" if value == chosen else ""}>{escaped(value)}</option>' for value in values)
    return f'<label>{escaped(label)}<select name="{escaped(key)}"><option value="">all</option>{options}</select></label>'


def escaped(text: str) -> str:
    """Text in markup."""
    return html.escape(query.printable(text))


def amount(weight: Decimal, unit: str) -> str:
    """A weight as people read it: times in seconds, bytes in MB."""
    divisor, shown = {"ns": (10**9, "s"), "us": (10**6, "s"), "µs": (10**6, "s"), "ms": (1000, "s"), "bytes": (10**6, "MB")}.get(unit, (1, unit))
    number = f"{weight / divisor:,.3f}" if divisor > 1 else f"{weight:,f}"
    return f"{number} {shown}".strip()


def page(title: str, body: str) -> Answer:
    """A page of our own."""
    text = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escaped(title)}</title><style>{STYLE}</style><h1>{escaped(title)}</h1>{body}</html>"
    )
    return "text/html", text.encode(errors="replace"), {"Content-Security-Policy": POLICY}


def as_json(value: object) -> Answer:
    """An answer for programs."""
    return "application/json", json.dumps(value).encode(), {}


def run(root: str, memory: str | None, listen: str, labels: list[str], token: str | None, read_only: bool) -> int:
    """Serves until it is ended."""
    try:
        import waitress
    except ImportError as error:
        raise Trouble("no waitress: pip install './fleet[serve]'") from error
    host, _, port = listen.rpartition(":")
    if host not in ("127.0.0.1", "localhost", "[::1]") and not token:
        raise Trouble(f"{listen}: others can reach it, so it takes a token: --token-file FILE")
    incoming = None if read_only else Incoming(root, labels)
    ended = threading.Event()

    def add() -> None:
        while incoming and not ended.wait(ADDED_S):
            try:
                says = incoming.add()
            except (Trouble, OSError, subprocess.SubprocessError) as error:
                says = str(error)
            if says:
                print(f"fg-fleet: {says.splitlines()[-1]}", file=sys.stderr)

    if incoming:
        incoming.add()
        threading.Thread(target=add, daemon=True).start()
    app = App(root, memory, incoming, token)
    server = waitress.create_server(
        app, host=host.strip("[]"), port=int(port), threads=4, max_request_body_size=64 << 20, ident=None
    )
    print(f"fg-fleet: http://{host}:{server.effective_port}/", file=sys.stderr, flush=True)
    try:
        server.run()
    finally:
        ended.set()
        if incoming:
            incoming.add()
    return 0
