//! The text format of LLVM's sample profiles, as llvm/ProfileData/SampleProfReader.h describes it.
//!
//! ```text
//! main:184019:0                    function: total: calls of it
//!  4: 534                          line from the function's first: count
//!  4.2: 534                        line and discriminator
//!  9: 2064 _Z3bar:1471 _Z3foo:631  what was called from there
//!  10: inline1:1000                a function inlined there: total
//!   1: 1000
//! ```

use std::cmp::Reverse;
use std::io::Write;

use super::line::Line;
use super::samples::{FunctionSamples, Functions, Name};
use crate::error::Result;

/// Writes the functions, those with the largest totals first.
///
/// # Errors
/// The writer's.
pub(super) fn write(functions: &Functions, out: &mut dyn Write) -> Result<()> {
    let mut sorted: Vec<(&Name, &FunctionSamples)> = functions.iter().collect();
    sorted.sort_by_key(|(_, function)| Reverse(function.total));
    for (name, function) in sorted {
        out.write_all(name)?;
        writeln!(out, ":{}:{}", function.total, function.head)?;
        write_lines(function, 1, out)?;
    }
    Ok(())
}

fn write_lines(function: &FunctionSamples, depth: usize, out: &mut dyn Write) -> Result<()> {
    for (line, body) in &function.body {
        write_line(*line, depth, out)?;
        write!(out, "{}", body.count)?;
        let mut targets: Vec<_> = body.targets.iter().collect();
        targets.sort_by_key(|(_, count)| Reverse(**count));
        for (name, count) in targets {
            out.write_all(b" ")?;
            out.write_all(name)?;
            write!(out, ":{count}")?;
        }
        writeln!(out)?;
    }
    for (line, functions) in &function.inlined {
        for (name, function) in functions {
            write_line(*line, depth, out)?;
            out.write_all(name)?;
            writeln!(out, ":{}", function.total)?;
            write_lines(function, depth + 1, out)?;
        }
    }
    Ok(())
}

fn write_line(line: Line, depth: usize, out: &mut dyn Write) -> Result<()> {
    write!(out, "{:depth$}{}", "", line.offset)?;
    if line.discriminator > 0 {
        write!(out, ".{}", line.discriminator)?;
    }
    Ok(out.write_all(b": ")?)
}

#[cfg(test)]
mod tests {
    use super::super::samples::Body;
    use super::*;

    #[test]
    fn the_heaviest_function_comes_first() {
        let line = |offset, discriminator| Line { offset, discriminator };
        let mut main = FunctionSamples { total: 20, head: 1, ..FunctionSamples::default() };
        main.body.insert(line(3, 0), Body { count: 4, targets: [(Name::from(&b"g"[..]), 4)].into() });
        main.body.insert(line(3, 2), Body { count: 7, ..Body::default() });
        let mut inlined = FunctionSamples { total: 9, ..FunctionSamples::default() };
        inlined.raise(line(1, 0), 9);
        main.inlined.entry(line(5, 0)).or_default().insert(Name::from(&b"f"[..]), inlined);
        let light = FunctionSamples { total: 2, head: 4, ..FunctionSamples::default() };
        let functions = Functions::from([(Name::from(&b"a"[..]), light), (Name::from(&b"main"[..]), main)]);
        let mut out = Vec::new();
        write(&functions, &mut out).unwrap();
        let expected = "main:20:1\n 3: 4 g:4\n 3.2: 7\n 5: f:9\n  1: 9\na:2:4\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
