//! The two lines that say what a picture shows, and the details behind them.
//!
//! Every output for people takes its title and its subtitle from here, so that they agree.

use std::time::{Duration, SystemTime};

use crate::facts::Facts;
use crate::facts::units::{amount, is_time};
use crate::folded::Weights;
use crate::weight::Weight;

/// Events whose weight is time spent on a processor.
const CPU: &[&str] = &["cpu-clock", "task-clock", "cpu", "itimer", "ctimer", "on-cpu"];
/// Events whose weight is time that passed.
const WALL: &[&str] = &["wall", "wall-clock"];
/// Events whose weight is time spent waiting.
const WAIT: &[&str] = &["off-cpu", "offcpu", "idle", "lock", "contentions", "delay", "park"];

impl Facts {
    /// The title of a picture: the command, where it is known.
    pub fn title(&self) -> Option<String> {
        match (&self.command, self.sides.as_deref()) {
            (Some(command), _) => Some(command.clone()),
            (None, Some(sides)) => {
                let (before, after) = (sides.before.title()?, sides.after.title()?);
                Some(format!("{before} → {after}"))
            }
            (None, None) => None,
        }
    }

    /// One line that says what was measured:
    /// `1.72 s CPU in 8.6 s · 1,719 samples · cpu-clock · 2026-11-21`.
    ///
    /// `total` is the weight of the whole profile. `None` where there is nothing to say but a
    /// number.
    ///
    /// ```
    /// use fg_tools::{Facts, Weight};
    ///
    /// let mut facts = Facts::default();
    /// assert_eq!(facts.subtitle(Weight::new(42)), None);
    /// facts.unit = Some("ns".into());
    /// facts.event = Some("cpu-clock:u".into());
    /// facts.samples = Some(162);
    /// let subtitle = facts.subtitle(Weight::new(325_000_000));
    /// assert_eq!(subtitle.as_deref(), Some("325 ms CPU · 162 samples · cpu-clock:u"));
    /// ```
    pub fn subtitle(&self, total: Weight) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(unit) = self.unit.as_deref() {
            let mut measured = amount(total, Some(unit));
            if is_time(unit)
                && let Some(kind) = self.event.as_deref().and_then(kind_of_time)
            {
                measured = format!("{measured} {kind}");
            }
            parts.push(measured);
        }
        if let Some(cpu) = self.cpu_time.filter(|_| !parts.first().is_some_and(|first| first.contains("CPU")))
        {
            parts.push(format!("{} CPU", time(cpu)));
        }
        if let Some(duration) = self.duration {
            let duration = format!("in {}", time(duration));
            match parts.last_mut() {
                Some(last) => *last += &format!(" {duration}"),
                None => parts.push(duration),
            }
        }
        if let Some(samples) = self.samples
            && self.unit.as_deref() != Some("samples")
        {
            parts.push(amount(Weight::new(i128::from(samples)), Some("samples")));
        }
        parts.extend(self.event.clone().filter(|event| self.unit.as_deref() != Some(event)));
        parts.extend(self.start.map(date));
        (!parts.is_empty()).then(|| parts.join(" · "))
    }

    /// The subtitle of a picture of both sides: `before 94 ms · after 156 ms`.
    pub fn subtitle_of_sides(&self, total: Weights) -> String {
        let unit = self.unit.as_deref();
        format!("before {} · after {}", amount(total.before, unit), amount(total.value, unit))
    }

    /// All that is known, as pairs of a name and a text, in the order in which people ask.
    pub fn details(&self) -> Vec<(&'static str, String)> {
        let text = |name, value: &Option<String>| value.clone().map(|value| (name, value));
        let unit = self.unit.as_deref();
        let single = [
            text("command", &self.command),
            text("event", &self.event),
            text("unit", &self.unit),
            self.period.map(|period| ("a sample weighs", amount(period, unit))),
            self.rate.map(|rate| ("rate", format!("{rate} Hz"))),
            self.samples.map(|samples| ("samples", amount(Weight::new(i128::from(samples)), None))),
            self.duration.map(|duration| ("duration", time(duration))),
            self.cpu_time.map(|cpu| ("processor time", time(cpu))),
            self.start.map(|start| ("start", instant(start))),
            text("host", &self.host),
            text("system", &self.system),
            text("producer", &self.producer),
        ];
        let mut all: Vec<(&'static str, String)> = single.into_iter().flatten().collect();
        all.extend(self.comments.iter().map(|comment| ("comment", comment.clone())));
        all
    }
}

