"""`fg-fleet serve`: what clients send is kept for good and answered; what strangers ask harms nothing."""

from __future__ import annotations

import base64
import gzip
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import threading
import unittest
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import quote, urlencode

import recordings
from test_fleet import PROGRAMS, Fleet

from fg_fleet.incoming import Incoming
from fg_fleet.serve import App

HEAP = recordings.FIXTURES / "pprof/heap/input.pb.gz"
BOUNDARY = "x5"


def field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer."""
    size, value = b"", len(content)
    while value > 127:
        size += bytes([value & 127 | 128])
        value >>= 7
    return bytes([number << 3 | 2]) + size + bytes([value]) + content


def push(profile: bytes, **labels: str) -> bytes:
    """What Pyroscope's clients send."""
    pairs = b"".join(field(1, field(1, key.encode()) + field(2, value.encode())) for key, value in labels.items())
    return gzip.compress(field(1, pairs + field(2, field(1, profile))))


def form(name: str, content: bytes) -> bytes:
    """A form with one file."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n'
    return head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()


class Served(Fleet):
    """The application, without a socket."""

    def setUp(self) -> None:
        super().setUp()
        self.incoming = Incoming(str(self.data), ["service", "version", "host"])
        self.app = App(str(self.data), None, self.incoming, None)

    def ask(self, path: str, body: bytes | None = None, expect: int = 200, app: App | None = None, **headers: str) -> bytes:
        """Asks, and returns the answer."""
        place, _, asked = path.partition("?")
        environ = {
            "REQUEST_METHOD": "GET" if body is None else "POST",
            "PATH_INFO": place,
            "QUERY_STRING": asked,
            "wsgi.input": io.BytesIO(body or b""),
            **headers,
        }
        told = []
        answer = b"".join((app or self.app)(environ, lambda status, headers: told.extend([status, dict(headers)])))
        self.assertEqual(int(told[0].split()[0]), expect, answer)
        if told[1]["Content-Type"].startswith("text/plain"):
            self.assertEqual(answer.count(b"\n"), 1)
        return answer

    def test_what_clients_send_is_answered(self) -> None:
        heap = HEAP.read_bytes()
        sent = push(heap, service_name="api", version="2.3", hostname="a", other="x")
        self.ask("/push.v1.PusherService/Push", sent, HTTP_CONTENT_ENCODING="gzip", CONTENT_TYPE="application/proto")
        kind = f"multipart/form-data; boundary={BOUNDARY}"
        self.ask("/ingest?name=" + quote("web.cpu{host=b,version=2.4}"), form("profile", heap), CONTENT_TYPE=kind)
        self.ask("/ingest?name=job&format=folded", b"main;a 3\nmain;b 4\n", CONTENT_TYPE="text/plain")
        otlp = (recordings.FIXTURES / "otlp").rglob("input*")
        for path in sorted(path for path in otlp if ".json" not in path.name)[:1]:
            plain = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            self.ask("/v1development/profiles", plain, CONTENT_TYPE="application/x-protobuf")
        self.assertEqual(len(self.incoming.waiting()), 4)
        self.assertIsNone(self.incoming.add())
        self.assertEqual(self.incoming.waiting(), [])
        labels = json.loads(self.ask("/api/labels"))
        self.assertEqual((labels["version"], labels["host"]), (["-", "2.3", "2.4"], ["-", "a", "b"]))
        self.assertLessEqual({"api", "web", "job"}, set(labels["service"]))
        self.assertEqual(json.loads(self.ask("/pyroscope/label-values?label=service_name")), labels["service"])
        # The same weights from every side.
        command = [PROGRAMS / "fg-collapse", "--no-header", "--value", "alloc_space", HEAP]
        direct = subprocess.run(command, capture_output=True, check=True).stdout.decode()
        asked = urlencode({"query": 'memory:alloc_space:bytes:space:bytes{service_name="api"}', "format": "json"})
        answer = self.ask(f"/pyroscope/render?{asked}")
        back = subprocess.run([PROGRAMS / "fg-collapse", "--no-header"], input=answer, capture_output=True, check=True).stdout.decode()
        self.assertEqual(sorted(line.removeprefix("total;") for line in back.splitlines()), sorted(direct.splitlines()))
        whole = sum(int(line.rpartition(" ")[2]) for line in direct.splitlines())
        found = json.loads(self.ask("/api/top?l.service=api&value=alloc_space&unit=bytes"))
        self.assertEqual((int(found["whole"]), found["unit"]), (whole, "bytes"))
        frames = json.loads(self.ask("/api/flamegraph?l.service=api&value=alloc_space&unit=bytes"))
        self.assertEqual((frames[0]["value"], sum(row["self"] for row in frames)), (whole, whole))
        # Of a time.
        self.assertEqual(json.loads(self.ask("/api/top?l.service=api&value=alloc_space&unit=bytes&from=0"))["whole"], str(whole))
        self.ask("/api/top?l.service=api&value=alloc_space&unit=bytes&from=now-1h", expect=400)
        self.assertEqual(self.ask("/", REQUEST_METHOD="HEAD"), b"")
        levels = [row["level"] for row in frames]
        self.assertTrue(all(after <= before + 1 for before, after in zip(levels, levels[1:])))
        home = self.ask("/?l.service=job").decode()
        self.assertIn("<h1>weight: 7</h1>", home)
        drawn = self.ask("/page?l.service=api&value=alloc_space&unit=bytes")
        self.assertIn(b"data-script", drawn)
        sides = "before.version=2.3&after.version=2.4&value=alloc_space&unit=bytes"
        self.assertIn(b"data-script", self.ask(f"/diff?{sides}"))

    def test_strangers_do_no_harm(self) -> None:
        name = quote("../../../etc{version=..,host=.a/\n\x1bb}")
        self.ask(f"/ingest?name={name}&format=folded", b"<script>alert(1)</script>;'\"&\x1b]0; 5\n")
        (kept,) = self.incoming.waiting()
        self.assertEqual(kept.relative_to(self.data / "_incoming").parts[:3], ("_._.._.._etc", "_.", "_a___b"))
        self.incoming.add()
        home = self.ask("/").decode()
        self.assertNotIn("<script>", home)
        self.assertIn("&lt;script&gt;", home)
        self.assertNotIn("\x1b", home)
        # A value is a text, and a label is a name.
        for asked in ("l.version=' or 1=1 --", "l.x\" or 1=1 --=1", "l.=1", "value=' or ''='", "from=yesterday", "before.version=1"):
            self.ask("/api/top?" + quote(asked, safe="=&"), expect=200 if asked.startswith("before") else 400)
        self.ask("/../etc/passwd", expect=404)
        self.ask("/diff", expect=400)
        bomb = gzip.compress(bytes(300 << 20), 1)
        self.ask("/ingest?name=a&format=folded", bomb, expect=413, HTTP_CONTENT_ENCODING="gzip")
        self.ask("/ingest?name=a&format=pprof", b"not gzip", expect=400, HTTP_CONTENT_ENCODING="gzip")
        self.ask("/ingest?name=a&format=trie", b"x", expect=415)
        self.ask("/ingest?format=folded", b"x", expect=400)
        self.ask("/ingest?name=a&format=folded", b"a 1\n", expect=403, HTTP_ORIGIN="https://elsewhere.example")
        for body in (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\x0a\x05a", b"\x0b", b"\x0a"):
            self.ask("/push.v1.PusherService/Push", body, expect=400)
        # What is no profile becomes a reject, which is said.
        self.ask("/ingest?name=a&format=pprof", b"no profile at all")
        self.assertIn("1 left out", self.incoming.add() or "")
        self.assertEqual(self.incoming.waiting(), [])

    def test_a_token_and_read_only(self) -> None:
        closed = App(str(self.data), None, self.incoming, "secret")
        self.ask("/", expect=401, app=closed)
        self.ask("/ingest?name=a&format=folded", b"a 1\n", expect=401, app=closed)
        self.ask("/", expect=401, app=closed, HTTP_AUTHORIZATION="Bearer secre")
        self.ask("/", app=closed, HTTP_AUTHORIZATION="Bearer secret")
        self.ask("/", app=closed, HTTP_AUTHORIZATION="Basic " + base64.b64encode(b"me:secret").decode())
        self.ask("/", expect=401, app=closed, HTTP_AUTHORIZATION="Basic !")
        self.ask("/ingest?name=a&format=folded", b"a 1\n", expect=405, app=App(str(self.data), None, None, None))
        _, says = self.fleet("serve", self.data, "--listen", "0.0.0.0:0", status=2)
        self.assertIn("--token-file", says)

    @unittest.skipUnless(importlib.util.find_spec("waitress"), "no waitress: pip install waitress")
    def test_whoever_is_killed_has_lost_nothing_that_was_acknowledged(self) -> None:
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        command = [sys.executable, "-m", "fg_fleet", "serve", str(self.data), "--listen", "127.0.0.1:0"]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ)
        self.addCleanup(server.kill)
        assert server.stderr
        address = server.stderr.readline().split()[-1]
        acknowledged: list[int] = []

        def send(host: int) -> None:
            for number in range(100):
                weight = 100 * host + number
                url = f"{address}ingest?format=folded&name=" + quote(f"api{{version=1,host=h{host}}}")
                try:
                    with urllib.request.urlopen(url, data=f"main;f{weight} 1\n".encode(), timeout=60):
                        acknowledged.append(weight)
                except (OSError, urllib.error.URLError):
                    return
                if len(acknowledged) == 300:
                    server.send_signal(signal.SIGKILL)

        hosts = [threading.Thread(target=send, args=(host,)) for host in range(50)]
        for host in hosts:
            host.start()
        for host in hosts:
            host.join()
        server.wait()
        self.assertGreaterEqual(len(acknowledged), 300)
        self.assertLess(len(acknowledged), 5000)
        Incoming(str(self.data), ["service", "version", "host"]).add()
        folded = self.folded("service = 'api'").decode()
        there = {int(line.split(";f")[1].split()[0]) for line in folded.splitlines()}
        self.assertLessEqual(set(acknowledged), there)


if __name__ == "__main__":
    unittest.main()
