"""A model of fg-filter: each operation in a line or two of Python, as its help describes it.

Reads lines of JSON, {"ops": [[NAME, VALUE], ...], "rest": BOOL, "stacks": [[FRAMES, WEIGHTS], ...]}, and
writes the folded text of each as a string of JSON. Nothing here is clever: it is what fg-filter is compared
with.
"""

import json
import re
import sys
from fractions import Fraction


def search(expression, text):
    """Case is ignored unless the expression has a capital."""
    return re.search(expression, text, 0 if any(c.isupper() for c in expression) else re.IGNORECASE)


def marks(frame):
    return re.search(r"((?:_\[[kijw]\])*)$", frame).group(1)


def calls(frames, runs, at=0):
    """Whether runs of patterns follow each other from some place on, with any frames between."""
    if not runs:
        return True
    first, rest = runs[0], runs[1:]
    for start in range(at, len(frames) - len(first) + 1):
        if all(search(p, f) for p, f in zip(first, frames[start:])):
            return calls(frames, rest, start + len(first))
    return False


def direct(frames):
    return [f for n, f in enumerate(frames) if n == 0 or frames[n - 1] != f]


def squash(frames):
    unknown = "[unknown]"
    return [f for n, f in enumerate(frames) if f != unknown or n == 0 or frames[n - 1] != unknown]


def show_from(frames, pattern, last):
    matches = [n for n, f in enumerate(frames) if search(pattern, f)]
    return frames[matches[-1 if last else 0]:] if matches else []


def prune_from(frames, pattern):
    matches = [n for n, f in enumerate(frames) if search(pattern, f)]
    return frames[:matches[-1] + 1] if matches else frames


def collapse(frames, pattern):
    matches = [n for n, f in enumerate(frames) if search(pattern, f)]
    return frames[:matches[0] + 1] if matches else frames


def rename(frames, rule):
    _, pattern, text, flags = rule.split("/")
    new = [re.sub(pattern, text, f, count=0 if "g" in flags else 1) for f in frames]
    return [f or "[empty]" for f in new]


def kind(frames, value):
    wanted, name = not value.startswith("no-"), value.removeprefix("no-")
    has = lambda letter: f"_[{letter}]" in marks(frames[-1])
    is_kind = {"kernel": has("k"), "user": not has("k"), "inlined": has("i"), "jit": has("j")}[name]
    return is_kind == wanted


SELECT = {
    "focus": lambda frames, r: any(search(r, f) for f in frames),
    "ignore": lambda frames, r: not any(search(r, f) for f in frames),
    "rooted-at": lambda frames, r: search(r, frames[0]),
    "leaf": lambda frames, r: search(r, frames[-1]),
    "path": lambda frames, p: calls(frames, [run.split(";") for run in p.split(";...;")]),
    "kind": kind,
    "matching": lambda frames, r: search(r, ";".join(frames)),
    "without": lambda frames, r: not search(r, ";".join(frames)),
}

REWRITE = {
    "hide": lambda frames, r: [f for f in frames if not search(r, f)],
    "show": lambda frames, r: [f for f in frames if search(r, f)],
    "show-from": lambda frames, r: show_from(frames, r, False),
    "show-from-leaf": lambda frames, r: show_from(frames, r, True),
    "prune-from": prune_from,
    "collapse": collapse,
    "recursion": lambda frames, _: direct(frames),
    "squash-unknown": lambda frames, _: squash(frames),
    "depth": lambda frames, n: frames[: int(n)] if int(n) > 0 else frames[int(n) :],
    "skip-roots": lambda frames, n: frames[int(n):],
    "reverse": lambda frames, _: frames[::-1],
    "rename": rename,
}


def merged(stacks):
    out = {}
    for frames, weights in stacks:
        before = out.get(tuple(frames), [0] * len(weights))
        out[tuple(frames)] = [a + b for a, b in zip(before, weights)]
    return sorted(([list(frames), weights] for frames, weights in out.items()), key=order)


def order(stack):
    return [frame.encode() for frame in stack[0]]


def heavy(stacks, name, value, rest):
    """The stacks to keep, and the weight of the others as [other] if they are wanted."""
    is_rest = lambda frames: rest and frames == ["[other]"]
    ranked = [stack for stack in merged(stacks) if not is_rest(stack[0])]
    totals = [sum(column) for column in zip(*(weights for _, weights in stacks))]
    if name == "top":
        kept = sorted(ranked, key=lambda stack: (-max(stack[1]), order(stack)))[: int(value)]
    elif name == "min-weight":
        kept = [stack for stack in ranked if max(stack[1]) >= Fraction(value)]
    else:
        share = lambda weight, total: total != 0 and weight * 100 >= Fraction(value) * total
        kept = [stack for stack in ranked if any(map(share, stack[1], totals))]
    if rest:
        others = [stack for stack in merged(stacks) if stack not in kept]
        kept = kept + [[["[other]"], weights] for _, weights in others]
    return merged(kept)


def run(ops, rest, stacks):
    for name, value in ops:
        if name in SELECT:
            stacks = [stack for stack in stacks if SELECT[name](stack[0], value)]
        elif name in REWRITE:
            stacks = [[REWRITE[name](frames, value), weights] for frames, weights in stacks]
            stacks = [stack for stack in stacks if stack[0]]
        elif name == "scale":
            stacks = [[frames, [w * Fraction(value) for w in weights]] for frames, weights in stacks]
        else:
            stacks = heavy(stacks, name, value, rest)
    return merged(stacks)


def decimal(weight):
    """An exact decimal without zeros at its end."""
    text, digits = str(weight.numerator // weight.denominator), ""
    rest = weight - weight.numerator // weight.denominator
    while rest:
        rest *= 10
        digits += str(rest.numerator // rest.denominator)
        rest -= rest.numerator // rest.denominator
    return text + ("." + digits if digits else "")


for line in sys.stdin:
    case = json.loads(line)
    stacks = [[frames, [Fraction(w) for w in weights]] for frames, weights in case["stacks"]]
    result = run(case["ops"], case["rest"], stacks)
    text = "".join(";".join(f) + "".join(" " + decimal(Fraction(w)) for w in ws) + "\n" for f, ws in result)
    print(json.dumps(text))
