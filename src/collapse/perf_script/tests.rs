//! Whole recordings, small.
use super::*;
use crate::folded::StackTable;

fn run(text: &[u8], options: &Options) -> (String, Report) {
    let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_owned()))).unwrap();
    let (mut table, mut report) = (StackTable::default(), Report::default());
    PerfScript.collapse(input, options, &mut table, &mut report).unwrap();
    let mut out = Vec::new();
    table.write(&mut out).unwrap();
    (String::from_utf8_lossy(&out).into_owned(), report)
}
