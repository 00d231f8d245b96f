"""The programs that `stacks` records, and how each is built and run.

In commands, {here} is the folder of the sources, {fg} that of the project's programs, {seconds} the time that a program is
to run, {work} the folder in which it is built and run. A program with `truth` is one of the orders.*: it computes in orders_parse, orders_price and
orders_report, 1 : 2 : 5.
"""

from dataclasses import dataclass, field


@dataclass
class Program:
    name: str
    run: list[str]
    build: list[list[str]] = field(default_factory=list)
    # Programs that have to be there, and files in any of these places.
    needs: list[str] = field(default_factory=list)
    truth: bool = True
    environment: dict[str, str] = field(default_factory=dict)
    # perf needs `perf inject --jit`.
    jitdump: bool = False
    # A command that ends with 0 as soon as the server that `run` starts can work, and its load: the server is recorded
    # as a process that runs.
    ready: list[str] | None = None
    load: list[str] | None = None


def c(name, *options, run=("./orders", "{seconds}"), compiler="gcc", needs=(), after=(), **more):
    command = [compiler, "-O2", "-g", *options, "-o", "orders", "{here}/orders.c", "-pthread"]
    return Program(name, list(run), [command, *after], [compiler, *needs], **more)


def cc(name, *options):
    return Program(name, ["./orders", "{seconds}"], [["g++", "-O2", "-g", *options, "-o", "orders", "{here}/orders.cc"]], ["g++"])


def rust(name, *options, run=("./orders", "{seconds}"), **more):
    command = ["rustc", "-O", "-g", *options, "-o", "orders", "{here}/orders.rs"]
    return Program(name, list(run), [command], ["rustc"], **more)


def go(name, *options, run=("./orders", "{seconds}"), **more):
    return Program(name, list(run), [["go", "build", *options, "-o", "orders", "{here}/orders.go"]], ["go"], **more)


def node(name, *options, **more):
    return Program(name, ["node", *options, "{here}/orders.js", "{seconds}"], [], ["node"], **more)


def java(name, *options, **more):
    build = [["javac", "-d", ".", "{here}/Orders.java"]]
    return Program(name, ["java", *options, "-cp", ".", "Orders", "{seconds}"], build, ["java", "javac"], **more)


def python(version, *options, truth=False, **more):
    words = " ".join(["Python", version, *(f"`{' '.join(options)}`" for _ in options[:1])])
    return Program(words, [f"python{version}", *options, "{here}/orders.py", "{seconds}"], [], [f"python{version}"], truth, **more)


def shell(name, script, *needs, build=(), **more):
    return Program(name, ["sh", "-c", script], list(build), list(needs), truth=False, **more)


STRIP = [["strip", "orders"]]
# Functions that are not compiled yet have names too.
NODE = "--no-turbo-inlining", "--interpreted-frames-native-stack"
NO_INLINING = "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Orders::*"
# A root of a file system of its own, which nothing outside sees.
CONTAINER = (
    "mount -t tmpfs none /mnt && cp orders /mnt/orders && mkdir /mnt/old && "
    "pivot_root /mnt /mnt/old && exec /orders {seconds}"
)
REDIS = ["redis-server", "--port", "7399", "--save", "", "--daemonize", "no", "--logfile", "redis.log"]
NGINX = (
    "daemon off; master_process off; error_log error.log; pid nginx.pid; events {} "
    "http { access_log off; server { listen 7398; root {here}; } }"
)
POSTGRES = "BIN=$(ls -d /usr/lib/postgresql/*/bin | tail -1); as() { exec setpriv --reuid postgres --regid postgres --clear-groups $BIN/$@; }; "
PGBENCH = "pgbench -h {work} -p 7397 -U postgres"
# Text of perf script, of 200 MB.
SCRIPT = (
    "perf record -q -e cpu-clock:u -F 997 --call-graph dwarf -o input.data -- sh -c 'ls -lR /usr >/dev/null' && "
    "perf script --no-inline -i input.data > once.perf && test -s once.perf && "
    ": > input.perf && while [ $(($(wc -c < input.perf) / 1000000)) -lt 200 ]; do cat once.perf >> input.perf; done"
)
COLLAPSE = (
    "end=$(($(date +%s%N) + $(awk 'BEGIN { printf \"%d\", {seconds} * 1000 }')000000)); "
    "while [ $(date +%s%N) -lt $end ]; do {fg}/fg-collapse input.perf > /dev/null; done"
)
MAKE = (
    "for m in 1 2 3 4 5 6 7 8; do for f in $(seq 300); do "
    'echo "int f$f(int x) { for (int i = 0; i < x; i++) x ^= i * $f + x % 7; return x; }"; done > m$m.c; done'
)
RULES = "all: " + " ".join(f"m{n}.o" for n in range(1, 9))

