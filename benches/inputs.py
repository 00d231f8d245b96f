"""What the programs of scripts/bench read: recordings, and what is made up with a fixed seed."""

import hashlib
import random
import shutil
import subprocess

from tools import BENCH, INPUTS, PROJECT, SHARED, Unavailable, need, os, ours, run, say

STACKS = 1_000_000
# True to make up what recordings there are, too: the same bytes on any machine.
MADE_UP = False


def made(path, make):
    """The file, made unless it is there; it appears complete or not at all."""
    if not path.exists():
        say(f"making {path.name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        make(partial)
        partial.rename(path)
    return path


def recorded(name, make_up):
    """A real recording where there is one and `MADE_UP` is false, else a made-up one."""
    packed = SHARED / f"{name}.zst"
    if MADE_UP:
        return made(INPUTS / f"made-up.{name}", make_up)
    if packed.exists() and shutil.which("zstd"):
        return made(INPUTS / name, lambda path: run("zstd", "-dqf", packed, "-o", path))
    if packed.exists():
        say("no zstd to unpack the recordings with: making them up")
    return made(INPUTS / f"made-up.{name}", make_up)


def a_stack(rng):
    """A stack as programs have them: few ways near the root, many near the leaf."""
    depth = 4 + int(rng.expovariate(1 / 12))
    name, frames = 0, []
    for _ in range(min(depth, 120)):
        name = (name * 31 + int(rng.paretovariate(1.1))) % 12_000
        frames.append(name)
    return frames


def symbol(n):
    if n % 53 == 0:
        return ("ksys_read", "ksys_write", "do_syscall_64", "cpu_idle")[n // 53 % 4]
    return f"type_{n % 101}<int>::method_{n}"


def make_up_perf(path):
    """perf script's text, 64 MB of it."""
    rng = random.Random(1)
    recent = [a_stack(rng) for _ in range(20_000)]
    with open(path, "w", encoding="ascii") as out:
        clock = 0
        while out.tell() < 64 << 20:
            for _ in range(1000):
                clock += 1_003_009
                pid = 1000 + clock % 7
                out.write(f"worker-{pid % 5} {pid} {clock / 1e9:.6f}:    1003009 cpu-clock: \n")
                for n in reversed(rng.choice(recent)):
                    address, offset = 0x55D000000000 + n * 0x140, rng.randrange(0x140)
                    out.write(f"\t{address + offset:16x} {symbol(n)}+0x{offset:x} (/usr/lib/lib{n % 9}.so)\n")
                out.write("\n")


def make_up_folded(path):
    rng = random.Random(2)
    stacks = {";".join(map(symbol, a_stack(rng))) for _ in range(250_000)}
    with open(path, "w", encoding="ascii") as out:
        for stack in sorted(stacks):
            out.write(f"{stack} {1 + int(rng.paretovariate(0.9)) % 100_000}\n")


def perf_text():
    return recorded("cargo-build.perf", make_up_perf)


def folded(order):
    """A million stacks: those of a recording below as many roots as that takes."""
    base = recorded("builds.folded", make_up_folded)

    def make_sorted(path):
        with open(base, "rb") as lines:
            stacks = [line for line in lines if not line.startswith(b"# ")]
        both = path.with_suffix(".unsorted")
        with open(both, "wb") as out:
            for n in range(STACKS):
                out.write(b"build%d;" % (n // len(stacks)) + stacks[n % len(stacks)])
        run(ours("fg-collapse"), "-q", "-f", "folded", "--no-header", "-o", path, both)
        both.unlink()

    in_order = made(INPUTS / f"{base.name}.1M", make_sorted)
    if order == "sorted":
        return in_order

    def shuffle(path):
        lines = in_order.read_bytes().splitlines(keepends=True)
        random.Random(3).shuffle(lines)
        path.write_bytes(b"".join(lines))

    return made(INPUTS / f"{base.name}.1M.shuffled", shuffle)


def changed():
    """The sorted million as another run has it: some stacks gone, some new, some weights others."""

    def change(path):
        rng = random.Random(4)
        unsorted = path.with_suffix(".unsorted")
        with open(folded("sorted"), "rb") as lines, open(unsorted, "wb") as out:
            for line in lines:
                stack, weight = line.rsplit(b" ", 1)
                chance = rng.random()
                if chance < 0.05:
                    stack += b";new_here"
                if chance < 0.95:
                    out.write(b"%s %d\n" % (stack, int(weight) * rng.choice((1, 1, 2, 3))))
        # A new callee does not stand where its caller stood.
        run(ours("fg-collapse"), "-q", "-f", "folded", "--no-header", "-o", path, unsorted)
        unsorted.unlink()

    return made(folded("sorted").with_suffix(".changed"), change)


def perf_record(path, *arguments):
    """Records, at a rate that gives many samples soon; the rings are large enough to lose none."""
    need("perf")
    record = ["perf", "record", "-q", "-F", "20000", "-m", "16M", "-o", path, *arguments]
    done = subprocess.run(record, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not path.exists():
        raise Unavailable(f"perf record does not work here: {done.stderr.strip()}")


def dwarf_recording():
    """Our own collapser at work, a Rust release binary with debug information, with stack dumps."""
    # The program that was recorded has to be the one that is found later.
    program = made(INPUTS / "fg-collapse.recorded", lambda path: shutil.copy(ours("fg-collapse"), path))
    loop = 'end=$(($(date +%s) + 8)); while [ $(date +%s) -lt $end ]; do "$0" -q "$1" > /dev/null; done'
    command = ["sh", "-c", loop, program, perf_text()]
    return made(INPUTS / "dwarf.perf.data", lambda path: perf_record(path, "--call-graph", "dwarf", "--", *command))


def workload():
    """A Rust program with frame pointers and debug information; the name changes with its source."""
    source = PROJECT / "scripts" / "workload.rs"
    flags = ["-O", "-C", "debuginfo=1", "-C", "force-frame-pointers=yes", "--edition", "2024"]
    version = hashlib.sha256(source.read_bytes()).hexdigest()[:8]
    return made(INPUTS / f"workload-{version}", lambda path: run("rustc", *flags, "-o", path, source))


def frame_pointer_recording():
    program = workload()
    return made(INPUTS / "fp.perf.data", lambda path: perf_record(path, "-g", "--", program, "10"))


def gimli_path():
    """PATH with the addr2line that is written in Rust before that of binutils."""
    if not (BENCH / "addr2line" / "bin" / "addr2line").exists():
        say("installing gimli's addr2line")
        run(
            "cargo", "install", "--quiet", "--locked", "--version", "0.27.1", "--features", "bin", "--root", BENCH / "addr2line",
            "--target-dir", BENCH / "addr2line-build", "addr2line", cwd=BENCH,
        )
        shutil.rmtree(BENCH / "addr2line-build", ignore_errors=True)
    return f"{BENCH / 'addr2line' / 'bin'}:{os.environ['PATH']}"


# --- parts of them, for how cost grows --------------------------------------------------------


def first(path, part):
    """The first bytes of a file, one PART-th of it, up to the end of a stack or sample."""
    end = b"\n\n" if path == perf_text() else b"\n"

    def head(to):
        with open(path, "rb") as file:
            text = file.read(path.stat().st_size // part)
        to.write_bytes(text[: text.rindex(end) + len(end)])

    return made(path.with_name(f"{path.name}.1-{part}"), head)


# --- what other programs write ----------------------------------------------------------------


def pprof():
    """The million stacks as pprof's file."""
    write = [ours("fg-render"), "-q", "--format", "pprof", "-o"]
    return made(INPUTS / f"{folded('sorted').name}.pb.gz", lambda path: run(*write, path, folded("sorted")))


def viewer_json(name, part):
    """A part of the million stacks as a viewer's JSON: speedscope, chrome-trace."""
    write = [ours("fg-render"), "-q", "--format", name, "-o"]
    stacks = first(folded("sorted"), part)
    return made(INPUTS / f"{stacks.name}.{name}.json", lambda path: run(*write, path, stacks))


JAVA = """
import java.util.*;
public class Busy {
  static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
  static int count(Map<String, Integer> m, int i) { return m.merge("k" + (i % 5000), 1, Integer::sum); }
  public static void main(String[] a) throws Exception {
    Map<String, Integer> m = new HashMap<>();
    long sum = 0;
    for (int i = 0; i < 6000; i++) {
      sum += fib(15 + i % 4);
      for (int j = 0; j < 500; j++) sum += count(m, i * 500 + j);
      List<Integer> l = new ArrayList<>();
      for (int j = 0; j < 2000; j++) l.add((i * j) % 977);
      Collections.sort(l);
    }
    System.out.println(sum);
  }
}
"""
EVENTS = """<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0"><event name="jdk.ExecutionSample"><setting name="enabled">true</setting>
<setting name="period">1 ms</setting></event><event name="jdk.ObjectAllocationInNewTLAB">
<setting name="enabled">true</setting><setting name="stackTrace">true</setting></event></configuration>
"""


def jfr():
    """A recording of a Java program that allocates, as often as makes 64 MB: chunks may follow each other."""
    need("java", "jfr")

    def record(path):
        source, settings, one = (INPUTS / name for name in ("Busy.java", "events.jfc", "one.jfr"))
        source.write_text(JAVA)
        settings.write_text(EVENTS)
        run("java", f"-XX:StartFlightRecording=settings={settings},filename={one},dumponexit=true", source, capture_output=True)
        chunks = one.read_bytes()
        path.write_bytes(chunks * ((64 << 20) // len(chunks)))

    return made(INPUTS / "busy.jfr", record)


def callgrind():
    """3000 functions that call each other, by instruction and line."""
    need("valgrind", "callgrind_annotate", "cc")

    def record(path):
        source, program = INPUTS / "many.c", INPUTS / "many"
        count = 3000
        with open(source, "w", encoding="ascii") as out:
            out.write("volatile long s;\n")
            out.writelines(f"__attribute__((noinline)) void f{n}(int d);\n" for n in range(count))
            out.write(f"void (*t[])(int) = {{{','.join(f'f{n}' for n in range(count))}}};\n")
            for n in range(count):
                out.write(
                    f"void f{n}(int d) {{ for (int k = 0; k < 10; k++) s += k * {n};\n"
                    f"  if (d > 0) {{ t[(s * 31 + {n}) % {count}](d - 1); t[(s * 17 + {n * 7}) % {count}](d - 1); }} }}\n"
                )
            out.write(f"int main() {{ for (int i = 0; i < 400; i++) t[i * 37 % {count}](8); }}\n")
        run("cc", "-O1", "-g", "-o", program, source)
        lines = ["--dump-line=yes", "--dump-instr=yes", f"--callgrind-out-file={path}"]
        run("valgrind", "--tool=callgrind", *lines, program, capture_output=True)

    return made(INPUTS / "many.callgrind", record)
