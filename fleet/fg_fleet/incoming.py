"""Profiles that agents send: `fg-fleet serve` keeps each as a file until fg-collapse has added it to the store.

A profile is acknowledged when its file is on the disk. Whoever is killed then loses nothing: the next one adds
what is there, and a profile that is in the store already is passed over.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import uuid
import zlib
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import HTTP
from pathlib import Path
from urllib.parse import parse_qs

from fg_fleet.query import tool
from fg_fleet.store import Trouble

# The names that clients give to the labels which we have, the first that is there.
ALIASES = {
    "service": ("service", "service_name", "service.name", "app"),
    "version": ("version", "service_version", "service.version"),
    "host": ("host", "hostname", "host.name", "instance", "pod"),
}
# A label that a profile lacks.
NONE = "-"
# The endings of the formats that the parameter `format` of /ingest names.
ENDINGS = {"pprof": "pb", "folded": "folded", "trie": None, "tree": None, "lines": None, "jfr": "jfr", "": "folded", "speedscope": "json"}
# What a compressed body may become.
LARGEST = 256 << 20


class Refused(Exception):
    """A request that is not taken: an HTTP status and a line."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Incoming:
    """The folder of profiles that are not in the store yet."""

    def __init__(self, root: str, labels: list[str]) -> None:
        if "://" in root:
            raise Trouble(f"{root}: profiles that are sent go to a store in a folder; --read-only serves one in a bucket")
        self.root = root
        self.labels = labels
        self.folder = Path(root, "_incoming")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.adding = threading.Lock()

    def keep(self, profile: bytes, found: dict[str, str], ending: str) -> None:
        """Writes a profile to the disk, for good."""
        values = (next((found[key] for key in ALIASES.get(label, (label,)) if found.get(key)), NONE) for label in self.labels)
        folder = self.folder.joinpath(*map(component, values))
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{uuid.uuid4().hex}.{ending}"
        # A name with a dot in front is passed over by fg-collapse.
        with open(folder / f".{name}", "xb") as file:
            file.write(profile)
            file.flush()
            os.fsync(file.fileno())
        os.rename(folder / f".{name}", folder / name)
        for place in (folder, *folder.parents):
            descriptor = os.open(place, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if place == self.folder:
                break

    def waiting(self) -> list[Path]:
        """The profiles that are to be added."""
        return [path for path in self.folder.rglob("*") if path.name[0] != "." and path.is_file()]

    def add(self) -> str | None:
        """Adds what is there to the store, and says what fg-collapse had to say."""
        with self.adding:
            there = self.waiting()
            if not there:
                return None
            pattern = "/".join(f"{{{label}}}" for label in self.labels) + "/*"
            command = [tool("fg-collapse"), "-r", str(self.folder), "--store", self.root, "--path-pattern", pattern]
            done = subprocess.run(command, capture_output=True, check=False)
            if done.returncode not in (0, 1):
                return done.stderr.decode(errors="replace").strip()
            # Those that cannot be read are in the table of rejects.
            for path in there:
                path.unlink(missing_ok=True)
            return done.stderr.decode(errors="replace").strip() if done.returncode else None


def component(text: str) -> str:
    """A label as a name in a path."""
    safe = re.sub(r"[/\\\x00-\x1f\x7f]", "_", text)[:120]
    # Neither hidden nor a folder above.
    return safe if safe and safe[0] != "." else f"_{safe[1:]}"


def unpacked(body: bytes, encoding: str) -> bytes:
    """The body of a request without the compression of HTTP."""
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise Refused(415, f"content-encoding {encoding!r} is not known: gzip is")
    reader = zlib.decompressobj(47)
    try:
        plain = reader.decompress(body, LARGEST)
    except zlib.error as error:
        raise Refused(400, f"the body is no gzip: {error}") from error
    if reader.unconsumed_tail:
        raise Refused(413, f"the body has more than {LARGEST >> 20} MB")
    return plain


def sent_to_ingest(query: str, content_type: str, body: bytes) -> Iterator[tuple[bytes, dict[str, str], str]]:
    """The profiles of `POST /ingest?name=app{tag=value}&format=…`, which older clients of Pyroscope send."""
    asked = parse_qs(query)
    name = asked.get("name", [""])[0]
    matched = re.fullmatch(r"([^{]*)(?:\{(.*)\})?", name, re.S)
    if not name or not matched:
        raise Refused(400, "name is missing: /ingest?name=app{host=a}&format=pprof")
    application, tags = matched[1], matched[2] or ""
    labels = dict(tag.split("=", 1) for tag in tags.split(",") if "=" in tag)
    labels = {key.strip(): value.strip().strip('"') for key, value in labels.items()}
    # The end of the name is the kind of profile, which a profile knows better.
    labels.setdefault("service", re.sub(r"\.(cpu|wall|itimer|alloc\w*|inuse\w*)$", "", application))
    kind = asked.get("format", [""])[0]
    if content_type.startswith("multipart/form-data"):
        whole = message_from_bytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body, policy=HTTP)
        parts = {str(part.get_param("name", header="content-disposition")): part for part in whole.iter_parts()}
        if "profile" not in parts and "jfr" not in parts:
            raise Refused(400, "the form has no part `profile`")
        body = (parts.get("profile") or parts["jfr"]).get_payload(decode=True) or b""
        kind = kind or ("pprof" if "profile" in parts else "jfr")
    ending = ENDINGS.get(kind)
    if not ending:
        raise Refused(415, f"format {kind!r} is not read: pprof, jfr, folded and speedscope are")
    yield body, labels, ending


def sent_to_push(body: bytes) -> Iterator[tuple[bytes, dict[str, str], str]]:
    """The profiles of `push.v1.PusherService/Push`, which clients of Pyroscope and Alloy send."""
    for number, series in fields(body):
        if number != 1:
            continue
        labels, profiles = {}, []
        for inner, value in fields(series):
            if inner == 1:
                pair = dict(fields(value))
                labels[pair.get(1, b"").decode(errors="replace")] = pair.get(2, b"").decode(errors="replace")
            elif inner == 2:
                profiles += [raw for field, raw in fields(value) if field == 1]
        for profile in profiles:
            yield profile, labels, "pb"


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The numbers and bytes of the fields of a protocol buffer that hold bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while at < len(message) and shift < 64:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
        raise Refused(400, "the body is no protocol buffer")

    while at < len(message):
        key = varint()
        kind = key & 7
        if kind == 0:
            varint()
            continue
        size = {1: 8, 2: -1, 5: 4}.get(kind)
        size = varint() if size == -1 else size
        if size is None or size > len(message) - at:
            raise Refused(400, "the body is no protocol buffer")
        if kind == 2:
            yield key >> 3, message[at : at + size]
        at += size
