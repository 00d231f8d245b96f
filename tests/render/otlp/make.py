"""Makes the OTLP files of this folder with OpenTelemetry's own library, and their sums:

    pip install opentelemetry-proto==1.45.2
    python tests/render/otlp/make.py

Each message is written twice, as a protocol buffer and as a line of JSON. `sums.json` says, for each pair, the
sum of each sample type, counted here. Half of them hold the stacks of real recordings; the others have what
such files may have besides.
"""

import base64
import gzip
import json
import struct
from pathlib import Path

from google.protobuf import json_format
from opentelemetry.proto.profiles.v1development import profiles_pb2 as otlp

HERE = Path(__file__).parent
FIXTURES = HERE.parents[1] / "fixtures"
START = 1_795_255_200_000_000_000
# Real recordings, as folded text, and the type and unit of their weights.
RECORDINGS = {
    "austin/v3-wall": ("wall", "microseconds"),
    "py-spy/native": ("samples", "count"),
    "py-spy/newline": ("samples", "count"),
    "pprof/cpu": ("cpu", "nanoseconds"),
    "pprof/heap": ("inuse_space", "bytes"),
    "jfr/jdk25-threads": ("samples", "count"),
    "perf-script/cpp-fp": ("cpu-clock", "nanoseconds"),
    "go-text/block": ("delay", "nanoseconds"),
}


class Made:
    """A message, and the sums of its sample types."""

    def __init__(self):
        self.data = otlp.ProfilesData()
        self.sums = {}
        self.counts = {}
        words = self.data.dictionary
        for table in ("mapping", "location", "function", "link", "attribute", "stack"):
            getattr(words, f"{table}_table").add()
        words.string_table.append("")
        self.strings = {"": 0}

    def text(self, text):
        """The number of a text."""
        if text not in self.strings:
            self.strings[text] = len(self.strings)
            self.data.dictionary.string_table.append(text)
        return self.strings[text]

    def entry(self, table, **fields):
        """Adds an entry to a table, and returns its number."""
        entries = getattr(self.data.dictionary, f"{table}_table")
        entries.add(**fields)
        return len(entries) - 1

    def attribute(self, key, value, unit=""):
        """Adds an attribute, and returns its number."""
        number = self.entry("attribute", key_strindex=self.text(key), unit_strindex=self.text(unit))
        set_value(self.data.dictionary.attribute_table[number].value, value)
        return number

    def function(self, name, file="", start=0, system=""):
        """Adds a function."""
        names = {"name_strindex": self.text(name), "system_name_strindex": self.text(system)}
        return self.entry("function", **names, filename_strindex=self.text(file), start_line=start)

    def location(self, *lines, mapping=0, address=0, attributes=()):
        """Adds a location of pairs of function and line, the innermost first."""
        number = self.entry("location", mapping_index=mapping, address=address, attribute_indices=attributes)
        for function, line in lines:
            self.data.dictionary.location_table[number].lines.add(function_index=function, line=line)
        return number

    def stack(self, *locations):
        """Adds a stack, leaf first."""
        return self.entry("stack", location_indices=locations)

    def named(self, *names):
        """A stack of functions without lines, root first."""
        locations = []
        for name in names:
            key = f"\0{name}"
            if key not in self.counts:
                self.counts[key] = self.location((self.function(name), 0))
            locations.append(self.counts[key])
        return self.stack(*reversed(locations))

    def resource(self, **attributes):
        """Adds a resource."""
        resource = self.data.resource_profiles.add()
        for key, value in attributes.items():
            set_value(resource.resource.attributes.add(key=key.replace("_", ".")).value, value)
        return resource

    def scope(self, resource, name="", version=""):
        """Adds a scope."""
        scope = resource.scope_profiles.add()
        scope.scope.name, scope.scope.version = name, version
        return scope

    def profile(self, scope, kind, unit, **fields):
        """Adds a profile."""
        profile = scope.profiles.add(time_unix_nano=START, **fields)
        profile.sample_type.type_strindex = self.text(kind)
        profile.sample_type.unit_strindex = self.text(unit)
        self.sums.setdefault(kind, 0)
        return profile

    def sample(self, profile, stack, *values, times=(), attributes=(), link=0):
        """Adds a sample, and its values to the sum."""
        profile.samples.add(
            stack_index=stack,
            values=values,
            timestamps_unix_nano=times,
            attribute_indices=attributes,
            link_index=link,
        )
        kind = self.data.dictionary.string_table[profile.sample_type.type_strindex]
        self.sums[kind] += sum(values) if values else len(times)

    def one(self, kind="cpu", unit="nanoseconds"):
        """The only profile of the only scope of the only resource."""
        return self.profile(self.scope(self.resource(service_name="api"), "by hand", "1.0"), kind, unit)


