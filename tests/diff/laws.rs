//! Laws that hold for any two profiles.

use proptest::prelude::*;

use super::diff;

/// Profiles of a few functions; the weights have a decimal now and then.
fn profile() -> impl Strategy<Value = Vec<(String, u32)>> {
    proptest::collection::vec(("[ab](;[abc ]){0,3}", 1u32..500), 1..12)
}

fn text(profile: &[(String, u32)]) -> String {
    profile.iter().map(|(stack, weight)| format!("x;{stack} {}.{}\n", weight / 10, weight % 10)).collect()
}

/// A weight in units of 0.0001.
fn units(text: &str) -> i64 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{fraction:0<4}").parse().unwrap()
}

fn rows(output: &str) -> Vec<(&str, i64, i64)> {
    output
        .lines()
        .filter(|line| !line.starts_with("# "))
        .map(|line| {
            let mut fields = line.rsplitn(3, ' ');
            let after = units(fields.next().unwrap());
            let before = units(fields.next().unwrap());
            (fields.next().unwrap(), before, after)
        })
        .collect()
}

fn total(profile: &[(String, u32)]) -> i64 {
    profile.iter().map(|(_, weight)| i64::from(*weight) * 1000).sum()
}

/// The function table as (name, self before, self after, total before, total after).
fn table(before: &str, after: &str) -> Vec<(String, [i64; 4])> {
    let tsv = diff(&["--format=tsv", "--absolute", "--sort", "name"], before, after);
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    tsv.lines().skip(1).map(cells).map(|c| (c[0].clone(), [2, 3, 11, 12].map(|n| units(&c[n])))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_profile_does_not_differ_from_itself(x in profile()) {
        let x = text(&x);
        for (stack, before, after) in rows(&diff(&[], &x, &x)) {
            prop_assert_eq!(before, after, "{}", stack);
        }
        for (_, [a, b, c, d]) in table(&x, &x) {
            prop_assert!(a == b && c == d);
        }
        prop_assert!(diff(&["--markdown"], &x, &x).contains("no change; whole "));
        diff(&["--gate", "total>0 self>0 total<0 self<0", "--any"], &x, &x);
    }

    #[test]
    fn swapped_sides_swap_the_columns(x in profile(), y in profile()) {
        let (x, y) = (text(&x), text(&y));
        let there = diff(&["--absolute"], &x, &y);
        let back = diff(&["--absolute"], &y, &x);
        let swapped: Vec<_> = rows(&back).into_iter().map(|(stack, before, after)| (stack, after, before)).collect();
        prop_assert_eq!(rows(&there), swapped);
        let swapped = table(&y, &x).into_iter().map(|(name, [a, b, c, d])| (name, [b, a, d, c]));
        prop_assert_eq!(table(&x, &y), swapped.collect::<Vec<_>>());
    }

    #[test]
    fn totals_add_up(x in profile(), y in profile()) {
        let output = diff(&["--absolute"], &text(&x), &text(&y));
        let joined = rows(&output);
        prop_assert_eq!(joined.iter().map(|row| row.1).sum::<i64>(), total(&x));
        prop_assert_eq!(joined.iter().map(|row| row.2).sum::<i64>(), total(&y));
        let functions = table(&text(&x), &text(&y));
        prop_assert_eq!(functions.iter().map(|(_, row)| row[0]).sum::<i64>(), total(&x));
        prop_assert_eq!(functions.iter().map(|(_, row)| row[1]).sum::<i64>(), total(&y));
        // The root is in every stack, and nothing weighs more: recursion is counted once.
        let root = &functions.iter().find(|(name, _)| name == "x").unwrap().1;
        prop_assert_eq!((root[2], root[3]), (total(&x), total(&y)));
        prop_assert!(functions.iter().all(|(_, row)| row[0] <= row[2] && row[2] <= total(&x)));
    }

    #[test]
    fn normalized_totals_are_equal_and_shares_stay(x in profile(), y in profile()) {
        let output = diff(&["-n"], &text(&x), &text(&y));
        let joined = rows(&output);
        prop_assert_eq!(joined.iter().map(|row| row.1).sum::<i64>(), total(&y));
        let output = diff(&["--normalize=100"], &text(&x), &text(&y));
        let both = rows(&output);
        prop_assert_eq!(both.iter().map(|row| row.1).sum::<i64>(), 1_000_000);
        prop_assert_eq!(both.iter().map(|row| row.2).sum::<i64>(), 1_000_000);
        let output = diff(&["--absolute"], &text(&x), &text(&y));
        let ratio = total(&y) as f64 / total(&x) as f64;
        for (scaled, plain) in joined.iter().zip(rows(&output)) {
            prop_assert!((scaled.1 as f64 - plain.1 as f64 * ratio).abs() <= 20.0, "{scaled:?} {plain:?} {ratio}");
        }
    }

    #[test]
    fn order_and_repetition_of_lines_do_not_matter(x in profile(), y in profile(), by in 0usize..12) {
        let expected = diff(&["--absolute"], &text(&x), &text(&y));
        let mut other = x.clone();
        other.rotate_left(by % x.len());
        prop_assert_eq!(diff(&["--absolute"], &text(&other), &text(&y)), expected);
        prop_assert_eq!(table(&text(&other), &text(&y)), table(&text(&x), &text(&y)));
    }
}
