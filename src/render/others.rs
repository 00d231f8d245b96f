//! `[other]` in tables for people: it is no function, and stands behind them with its weight.

use super::columns::share;
use super::functions::Row;
use crate::folded::{Columns, OTHER, Weights};

/// Takes the row of what weighed too little to be kept out of the rows of functions.
pub fn take_others<'a>(rows: &mut Vec<Row<'a>>) -> Option<Row<'a>> {
    let at = rows.iter().position(|row| row.name == OTHER)?;
    Some(rows.remove(at))
}

/// The share of that row, for people.
pub fn remark(others: &Row<'_>, all: Weights, columns: Columns) -> String {
    let after = share(others.total.value, all.value);
    let shares = match columns {
        Columns::One => after,
        Columns::Two => format!("{} before, {after} after", share(others.total.before, all.before)),
    };
    format!("not listed: [other], what weighed too little to be kept, {shares}")
}

#[cfg(test)]
mod tests {
    use crate::Profile;
    use crate::render::Settings;

    fn rendered(format: &str, text: &str, settings: &Settings) -> String {
        let mut out = Vec::new();
        Profile::from_bytes(text).unwrap().render(format, settings, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn tables_for_people_list_functions_and_say_the_weight_of_the_others() {
        let text = "[other] 50\nmain;a 30\nmain;b 15\nmain;b;[other] 5\n";
        for (format, functions) in
            [("top", "total 100, 3 functions\n"), ("brief", "self weight, of 3:\n"), ("markdown", "")]
        {
            let out = rendered(format, text, &Settings::default());
            let table = out.split("Call tree").next().unwrap().split("call tree").next().unwrap();
            assert!(table.contains(functions), "{format}: {out}");
            let remark = "not listed: [other], what weighed too little to be kept, 55.00%";
            let lines: Vec<_> = table.lines().filter(|line| line.contains("[other]")).collect();
            assert_eq!(lines, [remark], "{format}: {out}");
            assert!(table.find("main").unwrap() < table.find(remark).unwrap(), "{format}: {out}");
            assert!(
                !rendered(format, "main;a 30\n", &Settings::default()).contains("not listed"),
                "{format}"
            );
        }
    }

    #[test]
    fn the_others_of_both_sides_have_both_shares() {
        let text = "[other] 10 20\nmain 90 80\n";
        for format in ["top", "brief", "markdown"] {
            let out = rendered(format, text, &Settings::default());
            assert!(out.contains("too little to be kept, 10.00% before, 20.00% after\n"), "{format}: {out}");
        }
    }

    #[test]
    fn the_limit_counts_functions() {
        let mut settings = Settings::default();
        settings.table.limit = Some(1);
        let out = rendered("top", "[other] 50\na 30\nb 20\n", &settings);
        assert!(out.contains("  a\n") && out.contains("\n1 more; "), "{out}");
    }

    #[test]
    fn rows_for_programs_add_up() {
        let out = rendered("tsv", "[other] 50\na 30\n", &Settings::default());
        assert!(out.contains("[other]\t50") || out.contains("50\t50\t[other]"), "{out}");
    }
}
