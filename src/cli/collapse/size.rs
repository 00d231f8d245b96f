//! Numbers of bytes on the command line.

/// Reads a number of bytes: `1000000`, `64M`, `2G`.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let (digits, unit) = text.split_at(text.trim_end_matches(|c: char| !c.is_ascii_digit()).len());
    let shift = match unit.trim_end_matches(['B', 'b']).trim_end_matches('i') {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        "t" | "T" => 40,
        _ => return Err("a number of bytes is meant, as in 500M or 4G".to_owned()),
    };
    let number = digits.parse::<usize>().map_err(|e| e.to_string())?;
    number.checked_mul(1 << shift).ok_or_else(|| "more than any memory".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let sizes = ["0", "500", "64M", "2GiB", "1k"].map(|text| size(text).unwrap());
        assert_eq!(sizes, [0, 500, 64 << 20, 2 << 30, 1 << 10]);
        for text in ["", "G", "1.5G", "3X", "99999999T"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
