//! The method of the judgement: times of samples, blocks, several runs, interrupts.

use super::{Files, run};
use serde_json::Value;

/// Samples of a program in phases: for each phase the function, and how many samples it lasts. perf script
/// text, a sample a millisecond.
fn recording(phases: &[(&str, usize)]) -> String {
    let mut text = String::new();
    let mut at = 0;
    for (function, samples) in phases {
        for _ in 0..*samples {
            at += 1;
            let (seconds, micros) = (at / 1000, at % 1000 * 1000);
            text.push_str(&format!(
                "app 7 {seconds}.{micros:06}: 1000000 cpu-clock: \n\t1000 {function} (/app)\n\t2000 main (/app)\n\n"
            ));
        }
    }
    text
}

/// Phases of about 25 samples in an order by chance, in which `hot` has this share.
fn phases(seed: u64, share: f64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut uniform = move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    };
    let list: Vec<(&str, usize)> = (0..80)
        .map(|_| {
            let function = if uniform() < share { "hot" } else { "cold" };
            (function, 1 + (-25.0 * (1.0 - uniform()).ln()) as usize)
        })
        .collect();
    recording(&list)
}

fn report(arguments: &[&str]) -> Value {
    let run = run(&[&["--format=json", "-q"], arguments].concat(), "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

fn significant(report: &Value) -> usize {
    let rows = report["rows"].as_array().unwrap();
    let is = |row: &&Value| row["significant"] == true || row["suspected"] == true;
    rows.iter().filter(is).count()
}

#[test]
fn phases_are_no_change_where_times_are_known() {
    let files = Files::new();
    let (mut with_times, mut without) = (0, 0);
    for seed in 1..=20 {
        let before = files.put("before", phases(2 * seed, 0.4));
        let after = files.put("after", phases(2 * seed + 1, 0.4));
        let timed = report(&[&before, &after]);
        assert!(timed["assumption"].as_str().unwrap().contains("blocks of time"), "{}", timed["assumption"]);
        assert!(timed["assumption"].as_str().unwrap().contains(", as sure as "), "{}", timed["assumption"]);
        with_times += usize::from(significant(&timed) > 0);
        let folded = |path: &str, name: &str| {
            let collapsed = super::run_program(env!("CARGO_BIN_EXE_fg-collapse"), &[path], "");
            files.put(name, collapsed.stdout)
        };
        let assumed = report(&[&folded(&before, "b.folded"), &folded(&after, "a.folded")]);
        assert!(assumed["assumption"].as_str().unwrap().contains("assuming independent samples"));
        without += usize::from(significant(&assumed) > 0);
    }
    // As independent samples most of these pairs differ for sure.
    assert!(with_times <= 1 && without >= 10, "{with_times} {without}");
}

#[test]
fn a_change_beyond_the_phases_is_found() {
    let files = Files::new();
    let before = files.put("before", phases(3, 0.1));
    let after = files.put("after", phases(4, 0.7));
    let found = report(&[&before, &after]);
    assert_eq!(found["rows"][0]["name"], "cold");
    assert_eq!(significant(&found), 2);
}

#[test]
fn labels_of_time_are_times() {
    let files = Files::new();
    let text = |seed: u64| {
        let recording = files.put("recording", phases(seed, 0.4));
        let collapsed =
            super::run_program(env!("CARGO_BIN_EXE_fg-collapse"), &["--no-header", &recording], "");
        assert_eq!(collapsed.status, 0);
        let mut out = String::from("# labels: thread, time\n# unit: ns\n# period: 1000000 ns\n");
        let mut function = "";
        let full = phases(seed, 0.4);
        let mut at = 0;
        for line in full.lines().filter(|line| line.starts_with("\t1000 ")) {
            function = line.split(' ').nth(1).unwrap_or(function);
            at += 1;
            let (seconds, millis) = (at / 1000, at % 1000);
            out.push_str(&format!("thread=7;time={seconds:06}.{millis:03}s;main;{function} 1000000\n"));
        }
        out
    };
    let (before, after) = (files.put("b", text(2)), files.put("a", text(3)));
    let labelled = report(&[&before, &after]);
    let recordings = [files.put("b.perf", phases(2, 0.4)), files.put("a.perf", phases(3, 0.4))];
    let recorded = report(&[&recordings[0], &recordings[1]]);
    let hot = |report: &Value| {
        let rows = report["rows"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == "hot").unwrap()["self"].clone()
    };
    assert_eq!(hot(&labelled)["pp"], hot(&recorded)["pp"]);
    assert_eq!(hot(&labelled)["interval_pp"].is_null(), hot(&recorded)["interval_pp"].is_null());
    assert!(
        labelled["assumption"].as_str().unwrap().contains("blocks of time"),
        "{}",
        labelled["assumption"]
    );
    // No label is a function.
    let names: Vec<&str> =
        labelled["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(names.iter().all(|name| !name.contains('=')) && names.contains(&"hot"), "{names:?}");
    // What is written for fg-render has no times: those of two recordings are not the same.
    let joined = run(&[&before, &after], "");
    assert!(joined.stdout.contains("\nthread=7;main;hot "), "{}", joined.stdout);
    assert!(!joined.stdout.contains("time=") && joined.stdout.contains("# labels: thread\n"));
}

#[test]
fn code_that_one_run_a_side_saw_move_is_not_called_slower() {
    let files = Files::new();
    let before = files.put("before", "main 7\nmain;work 1500\nmain;work;leaf 400\nmain;rest 3000\n");
    let headline = |after: &str| {
        let after = files.put("after", after);
        run(&["--table", "-q", &before, &after], "").stdout.lines().next().unwrap().to_owned()
    };
    let inlined = headline("main 7\nmain;work 1900\nmain;rest 3000\n");
    assert!(
        inlined.contains("not sure by one run a side: with code of what it called: work +400"),
        "{inlined}"
    );
    let slower = headline("main 7\nmain;work 2100\nmain;work;leaf 400\nmain;rest 3000\n");
    assert!(slower.contains("not sure by one run a side: slower: work +600"), "{slower}");
    // It took the code in, and costs more than both did.
    let both = headline("main 7\nmain;work 2150\nmain;rest 3000\n");
    assert!(both.contains("not sure by one run a side: slower: work +650"), "{both}");
}

#[test]
fn three_runs_find_what_one_finds_and_five_do() {
    let files = Files::new();
    // Forty functions of shares one over their rank; `f01` works half as long again after.
    let side = |name: &str, count: u64, factor: f64| -> Vec<String> {
        let one = |seed: u64| {
            let line = |n: u64| {
                let share = 3000.0 / (n as f64 + 1.0) * if n == 1 { factor } else { 1.0 };
                // A spread of about that of independent samples, without chance.
                let jitter = ((seed * 7 + n * 13) % 5) as f64 / 2.0 - 1.0;
                format!("main;f{n:02} {}\n", (share + jitter * share.sqrt()).round())
            };
            files.put(&format!("{name}{seed}"), (0..40).map(line).collect::<String>())
        };
        (0..count).map(one).collect()
    };
    for count in [1, 3, 5] {
        let (before, after) = (side("before", count, 1.0), side("after", count, 1.5));
        let mut arguments = vec!["--before"];
        arguments.extend(before.iter().map(String::as_str));
        arguments.push("--after");
        arguments.extend(after.iter().map(String::as_str));
        let found = report(&arguments);
        let first = &found["rows"][0];
        assert_eq!(first["name"], "f01", "{count}");
        // One run a side does not tell how much runs differ.
        assert_eq!((&first["significant"], &first["suspected"]), (&(count > 1).into(), &(count == 1).into()));
    }
}

#[test]
fn interrupts_are_one_row_that_is_no_verdict() {
    let files = Files::new();
    let before = files.put("before", "main;f 5000\nmain;f;asm_sysvec_apic_timer_interrupt;rcu_core 10\n");
    let after = files.put(
        "after",
        "main;f 5000\nmain;f;asm_sysvec_apic_timer_interrupt;rcu_core 300\nmain;f;schedule;finish_task_switch.isra.0 400\n",
    );
    let found = report(&["--absolute", &before, &after]);
    let rows = found["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"[interrupts]") && !names.contains(&"rcu_core"), "{names:?}");
    let row = rows.iter().find(|row| row["name"] == "[interrupts]").unwrap();
    assert_eq!((row["self"]["before"].as_str(), row["self"]["after"].as_str()), (Some("10"), Some("700")));
    assert!(row["self"]["p"].is_null() && row["self"]["significant"] == false);
    // The caller that waits is the program's.
    assert!(names.contains(&"schedule"), "{names:?}");
}

/// Files of 63 bytes that took days, or whose sums did not fit 64 bits.
#[test]
fn huge_counts_are_judged_at_once() {
    let files = Files::new();
    for (before, after) in [
        ("a 1000000\nb 1\n", "a 1000000\nb 999999999999999999\n"),
        ("a 18446744073709551615\nb 1\n", "a 18446744073709551615\nb 3\n"),
        ("a 1\nb 18446744073709551615\n", "a 9999999999999999999\nb 18446744073709551615\n"),
        ("a 3\n", "a 999999999999999999999\nb 7\n"),
    ] {
        let (before, after) = (files.put("before", before), files.put("after", after));
        let report = report(&["--absolute", &before, &after]);
        for row in report["rows"].as_array().unwrap() {
            let p = row["self"]["p"].as_f64().unwrap_or(0.5);
            assert!((0.0..=1.0).contains(&p), "{row}");
        }
    }
}