fn kind_of_time(event: &str) -> Option<&'static str> {
    let name = event.split([':', '/']).next().unwrap_or_default();
    let kinds = [(CPU, "CPU"), (WALL, "wall clock"), (WAIT, "waiting")];
    kinds.iter().find(|(names, _)| names.contains(&name)).map(|(_, kind)| *kind)
}

fn time(duration: Duration) -> String {
    amount(Weight::new(duration.as_nanos() as i128), Some("ns"))
}

/// `2026-11-21`, in UTC.
fn date(time: SystemTime) -> String {
    instant(time).chars().take(10).collect()
}

/// `2026-11-21 10:00:00 UTC`.
fn instant(time: SystemTime) -> String {
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.replace('T', " ").replace('Z', " UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        let mut facts = Facts {
            unit: Some("ns".into()),
            event: Some("cpu-clock".into()),
            samples: Some(1719),
            start: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_219_200)),
            duration: Some(Duration::from_millis(8600)),
            ..Facts::default()
        };
        facts.set_command("./app --its-args");
        facts
    }

    #[test]
    fn the_subtitle_says_what_was_measured() {
        let total = Weight::new(1_719_000_000);
        let subtitle = facts().subtitle(total).unwrap();
        assert_eq!(subtitle, "1.72 s CPU in 8.6 s · 1,719 samples · cpu-clock · 2026-11-21");
        let heap =
            Facts { unit: Some("bytes".into()), event: Some("inuse_space".into()), ..Facts::default() };
        assert_eq!(heap.subtitle(Weight::new(4096)).unwrap(), "4.1 kB · inuse_space");
        let cycles = Facts {
            unit: Some("cycles".into()),
            event: Some("cycles".into()),
            cpu_time: Some(Duration::from_secs(2)),
            duration: Some(Duration::from_secs(3)),
            ..Facts::default()
        };
        assert_eq!(cycles.subtitle(Weight::new(12_300_000_000)).unwrap(), "12.3 G cycles · 2 s CPU in 3 s");
        let plain = Facts { unit: Some("samples".into()), samples: Some(7), ..Facts::default() };
        assert_eq!(plain.subtitle(Weight::new(7)).unwrap(), "7 samples");
    }

    #[test]
    fn the_title_is_the_command_or_both() {
        assert_eq!(facts().title().unwrap(), "./app --its-args");
        let mut after = facts();
        after.set_command("./app-2");
        assert_eq!(Facts::of_sides(facts(), after).title().unwrap(), "./app --its-args → ./app-2");
        assert_eq!(Facts::default().title(), None);
    }

    #[test]
    fn details_are_all_that_is_known() {
        assert_eq!(Facts::default().details(), []);
        let facts = Facts {
            command: Some("./app 7".into()),
            unit: Some("ns".into()),
            period: Some(Weight::new(2_000_000)),
            rate: Some(500),
            samples: Some(12_345),
            duration: Some(Duration::from_millis(1500)),
            comments: vec!["one".into(), "two".into()],
            ..Facts::default()
        };
        let details: Vec<_> = facts.details();
        let details: Vec<_> = details.iter().map(|(name, text)| (*name, text.as_str())).collect();
        assert_eq!(
            details,
            [
                ("command", "./app 7"),
                ("unit", "ns"),
                ("a sample weighs", "2 ms"),
                ("rate", "500 Hz"),
                ("samples", "12,345"),
                ("duration", "1.5 s"),
                ("comment", "one"),
                ("comment", "two"),
            ]
        );
    }
}
