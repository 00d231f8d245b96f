//! The facts in a profile's `meta`.

use crate::collapse::kit::times::date;
use crate::profile::{Facts, fact};
use crate::weight::Weight;

/// The members of `meta` that tell of the whole recording.
#[derive(Default)]
pub struct Meta {
    /// Milliseconds between samples.
    pub interval: Weight,
    /// Milliseconds since 1970.
    pub start: Weight,
    pub product: String,
    pub version: String,
    pub system: String,
    pub arguments: String,
}

impl Meta {
    /// The facts of a profile, by who wrote it.
    pub fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        let interval = self.interval.to_f64();
        if interval > 0.0 && interval <= 1000.0 {
            facts.rate = Some((1000.0 / interval).round() as u64);
        }
        facts.start = date(self.start, "ms");
        facts.system = fact(self.system.as_bytes());
        const BROWSERS: [&str; 4] = ["Firefox", "Fenix", "Thunderbird", "GeckoView"];
        let perf = self.product.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (perf version "));
        if BROWSERS.iter().any(|browser| self.product.starts_with(browser)) {
            let version = self.version.strip_prefix("rv:").unwrap_or(&self.version);
            facts.producer = fact(format!("{} {version}", self.product).as_bytes());
            facts.set_command(&self.arguments);
        } else if let Some((program, version)) = perf {
            // samply, of a recording of perf's: `orders on devbox (perf version 6.1.192)`.
            let (program, host) = program.rsplit_once(" on ").unwrap_or((program, ""));
            facts.set_command(program);
            facts.host = fact(host.as_bytes());
            facts.producer = fact(format!("perf {version}").as_bytes());
        } else {
            // samply: the name of the program.
            facts.set_command(&self.product);
        }
        facts
    }
}
