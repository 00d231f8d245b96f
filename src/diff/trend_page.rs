//! The history of runs as a page: a line for the whole and for each function over the commits, the changes for good marked, and for
//! each of these the difference of the two commits. It has no script, and nothing but itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::change::Change;
use super::history::{Entry, History, thousandths};
use super::numbers::{self, p_short};
use crate::error::Result;
use crate::printable::printable;
use crate::significance::change_points::ChangePoint;
use crate::weight::Weight;

/// The most functions that have a line of their own, and the most rows of a difference.
const MOST: usize = 24;
/// A chart in its own units: width and height without the letters around it.
const WIDE: f64 = 440.0;
const HIGH: f64 = 90.0;

const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
<meta name=\"color-scheme\" content=\"light dark\">\n<title>Trend</title>\n<style>
:root{--ink:#1d1f23;--soft:#5f6570;--back:#fbfaf8;--line:#dfdcd6;--accent:#a8480b;--more:#a8480b;--less:#1f5fbf}
@media(prefers-color-scheme:dark){:root{--ink:#e8e6e3;--soft:#a3a7af;--back:#17181b;--line:#34373d;--accent:#ffa766;--more:#ffa766;--less:#86b6ff}}
body{margin:0 auto;max-width:1400px;padding:16px;background:var(--back);color:var(--ink);font:14px/1.45 system-ui,sans-serif;font-variant-numeric:tabular-nums}
h1{font-size:18px;margin:0}h2{font-size:16px;margin:28px 0 4px}p{margin:2px 0;color:var(--soft)}a{color:var(--accent)}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(420px,100%),1fr));gap:18px}
figure{margin:0;min-width:0}figcaption{display:flex;gap:10px;justify-content:space-between;overflow-wrap:anywhere}figcaption b{font-weight:600}
figcaption span{color:var(--soft);white-space:nowrap}svg{display:block;width:100%;height:auto;overflow:visible}
.run{fill:none;stroke:var(--soft);stroke-width:1.2;vector-effect:non-scaling-stroke}.level{stroke:var(--accent);stroke-width:2;vector-effect:non-scaling-stroke}
.axis{stroke:var(--line)}.mark{stroke:var(--accent);stroke-dasharray:4 3}svg text{fill:var(--soft);font-size:11px}svg a text{fill:var(--accent);text-decoration:underline}
section{border-top:1px solid var(--line);margin-top:14px;padding-top:8px}section:target{outline:2px solid var(--accent);outline-offset:6px}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:3px 10px 3px 0;font-weight:400;overflow-wrap:anywhere}td+td{white-space:nowrap}
th{color:var(--soft)}.more{color:var(--more)}.less{color:var(--less)}code{font:12px ui-monospace,monospace}
</style>\n</head>\n<body>\n<h1>Trend</h1>\n";

impl History {
    /// The page. `alpha` and `least` are those of [`History::trend`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn trend_page(&self, alpha: f64, least: f64) -> Result<String> {
        let mut page = HEAD.to_owned();
        for (number, (unit, machine, history)) in self.series().into_iter().enumerate() {
            let series =
                Series { unit: Some(unit).filter(|unit| !unit.is_empty()), number, history: &history };
            let changes = history.trend(alpha, least);
            let (first, last) = (&history.entries[0], &history.entries[history.entries.len() - 1]);
            let place = if machine.is_empty() { "Unknown machine" } else { machine };
            let _ = write!(
                page,
                "<h2>{}</h2>\n<p>{} entries, {} ({}) to {} ({}); self weight of functions, per run</p>\n",
                html(place.as_bytes()),
                history.entries.len(),
                html(first.commit.as_bytes()),
                html(first.time.as_bytes()),
                html(last.commit.as_bytes()),
                html(last.time.as_bytes()),
            );
            page += "<div class=\"charts\">\n";
            series.chart(None, &changes, &mut page)?;
            for name in series.functions(&changes) {
                series.chart(Some(name), &changes, &mut page)?;
            }
            page += "</div>\n";
            if changes.is_empty() {
                page += "<p>No lasting change.</p>\n";
            }
            let places: BTreeSet<usize> = changes.iter().map(|(_, change)| change.at).collect();
            for at in places {
                series.difference(at, &changes, &mut page)?;
            }
        }
        page += "</body>\n</html>\n";
        Ok(page)
    }
}

