//! JSON of AMD's `rocprofv3`, `rocprofv3 --output-format json` (by its source, ROCm 6.2 to 7).
//!
//! ```text
//! {"rocprofiler-sdk-tool": [{"metadata": {"pid": 7, "init_time": 100, "fini_time": 900, …},
//!   "strings": {"buffer_records": [{"kind": "HIP_RUNTIME_API", "operations": ["hipMalloc", …]}, …], …},
//!   "kernel_symbols": [{"kernel_id": 1, "formatted_kernel_name": "gemm(float*)", …}, …],
//!   "buffer_records": {
//!     "kernel_dispatch": [{"kind": 11, "correlation_id": {"internal": 5, …}, "start_timestamp": 300, "end_timestamp": 400,
//!                          "dispatch_info": {"kernel_id": 1, "queue_id": {"handle": 2}, …}, …}],
//!     "hip_api": [{"kind": 2, "operation": 9, "correlation_id": {"internal": 5, …}, "thread_id": 8, …}], …}}]}
//! ```
//! A kernel or a copy is below the call with its correlation id, and that below the calls and markers around it. Written by
//! `source/lib/output/generateJSON.cpp` of ROCm/rocprofiler-sdk.

use std::collections::HashMap;
use std::time::Duration;

use crate::collapse::kit::json::{HeadKeys, Json, Kind};
use crate::collapse::kit::launches::{Launches, Owner, Work};
use crate::collapse::kit::names::{ANONYMOUS, FrameNames};
use crate::collapse::kit::values::Values;
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, ContextInfo, FormatInfo, Reading, Report, Sink, Tested,
};
use crate::error::Result;
use crate::folded::FrameId;
use crate::input::Input;
use crate::profile::fact;
use crate::unique::Unique;

const INFO: FormatInfo = FormatInfo {
    name: "rocprof",
    producer: "AMD's rocprofv3 --output-format json",
    tested: Tested::ByDescription("rocprofv3 by its source, ROCm 6.2 to 7"),
    values: "gpu, events: calls and markers on threads",
    unit: "us, us",
};

const TOOL: &str = "rocprofiler-sdk-tool";

/// Collapses the JSON of rocprofv3.
pub struct Rocprof;

impl Collapser for Rocprof {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn contexts(&self) -> ContextInfo {
        ContextInfo {
            times: "kernels, calls",
            clock: Some("recording"),
            labels: "thread, tid, process, stream",
        }
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        match HeadKeys::read(head) {
            Some(keys) if !keys.array && keys.has(TOOL) => Certainty::Yes,
            _ => Certainty::No,
        }
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let mut json = Json::new(input);
        let mut recording = Recording::default();
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            if key != TOOL {
                json.skip()?;
                continue;
            }
            json.begin_array()?;
            while json.next_item()? {
                recording.process(&mut json, report)?;
            }
        }
        json.end(report);
        recording.finish(reading, sink, report)
    }
}

/// The name of a call or of work, before the tables that hold it are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Name {
    /// The number of the process in the file.
    process: usize,
    symbol: Symbol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Symbol {
    Kernel(u64),
    /// A kind and one of its operations.
    Operation(u64, u64),
    /// The text of a marker by its correlation id, or else its kind and operation.
    Marker(u64, u64, u64),
}

#[derive(Default)]
struct Recording {
    processes: Vec<Process>,
    launches: Launches,
    names: Unique<Name>,
}

/// The tables of names of a process.
#[derive(Default)]
struct Process {
    number: u64,
    /// The names of the operations of each kind.
    operations: Vec<Vec<String>>,
    kernels: HashMap<u64, String>,
    markers: HashMap<u64, String>,
    records: Vec<(Group, Record)>,
    times: [u64; 2],
    /// The groups of records that are not read.
    passed: Vec<String>,
}

/// The groups of records that are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Kernels,
    Copies,
    Calls,
    Markers,
}

/// A record, as far as it is used.
#[derive(Clone, Copy, Default)]
struct Record {
    kind: u64,
    operation: u64,
    correlation: u64,
    begin: u64,
    end: u64,
    thread: u64,
    kernel: u64,
    queue: u64,
}

