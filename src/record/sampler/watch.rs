//! Looks once a second for the conditions on which the last of a recording is written.

use std::fs;
use std::time::{Duration, Instant};

use crate::record::request::{Target, Triggers};
use crate::record::sys::limits::{page_size, ticks_per_second};
use crate::record::sys::processes::{descendants, stat};
use crate::record::trigger::Values;

/// The time between two looks.
const EACH: Duration = Duration::from_secs(1);

/// A target that is watched.
pub(super) struct Watch {
    triggers: Triggers,
    /// The processes; none stands for the whole machine.
    roots: Vec<u32>,
    /// The last look, and the ticks of processor time by then.
    looked: Instant,
    ticks: Option<u64>,
    /// The last time that a condition was met and acted upon.
    fired: Option<Instant>,
}

impl Watch {
    /// Begins to watch a target; `launched` is the process of a program that was started.
    pub fn begin(triggers: &Triggers, target: &Target, launched: Option<u32>) -> Watch {
        let roots = match target {
            Target::Command(_) => launched.into_iter().collect(),
            Target::Processes(ids) | Target::Threads(ids) => ids.clone(),
            Target::Waiting(pid) => vec![*pid],
            Target::Machine(_) => Vec::new(),
        };
        let mut watch =
            Watch { triggers: triggers.clone(), roots, looked: Instant::now(), ticks: None, fired: None };
        watch.ticks = watch.measure().0;
        watch
    }

    /// The time until the next look.
    pub fn left(&self) -> Duration {
        EACH.saturating_sub(self.looked.elapsed())
    }

    /// Returns true if a condition is met, and none was during the pause.
    pub fn is_met(&mut self) -> bool {
        let elapsed = self.looked.elapsed();
        if elapsed < EACH {
            return false;
        }
        self.looked = Instant::now();
        let (ticks, rss) = self.measure();
        let spent = ticks.zip(self.ticks).map(|(now, before)| now.saturating_sub(before));
        self.ticks = ticks;
        let cpu = spent.map(|ticks| {
            let milliseconds = ticks.saturating_mul(1000) / ticks_per_second();
            milliseconds.saturating_mul(100_000)
                / u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1)
        });
        let values = Values { cpu, rss, load: load() };
        let is_pause = self.fired.is_some_and(|fired| fired.elapsed() < self.triggers.pause);
        if is_pause || !self.triggers.any.iter().any(|trigger| trigger.is_met(&values)) {
            return false;
        }
        self.fired = Some(Instant::now());
        true
    }

    /// The ticks of processor time, and the bytes of memory.
    fn measure(&self) -> (Option<u64>, Option<u64>) {
        if self.roots.is_empty() {
            return (machine_ticks(), machine_memory());
        }
        let mut pids: Vec<u32> = self.roots.iter().flat_map(|&root| descendants(root)).collect();
        pids.extend(&self.roots);
        pids.sort_unstable();
        pids.dedup();
        let all: Vec<(u64, u64)> = pids.into_iter().filter_map(of_process).collect();
        let sum = |each: fn(&(u64, u64)) -> u64| {
            (!all.is_empty()).then(|| all.iter().map(each).fold(0, u64::saturating_add))
        };
        (sum(|it| it.0), sum(|it| it.1))
    }
}

/// The ticks of a process and of its children that have ended, and its memory in bytes.
fn of_process(pid: u32) -> Option<(u64, u64)> {
    // utime is field 14, rss field 24; the first behind the name is the third.
    let fields: Vec<u64> =
        stat(pid)?.split_ascii_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
    let ticks = fields.get(11..15)?.iter().fold(0, |sum: u64, ticks| sum.saturating_add(*ticks));
    Some((ticks, fields.get(21)?.saturating_mul(page_size() as u64)))
}

/// The ticks in which the processors were not idle.
fn machine_ticks() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let numbers: Vec<u64> =
        stat.lines().next()?.split_ascii_whitespace().skip(1).map(|n| n.parse().unwrap_or(0)).collect();
    // user, nice, system, and behind idle and iowait: irq, softirq. A guest's time is in the user's.
    let busy = numbers.get(..3)?.iter().chain(numbers.get(5..7)?);
    Some(busy.fold(0, |sum: u64, ticks| sum.saturating_add(*ticks)))
}

/// The bytes of memory that are in use.
fn machine_memory() -> Option<u64> {
    let memory = fs::read_to_string("/proc/meminfo").ok()?;
    let of = |name: &str| {
        let line = memory.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    Some(of("MemTotal")?.saturating_sub(of("MemAvailable")?).saturating_mul(1024))
}

/// The load average of a minute, in thousandths.
fn load() -> Option<u64> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    let (whole, hundredths) = load.split_ascii_whitespace().next()?.split_once('.')?;
    Some(whole.parse::<u64>().ok()?.checked_mul(1000)? + hundredths.parse::<u64>().ok()? * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(condition: &str, pause: Duration, target: &Target) -> Watch {
        let any = vec![condition.parse().expect("a condition")];
        let mut watch = Watch::begin(&Triggers { any, pause }, target, None);
        watch.looked = Instant::now().checked_sub(EACH).expect("an hour has gone by since the start");
        watch
    }

    #[test]
    fn a_condition_is_met_once_in_a_pause() {
        let this = Target::Processes(vec![std::process::id()]);
        let mut met = watch("rss>1k", Duration::from_secs(3600), &this);
        assert!(met.left() == Duration::ZERO && met.is_met());
        // However long a busy machine takes between two lines.
        met.looked = Instant::now() + 1000 * EACH;
        assert!(!met.is_met(), "a second has not gone by");
        met.looked = Instant::now().checked_sub(EACH).expect("a time");
        assert!(!met.is_met(), "the pause has not gone by");
        met.triggers.pause = Duration::ZERO;
        met.looked = met.looked.checked_sub(EACH).expect("a time");
        assert!(met.is_met());
        assert!(!watch("rss>900T", Duration::ZERO, &this).is_met());
        assert!(watch("rss>1k", Duration::ZERO, &Target::Machine(None)).is_met());
        let gone = Target::Processes(vec![u32::MAX >> 1]);
        assert!(!watch("cpu<1%", Duration::ZERO, &gone).is_met(), "nothing is known of it");
    }
}