/// The runs of a unit and a machine.
struct Series<'h> {
    unit: Option<&'h str>,
    number: usize,
    history: &'h History,
}

type Changes = [(Option<Vec<u8>>, ChangePoint)];

impl<'h> Series<'h> {
    /// The functions with a chart: those that changed, then the heaviest of the last entries.
    fn functions(&self, changes: &Changes) -> Vec<&'h [u8]> {
        let mut sums: BTreeMap<&[u8], f64> = BTreeMap::new();
        for (name, weight) in self.history.entries.iter().flat_map(|entry| &entry.weights) {
            *sums.entry(name).or_default() += weight.to_f64();
        }
        let changed = |name: &[u8]| changes.iter().any(|(of, _)| of.as_deref() == Some(name));
        let mut names: Vec<(&[u8], f64)> = sums.into_iter().collect();
        names.sort_by(|a, b| changed(b.0).cmp(&changed(a.0)).then(b.1.total_cmp(&a.1)).then(a.0.cmp(b.0)));
        names.into_iter().take(MOST).map(|(name, _)| name).collect()
    }

    fn weight(entry: &Entry, name: Option<&[u8]>) -> f64 {
        match name {
            None => entry.whole(),
            Some(name) => entry.weights.get(name).map_or(0.0, |weight| weight.to_f64()),
        }
    }

    /// A chart of the whole, or of a function: the runs, the levels between lasting changes, and these.
    fn chart(&self, name: Option<&[u8]>, changes: &Changes, page: &mut String) -> Result<()> {
        let entries = &self.history.entries;
        let values: Vec<f64> = entries.iter().map(|entry| Series::weight(entry, name)).collect();
        let most = values.iter().fold(f64::MIN_POSITIVE, |most, value| most.max(*value));
        let x = |at: usize| WIDE * at as f64 / (entries.len().max(2) - 1) as f64;
        let y = |value: f64| HIGH - HIGH * value / most;
        let own: Vec<&ChangePoint> =
            changes.iter().filter(|(of, _)| of.as_deref() == name).map(|(_, change)| change).collect();
        let title = name.map_or_else(|| "the whole".to_owned(), html);
        let last = thousandths(*values.last().unwrap_or(&0.0))?;
        let _ = write!(
            page,
            "<figure><figcaption><b>{title}</b><span>{}</span></figcaption>\n\
             <svg viewBox=\"-2 -16 {} {}\" role=\"img\" aria-label=\"{title} over {} entries\">\n\
             <path class=\"axis\" d=\"M0 {HIGH}H{WIDE}M0 0H{WIDE}\"/><text x=\"0\" y=\"-4\">{}</text><text x=\"0\" y=\"{}\">{}</text>\
             <text x=\"{WIDE}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
            html(numbers::amount(last, self.unit).as_bytes()),
            WIDE + 4.0,
            HIGH + 34.0,
            entries.len(),
            html(numbers::amount(thousandths(most)?, self.unit).as_bytes()),
            HIGH + 14.0,
            html(entries[0].commit.as_bytes()),
            HIGH + 14.0,
            html(entries[entries.len() - 1].commit.as_bytes()),
        );
        page.push_str("<polyline class=\"run\" points=\"");
        for (at, value) in values.iter().enumerate() {
            let _ = write!(page, "{:.1},{:.1} ", x(at), y(*value));
        }
        page.push_str("\"/>\n");
        let ends = own.iter().map(|change| change.at).chain([entries.len()]);
        let mut from = 0;
        for to in ends {
            let mean = values[from..to].iter().sum::<f64>() / (to - from).max(1) as f64;
            let (left, right) = (x(from), x(to - 1));
            let _ = writeln!(page, "<path class=\"level\" d=\"M{left:.1} {0:.1}H{right:.1}\"/>", y(mean));
            from = to;
        }
        for change in own {
            let (left, commit) = (x(change.at), html(entries[change.at].commit.as_bytes()));
            let anchor = if left > WIDE * 0.8 { "end" } else { "start" };
            let _ = writeln!(
                page,
                "<path class=\"mark\" d=\"M{left:.1} 0V{HIGH}\"/><a href=\"#{}\"><text x=\"{left:.1}\" y=\"{}\" \
                 text-anchor=\"{anchor}\">{commit}</text></a>",
                self.anchor(change.at),
                HIGH + 28.0
            );
        }
        page.push_str("</svg></figure>\n");
        Ok(())
    }

    fn anchor(&self, at: usize) -> String {
        format!("change-{}-{at}", self.number)
    }

    /// The difference of the commit at which something changed for good and the one before it: what changed, with the levels around it,
    /// then all functions by the change of their weight.
    fn difference(&self, at: usize, changes: &Changes, page: &mut String) -> Result<()> {
        let (before, after) = (&self.history.entries[at - 1], &self.history.entries[at]);
        let commits = [before, after].map(|entry| html(entry.commit.as_bytes()));
        let _ = write!(
            page,
            "<section id=\"{}\"><h2>{} → {}</h2>\n<p>{}</p>\n<table><tr><th>Changed for good</th><th>Levels before and after</th><th>Runs</th></tr>\n",
            self.anchor(at),
            commits[0],
            commits[1],
            html(after.time.as_bytes()),
        );
        let row = |name: &str, before: Weight, after: Weight, more: &str, page: &mut String| {
            let change = Change { before, after, significant: true, ..Change::default() };
            // Most of what differs between two commits alone is noise.
            let class = match more {
                "" => "",
                _ if after.to_f64() > before.to_f64() => "more",
                _ => "less",
            };
            let text = html(numbers::change(&change, self.unit).as_bytes());
            let _ =
                writeln!(page, "<tr><td>{name}</td><td class=\"{class}\">{text}</td><td>{more}</td></tr>");
        };
        for (name, change) in changes.iter().filter(|(_, change)| change.at == at) {
            let name = name.as_deref().map_or_else(|| "the whole".to_owned(), html);
            let counts = format!("{} n={}+{}", p_short(change.p), change.counts.0, change.counts.1);
            let (before, after) = (thousandths(change.means.0)?, thousandths(change.means.1)?);
            row(&name, before, after, &html(counts.as_bytes()), page);
        }
        page.push_str("<tr><th>These two commits alone</th><th>Self weight</th><th></th></tr>\n");
        let names: BTreeSet<&Vec<u8>> = before.weights.keys().chain(after.weights.keys()).collect();
        let of = |entry: &Entry, name: &Vec<u8>| entry.weights.get(name).copied().unwrap_or(Weight::ZERO);
        let mut rows: Vec<_> =
            names.into_iter().map(|name| (name, of(before, name), of(after, name))).collect();
        rows.retain(|(_, before, after)| before != after);
        rows.sort_by(|a, b| {
            let size = |row: &(&Vec<u8>, Weight, Weight)| (row.2.to_f64() - row.1.to_f64()).abs();
            size(b).total_cmp(&size(a)).then(a.0.cmp(b.0))
        });
        for (name, before, after) in rows.into_iter().take(MOST) {
            row(&html(name), before, after, "", page);
        }
        page.push_str(
            "</table>\n<p><code>fg-diff -o diff.html</code> draws all of the difference, of the recordings of both.</p></section>\n",
        );
        Ok(())
    }
}

/// A text of the history between tags, or in an attribute.
fn html(text: &[u8]) -> String {
    let mut safe = String::new();
    for c in printable(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            _ => safe.push(c),
        }
    }
    safe
}
