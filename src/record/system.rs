//! The limits that this Linux puts on recordings.

use std::fs;

use super::sys::limits;

/// The limits set by the kernel, the container and the user's rights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// `kernel.perf_event_paranoid`: 2 keeps ordinary users out of the kernel, 3 out of all.
    pub paranoid: Option<i64>,
    /// System calls are filtered, as containers do.
    pub seccomp: bool,
    /// `kernel.yama.ptrace_scope`: at 1 users may only trace their children.
    pub ptrace_scope: Option<i64>,
    /// `kernel.perf_event_mlock_kb`: ring memory for each processor.
    pub mlock_kb: Option<i64>,
    /// `kernel.perf_event_max_sample_rate`, in samples a second.
    pub max_rate: Option<i64>,
    /// `kernel.kptr_restrict`: 1 hides the kernel's addresses from ordinary users.
    pub kptr_restrict: Option<i64>,
    /// Root, or a program that was given CAP_PERFMON or CAP_SYS_ADMIN.
    pub privileged: bool,
    /// Within a container.
    pub container: bool,
    /// Within the first Windows Subsystem for Linux, which has no Linux kernel.
    pub wsl1: bool,
    /// The number of bytes that may be locked in memory (`ulimit -l`).
    pub locked_memory: u64,
}

impl Permissions {
    /// Reads them.
    pub fn read() -> Permissions {
        let number =
            |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let version = fs::read_to_string("/proc/version").unwrap_or_default();
        Permissions {
            paranoid: number("perf_event_paranoid"),
            seccomp: status_number(&status, "Seccomp", 10) == Some(2),
            ptrace_scope: number("yama/ptrace_scope"),
            mlock_kb: number("perf_event_mlock_kb"),
            max_rate: number("perf_event_max_sample_rate"),
            kptr_restrict: number("kptr_restrict"),
            privileged: status_number(&status, "CapEff", 16)
                .is_some_and(|capabilities| may_monitor(capabilities, number("perf_event_paranoid"))),
            container: ["/.dockerenv", "/run/.containerenv"].iter().any(|path| fs::metadata(path).is_ok()),
            wsl1: is_wsl1(&version),
            locked_memory: limits::locked_memory(),
        }
    }
}

/// A number of `/proc/PID/status`.
fn status_number(status: &str, name: &str, radix: u32) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    u64::from_str_radix(value.trim(), radix).ok()
}

/// CAP_SYS_ADMIN, or CAP_PERFMON, which is not enough for Ubuntu's kernels at 4.
fn may_monitor(capabilities: u64, paranoid: Option<i64>) -> bool {
    capabilities & 1 << 21 != 0 || capabilities & 1 << 38 != 0 && paranoid.is_none_or(|paranoid| paranoid < 4)
}

/// The second one says `microsoft`, in small letters, and has perf events.
fn is_wsl1(version: &str) -> bool {
    version.contains("Microsoft")
}

/// The processors that are online, from `/sys/devices/system/cpu/online`: `0-3,8`.
pub fn online_processors() -> Vec<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let processors = parse_list(text.trim());
    if processors.is_empty() {
        let count = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
        return (0..count).collect();
    }
    processors
}

fn parse_list(text: &str) -> Vec<u32> {
    let mut all = Vec::new();
    for range in text.split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        // More than the kernel's own limit of processors is a damaged file.
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
            all.extend(first..=last.min(first.saturating_add(8192)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_status_file() {
        let status = "Name:\tbash\nCapEff:\t0000004000000000\nSeccomp:\t2\nSeccomp_filters:\t1\n";
        assert_eq!(status_number(status, "Seccomp", 10), Some(2));
        let capabilities = status_number(status, "CapEff", 16).unwrap();
        assert!(may_monitor(capabilities, Some(3)) && may_monitor(capabilities, None), "CAP_PERFMON");
        assert!(!may_monitor(capabilities, Some(4)) && may_monitor(1 << 21, Some(4)));
        assert!(!may_monitor(1 << 37, Some(2)));
        assert_eq!(status_number(status, "CapPrm", 16), None);
    }

    #[test]
    fn processors_are_listed_in_ranges() {
        assert_eq!(parse_list("0-2,5,7-8"), [0, 1, 2, 5, 7, 8]);
        assert_eq!(parse_list("0"), [0]);
        assert!(parse_list("").is_empty());
        assert_eq!(parse_list("x-2,4"), [4]);
    }

    #[test]
    fn the_two_subsystems_are_told_apart() {
        assert!(is_wsl1("Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)"));
        assert!(!is_wsl1("Linux version 5.15.153.1-microsoft-standard-WSL2 (root@host)"));
    }
}
