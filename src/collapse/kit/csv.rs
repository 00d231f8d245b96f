//! Tables of text: cells between delimiters, some of them in quotes.

/// The cells of a line, without the quotes around them; blanks in front of a quote are part of the cell.
pub(crate) fn cells(line: &[u8], delimiter: u8) -> Vec<Vec<u8>> {
    let mut cells = vec![Vec::new()];
    let mut quoted = false;
    let mut bytes = line.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let last = cells.len() - 1;
        match byte {
            b'"' if quoted && bytes.peek() == Some(&b'"') => {
                bytes.next();
                cells[last].push(b'"');
            }
            b'"' if quoted || cells[last].iter().all(|byte| *byte == b' ') => quoted = !quoted,
            byte if byte == delimiter && !quoted => cells.push(Vec::new()),
            byte => cells[last].push(byte),
        }
    }
    cells
}
