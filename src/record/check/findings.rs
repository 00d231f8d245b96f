//! The trials of the built-in sampler: recordings of this very process for a moment.
//!
//! Everything that can be tried is tried: a container or a security policy may take away what the
//! numbers in `/proc` promise. A refusal is described by [`Refusal`] and [`Note`], in the words of a
//! recording.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Ability, Row};
use crate::record::program::message;
use crate::record::refusal::Refusal;
use crate::record::request::{CallGraph, Request, Target, Time};
use crate::record::sampler;
use crate::record::sampler::plan::{Note, Plan};
use crate::record::sys::limits;
use crate::record::sys::signals::Stop;
use crate::record::system::{Permissions, online_processors};
use crate::symbolize::kernel::Kallsyms;
use crate::symbolize::{Module, Search};

/// The results of all trials.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The limits of the system.
    pub permissions: Permissions,
    /// Recording this process, with stack dumps if the processor allows.
    pub own: Result<Trial, Refusal>,
    /// True if stack dumps were refused, and `own` was recorded by frame pointers instead.
    pub no_dumps: bool,
    /// Recording the whole machine.
    pub machine: Result<Trial, Refusal>,
    /// Recording another user's process, where there is one.
    pub others: Option<Result<Trial, Refusal>>,
    /// Recording where this process waits.
    pub off_cpu: Result<Trial, Refusal>,
    /// True if the kernel's symbols have addresses.
    pub kernel_symbols: bool,
    /// True if the C library's debug information is installed; `None` without that library.
    pub debug_info: Option<bool>,
    /// The system's name for itself, as `/etc/os-release` has it.
    pub distribution: String,
}

/// The result of a trial recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The number of samples.
    pub samples: u64,
    /// The event that was sampled.
    pub event: String,
    /// Samples of the kernel are among them.
    pub kernel: bool,
    /// The size of each processor's ring, and the size that was asked for.
    pub ring: (usize, usize),
    /// Notes on what the recording lacks.
    pub notes: Vec<Note>,
}

/// The duration of a trial that has to give samples.
const LONG: Duration = Duration::from_millis(150);
/// The duration of a trial that only has to begin.
const SHORT: Duration = Duration::from_millis(10);

impl Findings {
    /// Tries everything.
    pub fn new(stop: &Stop) -> Findings {
        let permissions = Permissions::read();
        let itself = || Target::Processes(vec![std::process::id()]);
        let dumps = CallGraph::Dwarf(CallGraph::DUMP);
        let mut own = busy(|| trial(request(itself(), dumps, LONG), stop));
        let no_dumps = own == Err(Refusal::NoRegisters);
        let call_graph = if no_dumps { CallGraph::FramePointers } else { dumps };
        if no_dumps {
            own = busy(|| trial(request(itself(), call_graph, LONG), stop));
        }
        let others = fs::metadata("/proc/1").is_ok_and(|first| first.uid() != limits::effective_user());
        let off_cpu = Request { time: Time::OffCpu, ..request(itself(), call_graph, SHORT) };
        let kallsyms = fs::read("/proc/kallsyms").ok().and_then(Kallsyms::parse);
        Findings {
            own,
            no_dumps,
            machine: trial(request(Target::Machine(None), call_graph, SHORT), stop),
            others: others.then(|| trial(request(Target::Processes(vec![1]), call_graph, SHORT), stop)),
            off_cpu: trial(off_cpu, stop),
            kernel_symbols: kallsyms.is_some(),
            debug_info: c_library_has_debug_info(),
            distribution: distribution(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
            permissions,
        }
    }

    /// Returns true if the built-in sampler works.
    pub fn can_record(&self) -> bool {
        self.own.as_ref().is_ok_and(|trial| trial.samples > 0)
    }

    /// The table.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut add = |verdict, what, found: String| rows.push(Row { verdict, what, found });
        match &self.own {
            Ok(Trial { samples: 0, event, .. }) => add(
                Ability::Not,
                "samples",
                format!("the system allows them, but none came of {event}; try `fg-record -e cpu-clock`"),
            ),
            Ok(trial) => {
                add(Ability::Works, "samples", format!("{} were taken, by {}", trial.samples, trial.event))
            }
            Err(refusal) => add(Ability::Not, "samples", refusal.to_string()),
        }
        if let Ok(trial) = &self.own {
            self.of_recordings(trial, &mut add);
        }
        let tried = |result: &Result<Trial, Refusal>, allowed: &str| match result {
            Ok(_) => (Ability::Works, allowed.to_owned()),
            Err(refusal) => (Ability::Not, refusal.to_string()),
        };
        let (verdict, found) = tried(&self.machine, "-a records the whole machine");
        add(verdict, "whole machine", found);
        if let Some(others) = &self.others {
            let (verdict, found) = tried(others, "-p records them");
            add(verdict, "others' processes", found);
        }
        let (verdict, found) = tried(&self.off_cpu, "--off-cpu records where threads wait");
        add(verdict, "waiting", found);
        match self.debug_info {
            Some(true) => add(Ability::Works, "debug info", "the C library's is here".to_owned()),
            Some(false) => add(Ability::Partly, "debug info", self.no_debug_info()),
            None => {}
        }
        rows
    }