PROGRAMS = [
    c("C"),
    c("C, stripped", after=STRIP, truth=False),
    c("C, frame pointers", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"),
    c("C, static", "-static"),
    c("C, no unwind tables, no frame pointers", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-g0"),
    c("C, recursion of 600", run=("./orders", "{seconds}", "deep", "600")),
    c("C, recursion to 3000", run=("./orders", "{seconds}", "dive", "3000")),
    c("C, 500 threads", run=("./orders", "{seconds}", "threads", "500")),
    c("C, processes of 10 ms", run=("./orders", "{seconds}", "processes")),
    c("C, signal handler on a stack of its own", run=("./orders", "{seconds}", "signal")),
    c("C, coroutine", run=("./orders", "{seconds}", "coroutine")),
    c("C, deletes its file", run=("./orders", "{seconds}", "gone")),
    c("C, musl", compiler="musl-gcc"),
    c("C, musl, static", "-static", compiler="musl-gcc"),
    c("C, set-uid", after=[["chown", "nobody", "orders"], ["chmod", "4755", "orders"]]),
    c("C, container (unshare, pivot_root)", "-static", run=["unshare", "-m", "-p", "-f", "sh", "-c", CONTAINER], needs=["unshare"]),
    c(
        "C, container (bwrap)",
        run=["bwrap", "--ro-bind", "/lib", "/lib", "--ro-bind", "/lib64", "/lib64", "--ro-bind", "/usr", "/usr", "--ro-bind",
             "{work}", "/app", "--unshare-pid", "/app/orders", "{seconds}"],
        needs=["bwrap"],
    ),
    cc("C++"),
    cc("C++ -O3, LTO", "-O3", "-flto=auto"),
    rust("Rust"),
    rust("Rust, fat LTO, panic=abort", "-Clto=fat", "-Cembed-bitcode=yes", "-Cpanic=abort", "-Ccodegen-units=1"),
    rust("Rust, musl, static", "--target=x86_64-unknown-linux-musl"),
    rust("Rust, stripped", "-Cstrip=symbols", truth=False),
    rust("Rust, 4 threads", run=("./orders", "{seconds}", "4")),
    go("Go"),
    go("Go, 100 goroutines", run=("./orders", "{seconds}", "100")),
    go("Go, -ldflags='-s -w'", "-ldflags=-s -w"),
    Program("`go run`", ["go", "run", "{here}/orders.go", "{seconds}"], [], ["go"]),
    node("Node", truth=False),
    node("Node `--perf-basic-prof`", "--perf-basic-prof", *NODE),
    node("Node `--perf-prof`", "--perf-prof", *NODE, jitdump=True),
    java("Java", truth=False),
    java("Java `-XX:+PreserveFramePointer`", "-XX:+PreserveFramePointer", truth=False),
    java(
        "Java, and `-XX:+DumpPerfMapAtExit`",
        *["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", *NO_INLINING],
    ),
    java("Java `-Xint`", "-Xint", truth=False),
    python("3.11"),
    python("3.12"),
    python("3.12", "-X", "perf", truth=True),
    python("3.13", "-X", "perf", truth=True),
    python("3.13", "-X", "perf_jit", truth=True, jitdump=True),
    Program("LuaJIT", ["luajit", "{here}/orders.lua", "{seconds}"], [], ["luajit"], truth=False),
    Program("LuaJIT `-joff`", ["luajit", "-joff", "{here}/orders.lua", "{seconds}"], [], ["luajit"], truth=False),
    shell("perl", r"perl -e '$e=time+{seconds}; while(time<$e){$x{$_%99}.=$_ for 1..999; s/a/b/ for %x; %x=()}'", "perl"),
    shell("ruby", "ruby -e 'e=Time.now+{seconds}; while Time.now<e; (1..9999).map{|x| x.to_s.reverse}.sort; end'", "ruby"),
    shell("sqlite3", 'sqlite3 :memory: "with recursive n(x) as (select 1 union all select x+1 from n where x<3000000)'
          ' select count(distinct x*7%1000003) from n"', "sqlite3"),
    # The project's own, as it was built for the users.
    Program("fg-collapse", ["sh", "-c", COLLAPSE], [["sh", "-c", SCRIPT]], ["perf"], truth=False),
    shell("`rustc -O`", "rustc -O --emit=link -o out {here}/orders.rs", "rustc"),
    shell("`make -j2` of C", "make -s -j2 -B -f rules CFLAGS=-O2", "make", "gcc",
          build=[["sh", "-c", MAKE], ["sh", "-c", f"echo '{RULES}' > rules"]]),
    shell("shell of short processes", "for n in $(seq 300); do ls / | grep -c u >/dev/null; done"),
    shell("tar and gzip", "tar -C /usr/include -c . | gzip -9 > /dev/null", "tar", "gzip"),
    Program("redis", REDIS, [], ["redis-server", "redis-benchmark"], truth=False,
            ready=["redis-cli", "-p", "7399", "ping"],
            load=["redis-benchmark", "-q", "-p", "7399", "-n", "100000000", "-P", "8", "-t", "get,set,lpush,zadd"]),
    Program("nginx", ["nginx", "-p", "{work}", "-c", "{work}/nginx.conf"],
            [["sh", "-c", f"echo '{NGINX}' > nginx.conf"]],
            ["nginx", "ab"], truth=False,
            ready=["ab", "-q", "-n", "1", "http://127.0.0.1:7398/orders.c"],
            load=["ab", "-q", "-k", "-c", "8", "-n", "100000000", "http://127.0.0.1:7398/orders.c"]),
    Program("postgres", ["sh", "-c", POSTGRES + "as postgres -D db -p 7397 -k {work}"],
            [["chown", "postgres", "."], ["sh", "-c", POSTGRES + "as initdb -D db"]],
            ["pgbench", "setpriv", "initdb"], truth=False,
            ready=["sh", "-c", PGBENCH + " -i -q postgres"],
            load=["sh", "-c", "exec " + PGBENCH + " -S -c 2 -T 600 postgres"]),
]
