//! Many tests at once: p-values adjusted for their number.

/// Adjusts p-values for their number, by Benjamini and Hochberg: of all that are then below
/// alpha, at most that share is expected to be there by chance.
///
/// ```
/// let mut p = [0.01, 0.5, 0.02, 0.03];
/// fg_tools::significance::adjust(&mut p);
/// assert_eq!(p, [0.04, 0.5, 0.04, 0.04]);
/// ```
pub fn adjust(values: &mut [f64]) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let count = values.len() as f64;
    let mut least = 1.0f64;
    for (rank, &index) in order.iter().enumerate().rev() {
        // Rounding must not make a test more certain than it was alone.
        least = least.min((values[index] * count / (rank as f64 + 1.0)).max(values[index]));
        values[index] = least;
    }
}

/// [`adjust`] with more attention to some tests than to others, by weights whose mean is 1 (Genovese,
/// Roeder and Wasserman 2006). Weights must not depend on the outcome of the tests.
pub(crate) fn adjust_weighted(values: &mut [f64], weights: &[f64]) {
    for (value, weight) in values.iter_mut().zip(weights) {
        *value = if *weight > 0.0 { *value / weight } else { f64::INFINITY };
    }
    adjust(values);
}

/// The weights of tests of these shares, on average 1: proportional to the standard deviation of a sample.
/// A function of 20% of a profile moves by half a point more readily than one of 0.5%.
pub(crate) fn attention(shares: &[f64]) -> Vec<f64> {
    let deviation = |share: &f64| (share * (1.0 - share)).max(0.0).sqrt();
    let sum: f64 = shares.iter().map(deviation).sum();
    if sum <= 0.0 {
        return vec![1.0; shares.len()];
    }
    shares.iter().map(|share| deviation(share) * shares.len() as f64 / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_test_becomes_more_certain() {
        // 0.7611101602231052 * 3 / 3 is less by the last digit.
        for before in [[0.2, 0.7611101602231052, 0.1], [0.0071, 0.7591894786559645, 0.7055418504103883]] {
            let mut after = before;
            adjust(&mut after);
            assert!(before.iter().zip(after).all(|(before, after)| after >= *before), "{before:?} {after:?}");
        }
    }
}
