//! Runtimes that compile code while it runs, and the settings by which they describe it.

/// A runtime with a compiler.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Runtime {
    /// Its name.
    pub name: &'static str,
    /// The beginnings of the names of the files that it is in.
    files: &'static [&'static str],
    /// The advice by which the code it compiles has names.
    pub names: &'static str,
    /// The advice by which the code it compiles keeps frame pointers, if it does not anyway.
    pub frame_pointers: Option<&'static str>,
}

/// Each was tried, or is from the documentation of the version that is named.
const RUNTIMES: &[Runtime] = &[
    Runtime {
        name: "Java",
        files: &["libjvm.so"],
        // `DumpPerfMapAtExit` is diagnostic in 17 and in 21, and the order matters.
        names: "start it with `java -XX:+UnlockDiagnosticVMOptions -XX:+PreserveFramePointer \
                -XX:+DumpPerfMapAtExit` (since 17), or with perf's agent, `-agentpath:…/libperf-jvmti.so`",
        frame_pointers: Some("start it with `java -XX:+PreserveFramePointer`"),
    },
    Runtime {
        name: "Node.js",
        files: &["node", "nodejs", "libnode.so"],
        names: "start it with `node --perf-basic-prof`",
        frame_pointers: None,
    },
    Runtime {
        name: "Deno",
        files: &["deno"],
        names: "start it with `deno run --v8-flags=--perf-basic-prof`",
        frame_pointers: None,
    },
    Runtime {
        name: ".NET",
        files: &["libcoreclr.so"],
        names: "start it with `DOTNET_PerfMapEnabled=1` in its environment",
        frame_pointers: None,
    },
    Runtime {
        name: "Ruby",
        files: &["ruby", "libruby"],
        names: "start it with `ruby --yjit --yjit-perf` (since 3.3)",
        frame_pointers: None,
    },
    Runtime {
        name: "Erlang",
        files: &["beam.smp"],
        names: "start it with `erl +JPperf true`",
        frame_pointers: None,
    },
    // It describes its traces to nobody; its own profiler writes folded text.
    Runtime {
        name: "LuaJIT",
        files: &["luajit", "libluajit"],
        names: "its own profiler names Lua's functions, `luajit -jp=G,out.folded app.lua`",
        frame_pointers: Some(
            "its own profiler sees Lua's callers, `luajit -jp=G,out.folded app.lua`; `luajit -joff` compiles nothing",
        ),
    },
    Runtime {
        name: "wasmtime",
        files: &["wasmtime"],
        names: "start it with `wasmtime run --profile=perfmap`",
        frame_pointers: None,
    },
];

impl Runtime {
    /// The runtime that a mapped file is of.
    pub fn of_file(path: &[u8]) -> Option<&'static Runtime> {
        let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
        let is = |file: &&str| match file.starts_with("lib") {
            true => name.starts_with(file.as_bytes()),
            false => name == file.as_bytes(),
        };
        RUNTIMES.iter().find(|runtime| runtime.files.iter().any(is))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_known_by_their_files() {
        let of = |path: &[u8]| Runtime::of_file(path).map(|runtime| runtime.name);
        assert_eq!(of(b"/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"), Some("Java"));
        assert_eq!(of(b"/usr/bin/node"), Some("Node.js"));
        assert_eq!(of(b"/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2"), Some("Ruby"));
        assert_eq!(of(b"/usr/lib/x86_64-linux-gnu/libluajit-5.1.so.2.1.0"), Some("LuaJIT"));
        assert_eq!(of(b"/home/ada/node_modules/x/y.node"), None);
        assert_eq!(of(b""), None);
    }
}
