"""What needs no Spark to be running."""

from __future__ import annotations

import random
import unittest
from datetime import datetime, timezone
from decimal import Decimal

from fg_fleet import reader
from fg_fleet.cli import reason
from fg_fleet.collapse import LARGEST, PathPattern, Recording, chunks, day_of
from fg_fleet.query import words
from fg_fleet.store import Trouble


class Names(unittest.TestCase):
    def test_every_name_comes_back(self) -> None:
        chosen = random.Random(1)
        names = [
            b"",
            b"main",
            "Stra\u00dfe".encode(),
            b"\xff\x80",
            "\uef7f\uef80\uefff\uf000".encode(),
            b"\xed\xb2\x80",
        ]
        names += [bytes(chosen.choices(b"a\x7f\x80\xbe\xbf\xee\xef\xff\xc3", k=9)) for _ in range(2000)]
        for name in names:
            text = reader.to_text(name)
            self.assertEqual(reader.to_bytes(text), name)
            text.encode()
        self.assertEqual(len({reader.to_text(name) for name in names}), len(set(names)))
        self.assertEqual(reader.to_text("Stra\u00dfe".encode()), "Stra\u00dfe")

    def test_weights_are_exact(self) -> None:
        texts = ["0", "-7", "2.5", "-0.5", "0.000000000000000001", "18446744073709551616", "99999999999999999999"]
        numbers = reader.decimals([reader.scaled(text.encode()) for text in texts])
        self.assertEqual([number.as_py() for number in numbers], [Decimal(text) for text in texts])
        for text in (b"0.0000000000000000001", b"100000000000000000000"):
            with self.assertRaises(reader.Reject):
                reader.scaled(text)

    def test_times(self) -> None:
        half = datetime(2026, 11, 21, 10, 0, 0, 500000, timezone.utc)
        self.assertEqual(reader.parse_time("2026-11-21T10:00:00.5Z"), half)
        self.assertEqual(reader.parse_time("2026-11-21T10:00:00.500000999Z"), half)
        self.assertIsNone(reader.parse_time("2026-13-21T10:00:00Z"))
        self.assertIsNone(reader.parse_time("yesterday"))


class Paths(unittest.TestCase):
    def test_patterns_are_those_of_fg_collapse(self) -> None:
        pattern = PathPattern("./**/{service}-{version}/{host}.*")
        self.assertEqual(pattern.labels("eu/api-gw-2.3/n 1.gz"), {"service": "api-gw", "version": "2.3", "host": "n 1"})
        self.assertEqual(pattern.labels("api-2/h."), {"service": "api", "version": "2", "host": "h"})
        for path in ("api-2/h", "api/h.gz", "api-2/x/h.gz", "-2/h.gz"):
            self.assertIsNone(pattern.labels(path), path)
        for wrong in ("{a", "a}", "{}/x", "{a}/{a}", "{a/b}"):
            with self.assertRaises(Trouble, msg=wrong):
                PathPattern(wrong)

    def test_the_day_is_a_label_a_date_or_that_of_the_file(self) -> None:
        def day(path: str, **labels: str) -> str:
            return day_of(Recording(path, path, path, 0, 1_795_219_200_000_000_000, labels=labels))

        self.assertEqual(day("/p/x.gz"), "2026-11-21")
        self.assertEqual(day("/p/2026/01/02/x.gz"), "2026-01-02")
        self.assertEqual(day("/p/20260102T10/x.gz"), "2026-01-02")
        self.assertEqual(day("/p/2026-01-02/x.gz", day="2025-12-31"), "2025-12-31")
        self.assertEqual(day("/p/2026-31-02/120260102/x.gz"), "2026-11-21")

    def test_a_skewed_service_and_a_large_recording_have_tasks_of_their_own(self) -> None:
        def recording(service: str, number: int, size: int) -> Recording:
            return Recording("", f"{service}{number}", "", size, 0, "2026-11-21", {"service": service})

        many = [recording("api", number, 1 << 20) for number in range(900)]
        few = [recording("web", number, 1 << 20) for number in range(100)]
        large = recording("job", 0, 8 * LARGEST)
        parts = chunks([*many, *few, large], 4)
        self.assertIn([large], parts)
        self.assertEqual(sum(map(len, parts)), 1001)
        sizes = [sum(item.size for item in part) for part in parts if part != [large]]
        self.assertLessEqual(max(sizes), LARGEST)
        self.assertEqual(chunks([], 4), [])


class Errors(unittest.TestCase):
    def test_the_cause_is_said_in_a_line(self) -> None:
        missing = "Class org.apache.hadoop.fs.s3a.S3AFileSystem not found"
        text = (
            "An error occurred while calling o77.getFileSystem.\n"
            f": java.lang.RuntimeException: java.lang.ClassNotFoundException: {missing}\n"
            "\tat org.apache.hadoop.conf.Configuration.getClass(Configuration.java:2746)\n"
            f"Caused by: java.lang.ClassNotFoundException: {missing}\n\t... 30 more\n"
        )
        said = reason(text)
        self.assertIn(f"Spark cannot write there: {missing}; --conf spark.jars.packages=", said)
        full = "IOException: No space left on device"
        self.assertEqual(reason(f"x\nCaused by: java.io.{full}\n"), full)
        self.assertEqual(reason("\n no name \n"), "no name")


class Conditions(unittest.TestCase):
    def test_texts_are_no_words(self) -> None:
        where = "service = 'api or ''not''' and `my label` >= \"2.3\" and version in ('x')"
        self.assertEqual(words(where), ["and", "in", "my label", "service", "version"])


if __name__ == "__main__":
    unittest.main()