def set_value(out, value):
    """Puts a value into an AnyValue."""
    kinds = {str: "string_value", int: "int_value", float: "double_value", bytes: "bytes_value", bool: "bool_value"}
    if isinstance(value, list):
        out.array_value.SetInParent()
        for item in value:
            set_value(out.array_value.values.add(), item)
    elif isinstance(value, dict):
        out.kvlist_value.SetInParent()
        for key, item in value.items():
            set_value(out.kvlist_value.values.add(key=key).value, item)
    else:
        setattr(out, kinds[type(value)], value)


def of_recording(name):
    """The stacks of a recording, cut among services, scopes and samples with times."""
    kind, unit = RECORDINGS[name]
    made = Made()
    lines = (FIXTURES / name / "expected.folded").read_text(errors="replace").splitlines()
    profiles = []
    for service in ("api", "web"):
        resource = made.resource(service_name=service, host_name=f"{service}-1", process_pid=len(service))
        for version in ("1.0", "1.1"):
            profiles.append(made.profile(made.scope(resource, "sampler", version), kind, unit, duration_nano=10**9))
    threads = [made.attribute("thread.name", f"worker {number}") for number in range(3)]
    for number, line in enumerate(line for line in lines if not line.startswith("# ")):
        stack, _, weight = line.rpartition(" ")
        profile = profiles[number % len(profiles)]
        where = made.named(*stack.split(";"))
        attributes = [threads[number % 3]] if number % 2 else []
        weight = int(weight)
        if number % 4 == 3 and weight > 1:
            times = [START + number, START + number + 1]
            made.sample(profile, where, weight - 1, 1, times=times, attributes=attributes)
        else:
            made.sample(profile, where, weight, attributes=attributes)
    return made


def links():
    made = Made()
    profile = made.one()
    of_trace = [
        made.entry("link", trace_id=bytes(range(16)), span_id=bytes([1, 2, 3, 4, 5, 6, 7, number])) for number in (8, 9)
    ]
    main = made.named("main")
    for link in (0, *of_trace, of_trace[0]):
        made.sample(profile, main, 10, link=link)
    made.sample(profile, main, 5, 6, times=[START, START + 7], link=of_trace[1])
    return made


def payload():
    made = Made()
    profile = made.one()
    profile.profile_id = bytes(range(16))
    profile.original_payload_format, profile.original_payload = "pprofgz", gzip.compress(b"pprof", mtime=0)
    profile.dropped_attributes_count = 3
    made.sample(profile, made.named("main", "run"), 3)
    return made


def build_ids():
    made = Made()
    profile = made.one()
    ids = {
        "process.executable.build_id.gnu": "bb27c4ef1efbc1d8c7014ba48021190201754a88",
        "process.executable.build_id.htlhash": "ffffffffffffffffffffffffffffffff",
    }
    attributes = [made.attribute(key, value) for key, value in ids.items()]
    mapping = made.entry(
        "mapping",
        memory_start=0x400000,
        memory_limit=0x500000,
        file_offset=0x1000,
        filename_strindex=made.text("/opt/orders"),
        attribute_indices=attributes,
    )
    other = made.entry("mapping", memory_start=0x7F0000000000, memory_limit=0x7F0000010000)
    frames = [made.location(mapping=mapping, address=0x401000 + 16 * number) for number in range(3)]
    frames.append(made.location(mapping=other, address=0x7F0000000010))
    frames.append(made.location(address=0x1234))
    for number in range(1, len(frames) + 1):
        made.sample(profile, made.stack(*frames[:number]), number)
    return made


def inlined():
    made = Made()
    profile = made.one()
    outer, inner = made.function("outer", "a.rs", 3, "_ZN5outer"), made.function("inner", "b.rs", 9)
    mapping = made.entry("mapping", filename_strindex=made.text("a.out"), attribute_indices=[
        made.attribute("pprof.mapping.has_functions", True), made.attribute("pprof.mapping.has_inline_frames", True),
    ])
    folded = made.attribute("pprof.location.is_folded", True)
    both = made.location((inner, 12), (outer, 5), mapping=mapping, address=0x40)
    plain = made.location((outer, 4), mapping=mapping, address=0x30, attributes=[folded])
    made.data.dictionary.location_table[both].lines[0].column = 17
    made.sample(profile, made.stack(both), 4)
    made.sample(profile, made.stack(both, plain), 5)
    return made