impl Recording {
    /// Reads a process.
    fn process(&mut self, json: &mut Json, report: &mut Report) -> Result<()> {
        let mut process = Process::default();
        each_key(json, |json, key| match key {
            "metadata" => process.metadata(json, report),
            "strings" => process.strings(json),
            "kernel_symbols" => process.kernel_symbols(json),
            "buffer_records" => process.records(json),
            _ => json.skip(),
        })?;
        let at = self.processes.len();
        for (group, record) in std::mem::take(&mut process.records) {
            let Record { kind, operation, correlation, begin, end, .. } = record;
            let symbol = match group {
                Group::Kernels => Symbol::Kernel(record.kernel),
                Group::Markers => Symbol::Marker(correlation, kind, operation),
                Group::Copies | Group::Calls => Symbol::Operation(kind, operation),
            };
            let frame = self.names.key(Name { process: at, symbol });
            if matches!(group, Group::Kernels | Group::Copies) {
                let owner = Owner { process: process.number, thread: record.queue };
                self.launches.work(Work { owner, correlation, begin, end, frame });
            } else {
                let owner = Owner { process: process.number, thread: record.thread };
                self.launches.call(owner, (begin, end), frame, correlation);
            }
        }
        let [begin, end] = process.times;
        let lasted = end.checked_sub(begin).filter(|lasted| *lasted > 0).map(Duration::from_nanos);
        report.facts.duration = report.facts.duration.max(lasted);
        if !process.passed.is_empty() {
            report.note(format!("records without a stack are left out: {}", process.passed.join(", ")));
        }
        self.processes.push(process);
        Ok(())
    }

    fn finish(self, options: &CollapseOptions, sink: &mut dyn Sink, report: &mut Report) -> Result<()> {
        let mut declared = Vec::new();
        let columns = self.launches.declare(&mut declared);
        let mut values = Values::new(options, declared, 0)?;
        let mut names = FrameNames::default();
        let frames: Vec<FrameId> = self
            .names
            .all()
            .iter()
            .map(|name| names.plain(self.processes[name.process].name(name.symbol), sink))
            .collect();
        let no_name = |_| Vec::new();
        self.launches.finish(columns, &frames, &no_name, (&mut values, options), sink, report)?;
        values.finish(report)
    }
}

impl Process {
    fn name(&self, symbol: Symbol) -> &[u8] {
        let operation = |kind: u64, operation: u64| {
            let operations = usize::try_from(kind).ok().and_then(|kind| self.operations.get(kind))?;
            operations.get(usize::try_from(operation).ok()?)
        };
        let name = match symbol {
            Symbol::Kernel(kernel) => self.kernels.get(&kernel),
            Symbol::Operation(kind, number) => operation(kind, number),
            Symbol::Marker(id, kind, number) => self.markers.get(&id).or_else(|| operation(kind, number)),
        };
        name.map_or(ANONYMOUS, |name| name.as_bytes())
    }