    /// Adds rows on what a working recording may lack.
    fn of_recordings(&self, trial: &Trial, add: &mut dyn FnMut(Ability, &'static str, String)) {
        match trial.notes.contains(&Note::Clock) {
            true => add(Ability::Partly, "cycles", format!("{}, as in most virtual machines", Note::Clock)),
            false => add(Ability::Works, "cycles", "the processor counts them".to_owned()),
        }
        let left_out = trial.notes.iter().find(|note| matches!(note, Note::UserOnly(_)));
        match (trial.kernel, left_out) {
            (true, _) => add(Ability::Works, "kernel frames", "seen".to_owned()),
            (false, Some(note)) => add(Ability::Not, "kernel frames", note.to_string()),
            (false, None) => {
                let container = self.permissions.container;
                add(Ability::Not, "kernel frames", Refusal::Forbidden { container }.to_string());
            }
        }
        match self.kernel_symbols {
            true => add(Ability::Works, "kernel symbols", "their addresses are shown".to_owned()),
            false => add(Ability::Not, "kernel symbols", self.hidden_symbols()),
        }
        match self.no_dumps {
            false => add(
                Ability::Works,
                "stack dumps",
                format!("{} bytes of the stack with each sample", CallGraph::DUMP),
            ),
            true => add(Ability::Not, "stack dumps", Refusal::NoRegisters.to_string()),
        }
        let (ring, wanted) = trial.ring;
        let memory = format!("{} kB for the samples of each processor", ring / 1024);
        if ring >= wanted {
            add(Ability::Works, "memory", memory);
        } else {
            let enough = wanted / 1024 + 4;
            let limit = self.permissions.mlock_kb.map_or("unknown".to_owned(), |kb| kb.to_string());
            add(
                Ability::Partly,
                "memory",
                format!(
                    "{memory} instead of {}: at high rates some are lost (kernel.perf_event_mlock_kb is \
                     {limit}); `sudo sysctl kernel.perf_event_mlock_kb={enough}` allows more",
                    wanted / 1024
                ),
            );
        }
        let note = trial.notes.iter().find(|note| matches!(note, Note::Rate(..)));
        match (note, self.permissions.max_rate) {
            (Some(note), _) => add(
                Ability::Partly,
                "rate",
                format!("{note}; `sudo sysctl kernel.perf_event_max_sample_rate=100000` allows more"),
            ),
            (None, Some(most)) => add(Ability::Works, "rate", format!("up to {most} samples a second")),
            (None, None) => {}
        }
    }

    /// Names the two settings that hide the kernel's addresses, and the command that shows them.
    fn hidden_symbols(&self) -> String {
        let Permissions { kptr_restrict, paranoid, privileged, .. } = self.permissions;
        let (restrict, paranoid) = (kptr_restrict.unwrap_or(1), paranoid.unwrap_or(2));
        let mut command = "sudo sysctl".to_owned();
        if restrict > 0 {
            command += " kernel.kptr_restrict=0";
        }
        if paranoid > 1 && !privileged {
            command += " kernel.perf_event_paranoid=1";
        }
        format!(
            "their addresses are hidden (kernel.kptr_restrict is {restrict}, kernel.perf_event_paranoid is \
             {paranoid}); `{command}` shows them"
        )
    }

    fn no_debug_info(&self) -> String {
        let lacking = "the C library's is not installed: its functions have names, but no lines";
        match C_LIBRARY.iter().find(|(names, _)| names.contains(&&*self.distribution)) {
            Some((_, command)) => format!("{lacking}; `{command}` adds it"),
            None => lacking.to_owned(),
        }
    }
}

/// Commands that install the C library's debug information, by distribution or the one it derives from.
const C_LIBRARY: &[(&[&str], &str)] = &[
    (&["debian", "ubuntu"], "sudo apt install libc6-dbg"),
    (&["fedora", "rhel", "centos"], "sudo dnf debuginfo-install glibc"),
    (&["suse", "opensuse-leap", "opensuse-tumbleweed"], "sudo zypper install glibc-debuginfo"),
    (&["alpine"], "sudo apk add musl-dbg"),
];

/// The first name in `/etc/os-release` that [`C_LIBRARY`] knows, or none.
fn distribution(os_release: &str) -> String {
    let values = ["ID=", "ID_LIKE="].into_iter().filter_map(|key| {
        let value = os_release.lines().find_map(|line| line.strip_prefix(key))?;
        Some(value.trim_matches(['"', '\'']).split_whitespace())
    });
    let known = |name: &&str| C_LIBRARY.iter().any(|(names, _)| names.contains(name));
    values.flatten().find(known).unwrap_or_default().to_owned()
}

fn request(target: Target, call_graph: CallGraph, duration: Duration) -> Request {
    Request { duration: Some(duration), call_graph, ..Request::new(target) }
}

/// Records into a temporary file.
fn trial(request: Request, stop: &Stop) -> Result<Trial, Refusal> {
    let no_file = |e: std::io::Error| Refusal::Other { doing: "make a file", said: message(&e) };
    let file = tempfile::tempfile().map_err(no_file)?;
    let events = sampler::parse_events(&request)?;
    let wanted = Plan::new(&request, events, online_processors().len())?.ring;
    let outcome = sampler::record(&request, file, stop, &mut |_| {})?;
    Ok(Trial {
        samples: outcome.samples,
        event: outcome.plan.event_names(),
        kernel: outcome.plan.kernel,
        ring: (outcome.plan.ring, wanted),
        notes: outcome.notes,
    })
}

/// Computes beside a trial, so that there is something to sample.
fn busy<T>(trial: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let result = trial();
        is_over.store(true, Ordering::Relaxed);
        result
    })
}

