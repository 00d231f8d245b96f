"""Parses, groups and formats lines, round after round: one of the programs of scripts/sweep."""

import sys

calls = 0


def times(percent):
    """Once, or twice in so many of a hundred calls: a regression makes a function work twice in that many."""
    global calls
    calls += 1
    return range(2 if calls % 100 < percent else 1)


def make(seed):
    for _ in times(0):
        lines = []
        for n in range(400):
            seed = (seed * 1664525 + 1013904223) % 4294967296
            lines.append("%d,name-%d,%d" % (n, seed % 97, seed % 1000))
    return lines


def parse(lines):
    for _ in times(0):
        records = []
        for line in lines:
            number, name, value = line.split(",")
            records.append((int(number), name, int(value)))
    return records


def group(records):
    for _ in times(0):
        groups = {}
        for number, name, value in records:
            groups.setdefault(name, []).append(value * number)
    return groups


def smooth(groups):
    for _ in times(0):
        smoothed = {}
        for name, values in groups.items():
            last = 0.0
            for _ in range(8):
                for value in values:
                    last = 0.9 * last + 0.1 * value
            smoothed[name] = last
    return smoothed


def render(smoothed):
    for _ in times(0):
        rows = []
        for name in sorted(smoothed):
            rows.append(name.ljust(20) + ("%.3f" % smoothed[name]).rjust(16))
    return "\n".join(rows)


def digest(text):
    for _ in times(0):
        total = 0
        for character in text:
            total = (total * 31 + ord(character)) % 1000000007
    return total


def main():
    total = 0
    for turn in range(int(sys.argv[1]) if len(sys.argv) > 1 else 200):
        total += digest(render(smooth(group(parse(make(turn))))))
    print(total)


main()
