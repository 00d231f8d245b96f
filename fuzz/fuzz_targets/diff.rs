//! The two ways to put profiles side by side, on whatever folded texts come: the fast one, for
//! what it takes to be plain and in order, must write what the thorough one writes.
//!
//! The texts stand one behind the other, with a zero byte between.
#![no_main]

use fg_tools::diff::{Pair, Plan};
use fg_tools::folded::{Columns, parse_line};
use fg_tools::input::Source;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(end) = data.iter().position(|&b| b == 0) else { return };
    let file = |name: &str, text: &[u8]| {
        let path = std::env::temp_dir().join(format!("fg-fuzz-diff-{name}-{}", std::process::id()));
        std::fs::write(&path, text).expect("a temporary file");
        Source::new(&path)
    };
    let (before, after) = (file("before", &data[..end]), file("after", &data[end + 1..]));
    let fast = Plan::make(&before, &after).expect("files can be read").map(|plan| {
        let mut out = Vec::new();
        plan.carry_out(&before, &after, &mut out).expect("the same files once more");
        out
    });
    let (before, after) = ([before], [after]);
    let mut thorough = Vec::new();
    let joined = Pair::open(&before, &after, None, false).and_then(|pair| {
        pair.join(None, &mut |stack, weights| {
            thorough.extend_from_slice(stack);
            thorough.push(b' ');
            weights.before.write_to(&mut thorough);
            thorough.push(b' ');
            weights.value.write_to(&mut thorough);
            thorough.push(b'\n');
            Ok(())
        })
    });
    match joined {
        Ok(_) => {
            for line in thorough.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
                assert!(parse_line(line, Columns::Two).is_some(), "{}", String::from_utf8_lossy(line));
            }
            if let Some(fast) = fast {
                assert_eq!(String::from_utf8_lossy(&fast), String::from_utf8_lossy(&thorough));
            }
        }
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "a message is one line: {error}");
            assert!(fast.is_none(), "{error}");
        }
    }
});
