"""The programs that scripts/bench compares, and the folders it works in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", PROJECT / "target")).resolve()
SHARED = Path(os.environ.get("FG_SHARED", PROJECT.parent / "shared")) / "bench"
BENCH = TARGET / "bench"
INPUTS = BENCH / "inputs"
INFERNO_VERSION = "0.12.8"
# grep and we compare bytes, whatever language the user speaks.
ENVIRONMENT = {**os.environ, "LC_ALL": "C"}


def ours(name):
    return str(TARGET / "release" / name)


def inferno(name):
    return str(BENCH / "inferno" / "bin" / f"inferno-{name}")


def say(message):
    print(f"bench: {message}", file=sys.stderr, flush=True)


def run(*command, **options):
    subprocess.run([str(part) for part in command], check=True, **options)


class Unavailable(Exception):
    """What a row needs is not to be had here."""


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Unavailable(f"no {program}")