/// Finds out if the C library of this process has debug information; `None` without such a library.
fn c_library_has_debug_info() -> Option<bool> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut paths = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    let is_it = |path: &&str| {
        let name = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libc.so") || name.starts_with("libc-") || name.starts_with("ld-musl")
    };
    let path = paths.find(is_it)?.as_bytes().to_vec();
    let object = Search::default().open(&Module { path, build_id: None }).ok()?;
    Some(object.has_debug_info())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn works() -> Trial {
        let ring = (8 << 20, 8 << 20);
        Trial { samples: 149, event: "cycles".to_owned(), kernel: true, ring, notes: Vec::new() }
    }

    fn findings() -> Findings {
        Findings {
            permissions: Permissions {
                max_rate: Some(100_000),
                mlock_kb: Some(516),
                ..Permissions::default()
            },
            own: Ok(works()),
            no_dumps: false,
            machine: Ok(works()),
            others: None,
            off_cpu: Ok(works()),
            kernel_symbols: true,
            debug_info: Some(true),
            distribution: "debian".to_owned(),
        }
    }

    /// The row of a thing as one text.
    fn row(findings: &Findings, what: &str) -> String {
        let rows = findings.rows();
        let row = rows.iter().find(|row| row.what == what).unwrap_or_else(|| panic!("{what}: {rows:?}"));
        format!("{} {}", row.verdict, row.found)
    }

    #[test]
    fn every_row_says_yes_where_all_works() {
        let rows = findings().rows();
        assert!(rows.iter().all(|row| row.verdict == Ability::Works && !row.found.contains('`')), "{rows:?}");
        assert!(findings().can_record());
        assert_eq!(row(&findings(), "samples"), "yes 149 were taken, by cycles");
    }

    #[test]
    fn missing_rights_come_with_the_command_that_grants_them() {
        let own = |change: &dyn Fn(&mut Trial)| {
            let mut trial = works();
            change(&mut trial);
            Findings { own: Ok(trial), ..findings() }
        };
        let user_only = own(&|trial| {
            trial.kernel = false;
            trial.notes = vec![Note::Clock, Note::UserOnly(2)];
        });
        let small = own(&|trial| trial.ring = (1 << 19, 8 << 20));
        let slow = own(&|trial| trial.notes = vec![Note::Rate(997, 500)]);
        let locked = own(&|trial| trial.kernel = false);
        let no_library = Findings { debug_info: Some(false), ..findings() };
        let machine = Findings { machine: Err(Refusal::Machine(2)), ..findings() };
        let attach = Refusal::Attach { pid: 1, is_foreign: true, ptrace_scope: None, container: false };
        let others = Findings { others: Some(Err(attach)), ..findings() };
        let as_root = Permissions {
            kptr_restrict: Some(2),
            paranoid: Some(2),
            privileged: true,
            ..findings().permissions
        };
        let as_root = Findings { permissions: as_root, kernel_symbols: false, ..findings() };
        let hidden = |kptr_restrict, paranoid| {
            let permissions = Permissions {
                kptr_restrict: Some(kptr_restrict),
                paranoid: Some(paranoid),
                ..findings().permissions
            };
            Findings { permissions, kernel_symbols: false, ..findings() }
        };
        for (findings, what, expected) in [
            (
                &user_only,
                "kernel frames",
                "no kernel frames left out (kernel.perf_event_paranoid is 2); `sudo sysctl",
            ),
            (&user_only, "cycles", "part no cycles are counted here"),
            (&locked, "kernel frames", "no a security policy"),
            (&small, "memory", "part 512 kB for the samples of each processor instead of 8192"),
            (&small, "memory", "`sudo sysctl kernel.perf_event_mlock_kb=8196`"),
            (&slow, "rate", "part 500 samples a second instead of 997"),
            (&Findings { no_dumps: true, ..findings() }, "stack dumps", "no stack dumps of this processor"),
            (
                &hidden(1, 2),
                "kernel symbols",
                "`sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1`",
            ),
            (&hidden(0, 2), "kernel symbols", "`sudo sysctl kernel.perf_event_paranoid=1`"),
            (&as_root, "kernel symbols", "`sudo sysctl kernel.kptr_restrict=0` shows them"),
            (&hidden(2, 1), "kernel symbols", "`sudo sysctl kernel.kptr_restrict=0`"),
            (&no_library, "debug info", "part the C library's is not installed"),
            (&no_library, "debug info", "`sudo apt install libc6-dbg` adds it"),
            (&machine, "whole machine", "no the whole machine is kept from ordinary users"),
            (&others, "others' processes", "another user's: use `fg-record --root`"),
            (
                &Findings { off_cpu: Err(Refusal::OffCpu(2)), ..findings() },
                "waiting",
                "no --off-cpu and --wall need to see the kernel",
            ),
        ] {
            let found = row(findings, what);
            assert!(found.contains(expected), "{what}: {found}");
            assert!(findings.can_record());
        }
    }

    #[test]
    fn without_samples_the_table_has_no_rows_about_them() {
        let refused = Findings { own: Err(Refusal::Seccomp), ..findings() };
        assert!(row(&refused, "samples").starts_with("no perf_event_open is filtered out"));
        assert!(!refused.can_record() && refused.rows().iter().all(|row| row.what != "kernel frames"));
        let silent = Findings { own: Ok(Trial { samples: 0, ..works() }), ..findings() };
        assert!(row(&silent, "samples").contains("none came of cycles"));
        assert!(!silent.can_record());
    }

    #[test]
    fn distributions_by_their_own_name_or_their_parents() {
        for (text, expected) in [
            ("NAME=\"Debian GNU/Linux\"\nID=debian\n", "debian"),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "ubuntu"),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "rhel"),
            ("ID=slackware\n", ""),
            ("", ""),
        ] {
            assert_eq!(distribution(text), expected, "{text}");
        }
        let unknown = Findings { debug_info: Some(false), distribution: String::new(), ..findings() };
        assert!(!row(&unknown, "debug info").contains('`'));
    }
}
