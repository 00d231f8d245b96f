//! Words that are spelled alike: the names that a user may have meant.

/// The most names to suggest.
const MOST: usize = 4;

/// The names that are spelled nearly as a word, as a whole or in one of their parts: `perf-data` for `prf`.
pub fn near<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    let limit = if word.len() < 6 { 1 } else { 2 };
    let far = |name: &str| name.split('-').chain([name]).map(|part| distance(&word, part)).min();
    let mut all: Vec<(usize, &str)> = names.filter_map(|name| Some((far(name)?, name))).collect();
    all.retain(|(far, _)| *far <= limit);
    // The order of names that are equally near is that of the list.
    all.sort_by_key(|(far, _)| *far);
    all.into_iter().map(|(_, name)| name).take(MOST).collect()
}

/// The number of letters to add, remove, replace or swap to make one word of another.
pub fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for n in 1..=one.len() {
        let mut row = vec![n];
        for m in 1..=other.len() {
            let replaced = rows[n - 1][m - 1] + usize::from(one[n - 1] != other[m - 1]);
            let mut best = replaced.min(rows[n - 1][m] + 1).min(row[m - 1] + 1);
            if n > 1 && m > 1 && one[n - 1] == other[m - 2] && one[n - 2] == other[m - 1] {
                best = best.min(rows[n - 2][m - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        for (one, other, expected) in
            [("", "abc", 3), ("kitten", "sitting", 3), ("title", "title", 0), ("tilte", "title", 1)]
        {
            assert_eq!(distance(one, other), expected);
            assert_eq!(distance(other, one), expected);
        }
    }

    #[test]
    fn near_names_are_alike_in_a_part() {
        let names = ["perf-data", "perf-script", "jfr", "speedscope", "folded"];
        let found = |word: &str| near(word, names.into_iter()).join(" ");
        assert_eq!(found("prf"), "perf-data perf-script");
        assert_eq!(found("JFR"), "jfr");
        assert_eq!(found("sepedscope"), "speedscope");
        assert_eq!(found("xyzzy"), "");
    }
}
