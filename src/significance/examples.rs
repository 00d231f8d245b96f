//! Examples on which tables, pictures and the page's script agree.

use super::*;

/// A share before and after, the limits, and the verdict.
pub(crate) struct Example {
    pub(crate) before: Count,
    pub(crate) after: Count,
    pub(crate) limits: Limits,
    pub(crate) p: f64,
    pub(crate) is_sure: bool,
}

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/significance.json");

/// Hits and samples before and after, alpha, and the least effect.
const GIVEN: &[[f64; 6]] = &[
    [0.0, 1000.0, 1.0, 1000.0, 0.01, 0.0],
    [0.0, 1000.0, 3.0, 1000.0, 0.01, 0.0],
    [0.0, 1000.0, 12.0, 1000.0, 0.01, 0.0],
    [12.0, 1000.0, 0.0, 1000.0, 0.01, 0.0],
    [12.0, 1000.0, 0.0, 1000.0, 0.01, 1.5],
    [3.0, 4.0, 1.0, 4.0, 0.05, 0.0],
    [10.0, 10.0, 1.0, 10.0, 0.01, 0.5],
    [40.0, 1000.0, 70.0, 1000.0, 0.01, 0.5],
    [40.0, 1000.0, 70.0, 1000.0, 0.001, 0.5],
    [40.0, 1000.0, 70.0, 1000.0, 0.01, 3.5],
    [100.0, 1000.0, 100.0, 1000.0, 0.05, 0.0],
    [99.0, 1000.0, 100.0, 1000.0, 0.05, 0.0],
    [100.0, 1000.0, 300.0, 1000.0, 0.01, 0.5],
    [900.0, 1000.0, 699.0, 1000.0, 0.01, 20.0],
    [900.0, 1000.0, 699.0, 1000.0, 0.01, 20.5],
    [1.0, 11.0, 90.0, 107.0, 0.01, 0.5],
    [2000.0, 10701.0, 3001.0, 11006.0, 0.01, 0.5],
    [5.0, 100_000.0, 5.0, 10_000.0, 0.01, 0.0],
    [5.0, 100_000.0, 40.0, 10_000.0, 0.01, 0.0],
    [99.5, 10_000.0, 150.5, 10_000.0, 0.01, 0.5],
    [150.0, 10_000.0, 190.0, 10_000.0, 0.05, 0.0],
    [5_000_000.0, 10_000_000.0, 5_010_000.0, 10_000_000.0, 0.01, 0.05],
    [5_000_000.0, 10_000_000.0, 5_010_000.0, 10_000_000.0, 0.01, 0.2],
    [20.0, 1e12, 70.0, 1e12, 0.01, 0.5],
    [1e6, 1e6, 1e6, 1e12, 0.01, 0.0],
    [3.0, 1e15, 30.0, 1e15, 0.01, 0.5],
    [9_990.0, 10_000.0, 9_950.0, 10_000.0, 0.01, 0.0],
];

pub(crate) fn all() -> Vec<Example> {
    let example = |&[x, n, y, m, alpha, min_effect]: &[f64; 6]| {
        let (before, after) = (Count { hits: x, of: n }, Count { hits: y, of: m });
        let limits = Limits { alpha, min_effect };
        let p = compare_shares(before, after, alpha).p;
        Example { before, after, limits, p, is_sure: judge_shares(&[(before, after)], limits)[0] }
    };
    GIVEN.iter().map(example).collect()
}

fn as_json(examples: &[Example]) -> String {
    let line = |e: &Example| {
        serde_json::json!({
            "before_hits": e.before.hits, "before_total": e.before.of,
            "after_hits": e.after.hits, "after_total": e.after.of,
            "alpha": e.limits.alpha, "min_effect": e.limits.min_effect,
            "p": format!("{:.9e}", e.p).parse::<f64>().unwrap(), "is_sure": e.is_sure,
        })
        .to_string()
    };
    format!("[\n{}\n]\n", examples.iter().map(line).collect::<Vec<_>>().join(",\n"))
}

#[test]
fn the_shared_examples_are_these() {
    let examples = all();
    assert!(examples.iter().filter(|example| example.is_sure).count() >= 8);
    assert!(examples.iter().filter(|example| !example.is_sure).count() >= 8);
    let text = as_json(&examples);
    if std::env::var_os("FG_BLESS").is_some() {
        std::fs::write(PATH, &text).unwrap();
    }
    let known = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(
        known == text,
        "to write tests/fixtures/significance.json anew: FG_BLESS=1 cargo test --lib examples"
    );
}