def types():
    made = Made()
    scope = made.scope(made.resource(service_name="api"), "go", "1.25")
    set_value(scope.scope.attributes.add(key="pprof.scope.default_sample_type").value, "inuse_space")
    stack, other = made.named("main", "grow"), made.named("main")
    comments = made.attribute("pprof.profile.comment", ["one", "two"])
    drop = made.attribute("pprof.profile.drop_frames", "runtime\\..*")
    for factor, (kind, unit) in enumerate(
        [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")], 1
    ):
        profile = made.profile(scope, kind, unit, attribute_indices=[comments, drop], period=524288)
        profile.period_type.type_strindex, profile.period_type.unit_strindex = made.text("space"), made.text("bytes")
        made.sample(profile, stack, 10 * factor)
        made.sample(profile, other, factor)
    return made


def attributes():
    made = Made()
    profile = made.one()
    values = [True, -7, 0.5, b"\x00\xff", ["a", 1, ["b"]], {"k": "v", "n": 2}, "", "text; with = and\nmore"]
    every = [made.attribute(f"key.{number}", value) for number, value in enumerate(values)]
    unit = made.attribute("bytes", 4096, "bytes")
    main = made.named("main")
    for number in (*every, unit):
        made.sample(profile, main, 2, attributes=[number])
    made.sample(profile, main, 1, attributes=every)
    return made


def times():
    made = Made()
    profile = made.one("samples", "count")
    main = made.named("main")
    made.sample(profile, main, times=[START, START + 50, START + 100])
    made.sample(profile, made.named("main", "f"), 4, 5, times=[START + 1, START + 2])
    made.sample(profile, main, 6)
    return made


def large():
    made = Made()
    profile = made.one()
    for number in range(6):
        made.sample(profile, made.named("main", f"f{number}"), 2**63 - 1 - number)
    return made


def below_zero():
    made = Made()
    profile = made.one("inuse_space", "bytes")
    made.sample(profile, made.named("main", "freed"), -4096)
    made.sample(profile, made.named("main", "kept"), 8192)
    return made


def names():
    made = Made()
    profile = made.one()
    for name in ("a;b", "two\nlines", "Stra\u00dfe", "\u540d\u524d", "ends in 12", "# comment", " ", "a\tb", "x" * 3000):
        made.sample(profile, made.named("main", name), 3)
    made.sample(profile, 0, 9)
    return made


def services():
    made = Made()
    main = made.named("main")
    for number in range(5):
        resource = made.resource(service_name=f"s{number}", service_version="2.3", k8s_pod_name=f"pod-{number}")
        resource.schema_url = "https://opentelemetry.io/schemas/1.30.0"
        for scope in (made.scope(resource, "a", "1"), made.scope(resource, "b")):
            set_value(scope.scope.attributes.add(key="scope.kind").value, scope.scope.name)
            for kind, unit in (("cpu", "nanoseconds"), ("wall", "nanoseconds")):
                profile = made.profile(scope, kind, unit)
                made.sample(profile, main, 1 + number)
    # A resource without profiles, and a profile without samples.
    made.resource(service_name="idle")
    made.profile(made.scope(made.resource(), "empty"), "cpu", "nanoseconds")
    return made


def kernel():
    made = Made()
    profile = made.one("samples", "count")
    kinds = [made.attribute("profile.frame.type", kind) for kind in ("kernel", "native", "jvm", "cpython")]
    kernel_map = made.entry("mapping", memory_start=0xFFFFFFFF80000000, memory_limit=2**64 - 1)
    read = made.location((made.function("vfs_read"), 0), mapping=kernel_map, address=2**64 - 4096, attributes=kinds[:1])
    native = made.location(address=0x7F00, attributes=kinds[1:2])
    java = made.location((made.function("Main.run", "Main.java"), 12), attributes=kinds[2:3])
    python = made.location((made.function("run", "a.py", 3), 4), attributes=kinds[3:])
    made.sample(profile, made.stack(read, native, java, python), times=[START + 5])
    made.sample(profile, made.stack(java, python), 2)
    return made


BY_HAND = (
    *(links, payload, build_ids, inlined, types, attributes, times, large, below_zero, names, services, kernel),
)


def to_json(data):
    """A line of JSON, with the numbers of traces in digits, as the specification of OTLP wants them."""
    found = json_format.MessageToDict(data)
    for link in found["dictionary"]["linkTable"]:
        for key in link:
            link[key] = base64.b64decode(link[key]).hex().upper()
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n"


def write(name, parts, sums):
    """Writes messages in both encodings. Several have their lengths in front, as the Collector writes them."""
    messages = [part.data.SerializeToString(deterministic=True) for part in parts]
    framed = b"".join(struct.pack(">I", len(message)) + message for message in messages)
    for ending, content in {
        "otlp": messages[0] if len(parts) == 1 else framed,
        "otlp.jsonl": "".join(to_json(part.data) for part in parts).encode(),
    }.items():
        (HERE / f"{name}.{ending}.gz").write_bytes(gzip.compress(content, 9, mtime=0))
    total = {}
    for part in parts:
        for kind, value in part.sums.items():
            total[kind] = total.get(kind, 0) + value
    sums[name] = {kind: str(value) for kind, value in total.items()}


def main():
    sums = {}
    for name in RECORDINGS:
        write(name.replace("/", "-"), [of_recording(name)], sums)
    for make in BY_HAND:
        write(make.__name__.replace("_", "-"), [make()], sums)
    write("several", [types(), links(), of_recording("py-spy/newline")], sums)
    (HERE / "sums.json").write_text(json.dumps(sums, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
