"""Runs all tests, and ends with a line that scripts/check counts."""

from __future__ import annotations

import os
import sys
import unittest
from pathlib import Path


def main() -> int:
    """Runs the tests of this folder."""
    # The name of this machine may stand in no table of hosts.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    here = Path(__file__).parent
    sys.path[:0] = [str(here), str(here.parent)]
    tests = unittest.defaultTestLoader.discover(str(here))
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    for test, why in result.skipped:
        print(f"skipped: {test.id().replace('.', '::')}: {why}")
    failed = len(result.failures) + len(result.errors)
    # A skipped one is counted by its line.
    passed = result.testsRun - failed
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed; 0 ignored")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