    fn metadata(&mut self, json: &mut Json, report: &mut Report) -> Result<()> {
        each_key(json, |json, key| {
            match key {
                "pid" => self.number = unsigned(json)?,
                "init_time" => self.times[0] = unsigned(json)?,
                "fini_time" => self.times[1] = unsigned(json)?,
                "command" if json.peek()? == Kind::Array => {
                    let mut words = Vec::new();
                    each_item(json, |json| {
                        words.push(json.text_or_number()?.to_owned());
                        Ok(())
                    })?;
                    report.facts.command = fact(words.join(" ").as_bytes());
                }
                "node" if json.peek()? == Kind::Object => each_key(json, |json, key| {
                    match key {
                        "hostname" => report.facts.host = fact(json.text_or_number()?.as_bytes()),
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                _ => json.skip()?,
            }
            Ok(())
        })
    }

    fn strings(&mut self, json: &mut Json) -> Result<()> {
        each_key(json, |json, key| match key {
            "buffer_records" => each_item(json, |json| {
                let mut operations = Vec::new();
                each_key(json, |json, key| match key {
                    "operations" => each_item(json, |json| {
                        operations.push(json.text_or_number()?.to_owned());
                        Ok(())
                    }),
                    _ => json.skip(),
                })?;
                self.operations.push(operations);
                Ok(())
            }),
            "marker_api" => each_item(json, |json| {
                let (mut id, mut text) = (0, String::new());
                each_key(json, |json, key| {
                    match key {
                        "key" => id = unsigned(json)?,
                        "value" => text = json.text_or_number()?.to_owned(),
                        _ => json.skip()?,
                    }
                    Ok(())
                })?;
                self.markers.insert(id, text);
                Ok(())
            }),
            _ => json.skip(),
        })
    }

    fn kernel_symbols(&mut self, json: &mut Json) -> Result<()> {
        let mut index = 0;
        each_item(json, |json| {
            // Where they have no number, their place in the table is it.
            let (mut id, mut best) = (index, (0, String::new()));
            each_key(json, |json, key| {
                let rank = match key {
                    "kernel_id" => {
                        id = unsigned(json)?;
                        return Ok(());
                    }
                    "formatted_kernel_name" => 3,
                    "demangled_kernel_name" => 2,
                    "kernel_name" => 1,
                    _ => return json.skip(),
                };
                let name = json.text()?;
                if rank > best.0 && !name.is_empty() {
                    best = (rank, name.to_owned());
                }
                Ok(())
            })?;
            index += 1;
            if best.0 > 0 {
                self.kernels.insert(id, best.1);
            }
            Ok(())
        })
    }

    fn records(&mut self, json: &mut Json) -> Result<()> {
        each_key(json, |json, key| {
            let group = match key {
                "kernel_dispatch" => Group::Kernels,
                "memory_copy" => Group::Copies,
                "marker_api" => Group::Markers,
                key if key.ends_with("_api") => Group::Calls,
                key => {
                    let key: String = key.chars().filter(|c| !c.is_control()).take(64).collect();
                    let mut any = false;
                    each_item(json, |json| {
                        any = true;
                        json.skip()
                    })?;
                    self.passed.extend(any.then_some(key));
                    return Ok(());
                }
            };
            each_item(json, |json| {
                let mut record = Record::default();
                record.read(json)?;
                self.records.push((group, record));
                Ok(())
            })
        })
    }
}

impl Record {
    fn read(&mut self, json: &mut Json) -> Result<()> {
        each_key(json, |json, key| {
            match key {
                "kind" => self.kind = unsigned(json)?,
                "operation" => self.operation = unsigned(json)?,
                "start_timestamp" => self.begin = unsigned(json)?,
                "end_timestamp" => self.end = unsigned(json)?,
                "thread_id" => self.thread = unsigned(json)?,
                "correlation_id" => self.correlation = within(json, "internal")?,
                "stream_id" => self.queue = within(json, "handle")?,
                "dispatch_info" => each_key(json, |json, key| {
                    match key {
                        "kernel_id" => self.kernel = unsigned(json)?,
                        "queue_id" if self.queue == 0 => self.queue = within(json, "handle")?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                _ => json.skip()?,
            }
            Ok(())
        })
    }
}

/// A number that stands alone, or below a key of an object.
fn within(json: &mut Json, name: &str) -> Result<u64> {
    if json.peek()? != Kind::Object {
        return unsigned(json);
    }
    let mut number = 0;
    each_key(json, |json, key| {
        match key {
            key if key == name => number = unsigned(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(number)
}

/// A whole number of up to 64 bits; `null` is 0.
fn unsigned(json: &mut Json) -> Result<u64> {
    if json.null()? {
        return Ok(0);
    }
    let place = json.place();
    let weight = json.weight()?;
    weight.to_u64().ok_or_else(|| {
        crate::error::Error::malformed("a whole number of 64 bits", weight.to_string().as_bytes()).at(place)
    })
}

/// Passes each key of an object to `each`, which takes its value; `null` has none.
fn each_key(json: &mut Json, mut each: impl FnMut(&mut Json, &str) -> Result<()>) -> Result<()> {
    if json.null()? {
        return Ok(());
    }
    let mut key = String::new();
    json.begin_object()?;
    while json.next_key(&mut key)? {
        each(json, &key)?;
    }
    Ok(())
}

/// Passes each item of an array to `each`, which takes it; `null` has none.
fn each_item(json: &mut Json, mut each: impl FnMut(&mut Json) -> Result<()>) -> Result<()> {
    if json.null()? {
        return Ok(());
    }
    json.begin_array()?;
    while json.next_item()? {
        each(json)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::ValueSelection;
    use crate::collapse::tests::{collapse_bytes, fold};

    const TEXT: &str = r#"{"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 7, "init_time": 1000, "fini_time": 3000, "command": ["./app", "x"], "node": {"hostname": "h"}},
        "buffer_records": {
          "kernel_dispatch": [
            {"kind": 1, "operation": 0, "correlation_id": {"internal": 5, "external": 0}, "start_timestamp": 1300,
             "end_timestamp": 2300, "thread_id": 8, "dispatch_info": {"kernel_id": 3, "queue_id": {"handle": 9}}},
            {"kind": 1, "correlation_id": {"internal": 77}, "start_timestamp": 2300, "end_timestamp": 2301,
             "dispatch_info": {"kernel_id": 4}}],
          "memory_copy": [{"kind": 2, "operation": 1, "correlation_id": {"internal": 6}, "start_timestamp": 1, "end_timestamp": 501}],
          "memory_allocation": [{"size": 1}], "scratch_memory": [],
          "hip_api": [
            {"kind": 0, "operation": 1, "correlation_id": {"internal": 5}, "start_timestamp": 1100, "end_timestamp": 1200, "thread_id": 8},
            {"kind": 0, "operation": 0, "correlation_id": {"internal": 6}, "start_timestamp": 1250, "end_timestamp": 1260, "thread_id": 8}],
          "marker_api": [{"kind": 0, "operation": 1, "correlation_id": {"internal": 4}, "start_timestamp": 1000, "end_timestamp": 1220,
                          "thread_id": 8}]},
        "kernel_symbols": [{"kernel_id": 3, "kernel_name": "_Z1g.kd", "formatted_kernel_name": "g(float*)"}],
        "strings": {"buffer_records": [{"kind": "HIP", "operations": ["hipMemcpy", "hipLaunchKernel"]}, {"kind": "K", "operations": []},
                                       {"kind": "C", "operations": ["NONE", "HOST_TO_DEVICE"]}],
                    "marker_api": [{"key": 4, "value": "step; 1"}]}}]}"#;

    fn value(name: &str) -> CollapseOptions {
        CollapseOptions { values: ValueSelection::Named(vec![name.into()]), ..CollapseOptions::default() }
    }

    #[test]
    fn kernels_are_below_their_launches() {
        assert_eq!(Rocprof.detect(TEXT.as_bytes()), Certainty::Yes);
        let (folded, report) = collapse_bytes(&Rocprof, TEXT, &CollapseOptions::default()).unwrap();
        let expected = "[no stack];(anonymous) 0.001\nhipMemcpy;HOST_TO_DEVICE 0.5\nstep: 1;hipLaunchKernel;g(float*) 1\n";
        assert_eq!(folded, expected);
        assert_eq!(
            report.notes,
            [
                "records without a stack are left out: memory_allocation",
                "the launch of 1 pieces of work of a device is not in the recording"
            ]
        );
        assert_eq!(
            (report.facts.command.as_deref(), report.facts.host.as_deref()),
            (Some("./app x"), Some("h"))
        );
        assert_eq!(report.facts.duration, Some(Duration::from_micros(2)));
        assert_eq!(
            fold(&Rocprof, TEXT, &value("events")),
            "hipMemcpy 0.01\nstep: 1 0.12\nstep: 1;hipLaunchKernel 0.1\n"
        );
        let threads = CollapseOptions { tid: true, ..CollapseOptions::default() };
        let folded = fold(&Rocprof, TEXT, &threads);
        assert!(folded.contains("[unnamed]-7/8;step: 1;hipLaunchKernel;g(float*) 1\n"), "{folded}");
    }

    #[test]
    fn calls_alone_are_events() {
        let text = TEXT.replace("kernel_dispatch", "other").replace("memory_copy", "another");
        assert!(
            fold(&Rocprof, &text, &CollapseOptions::default()).ends_with("step: 1;hipLaunchKernel 0.1\n")
        );
        let error =
            |text: &str| collapse_bytes(&Rocprof, text, &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error(&TEXT.replace("1300", "-3")).contains("a whole number of 64 bits"));
        assert!(error(&TEXT[..300]).contains("the end of the input"));
        assert_eq!(Rocprof.detect(b"{\"traceEvents\": []}"), Certainty::No);
    }
}
