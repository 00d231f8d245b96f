"""Kinds of work in turns: the Python program of scripts/sweep/kinds."""

import sys

HOT, ALL = 100, 100


def turns(count):
    return range(count * ALL // 100)


def generate(seed):
    for _ in turns(20):
        lines = []
        for number in range(60):
            seed = (seed * 1664525 + 1013904223) % 4294967296
            lines.append("%d,name-%d,%d" % (number, seed % 97, seed % 1000))
    return lines


def parse(lines):
    for _ in turns(20):
        records = []
        for line in lines:
            number, name, value = line.split(",")
            records.append((int(number), name, int(value)))
    return records


def group(records):
    for _ in turns(50):
        groups = {}
        for number, name, value in records:
            groups.setdefault(name, []).append(value * number)
    return groups


def smooth(groups):
    for _ in turns(20):
        smoothed = {}
        for name, values in groups.items():
            last = 0.0
            for value in values:
                last = 0.9 * last + 0.1 * value
            smoothed[name] = last
    return smoothed


def render(smoothed):
    for _ in turns(20):
        rows = []
        for name in sorted(smoothed):
            rows.append(name.ljust(20) + ("%.3f" % smoothed[name]).rjust(16))
    return "\n".join(rows)


def checksum(text):  # hot
    total = 0
    for _ in turns(20 * HOT // 100):
        for character in text[:300]:
            total = (total * 31 + ord(character)) % 1000000007
    return total


def count(lines):
    for _ in turns(20):
        seen = {}
        for line in lines:
            for character in line[:6]:
                seen[character] = seen.get(character, 0) + 1
    return len(seen)


def primes(limit):
    for _ in turns(10):
        found = [number for number in range(2, limit) if all(number % other for other in range(2, int(number**0.5) + 1))]
    return len(found)


def read_stage(turn):
    lines = generate(turn)
    records = parse(lines)
    text = "".join(lines)
    total = checksum(text)  # call
    return lines, records, total


def work_stage(lines, records):
    return count(lines) + primes(40) + len(render(smooth(group(records))))


def main():
    total = 0
    for turn in range(int(sys.argv[1])):
        lines, records, first = read_stage(turn)
        total += first + work_stage(lines, records)
    print(total)


main()
