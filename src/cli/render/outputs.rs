//! The outputs of a run: which formats they have, and that all of them appear or none.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::args::OutputArgs;
use crate::cli::output::Output;
use crate::cli::terminal::fit;
use crate::error::{Error, Result};
use crate::render::Format;
use crate::render::writer::Target;

/// Enough for system calls not to matter.
const BUFFER: usize = 64 * 1024;

impl OutputArgs {
    /// The outputs, none of them opened yet; `unnamed` is the format of one that does not tell.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] for an ending that tells no format, for `--format` with several
    /// outputs, and for one that is named twice.
    pub fn choose(&self, unnamed: &str) -> Result<Vec<(Option<&Path>, &'static Format)>> {
        let setting = |what: String| Err(Error::setting(what));
        if let [_, second, ..] = &self.output[..]
            && self.format.is_some()
        {
            let second = second.display();
            return setting(format!("--format is for one output; the ending of {second} says its own"));
        }
        if self.output.is_empty() {
            return Ok(vec![(None, self.format_of(None, unnamed)?)]);
        }
        for (n, path) in self.output.iter().enumerate() {
            if self.output[..n].contains(path) {
                return setting(format!("the output {} is named twice", path.display()));
            }
        }
        self.output
            .iter()
            .map(|path| Ok((Some(path.as_path()), self.format_of(Some(path), unnamed)?)))
            .collect()
    }

    /// Returns true if the output is a terminal and was not named: a person looks at it.
    pub fn goes_to_person(&self) -> bool {
        self.output.is_empty() && io::stdout().is_terminal()
    }

    fn format_of(&self, path: Option<&Path>, unnamed: &str) -> Result<&'static Format> {
        if let Some(name) = &self.format {
            return Format::by_name(name);
        }
        match path {
            Some(path) => Format::of_file(path, unnamed),
            None => Format::by_name(unnamed),
        }
    }
}

/// An output being written; it stays hidden until it is complete, unless it can only be written once.
pub struct Pending {
    output: Output,
    begin: u64,
    /// The bytes of an output that cannot be taken back once written, such as a pipe.
    spool: Option<File>,
    buffer: Vec<u8>,
    /// The columns that lines are cut to, of a table on a terminal.
    columns: Option<usize>,
}

impl Pending {
    /// Opens an output; what is `streamed` to it may start over.
    ///
    /// # Errors
    /// An I/O error, with the file's name.
    pub fn open(path: Option<&Path>, streamed: bool) -> Result<Pending> {
        let output = Output::new(path)?;
        let spool = match streamed && !output.can_start_over() {
            true => Some(tempfile::tempfile().map_err(|e| Error::io("make a temporary file", e))?),
            false => None,
        };
        Ok(Pending {
            begin: output.begin(),
            output,
            spool,
            buffer: Vec::with_capacity(BUFFER),
            columns: None,
        })
    }

    /// On a terminal, shows control characters instead of sending them.
    pub fn showing_controls(self) -> Pending {
        Pending { output: self.output.showing_controls(), ..self }
    }

    /// Cuts lines to the width of a terminal.
    pub fn fit(self, columns: Option<usize>) -> Pending {
        Pending { columns, ..self }
    }

    /// The output itself.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Writes what is buffered and spooled; a file is still to be put in its place.
    fn settle(&mut self) -> Result<()> {
        if let Some(columns) = self.columns {
            let text = fit(&String::from_utf8_lossy(&self.buffer), columns);
            self.buffer = text.into_bytes();
        }
        self.empty_buffer()?;
        let Some(spool) = &mut self.spool else { return Ok(()) };
        spool.seek(SeekFrom::Start(0))?;
        self.buffer.resize(BUFFER, 0);
        loop {
            match spool.read(&mut self.buffer)? {
                0 => return Ok(()),
                n => self.output.write_all(&self.buffer[..n])?,
            }
        }
    }

    fn empty_buffer(&mut self) -> io::Result<()> {
        match &mut self.spool {
            Some(spool) => spool.write_all(&self.buffer)?,
            None => self.output.write_all(&self.buffer)?,
        }
        self.buffer.clear();
        Ok(())
    }
}

/// Puts all outputs in their places, or none.
///
/// # Errors
/// An I/O error, with the file's name.
pub fn finish(mut outputs: Vec<Pending>) -> Result<()> {
    outputs.iter_mut().try_for_each(Pending::settle)?;
    Output::finish_all(outputs.into_iter().map(|pending| pending.output).collect())
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.columns.is_some() {
            // Cut once, at the end: tables of megabytes are not read on a terminal.
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        if self.buffer.len() + bytes.len() > BUFFER {
            self.empty_buffer()?;
        }
        if bytes.len() < BUFFER {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        match &mut self.spool {
            Some(spool) => spool.write_all(bytes),
            None => self.output.write_all(bytes),
        }
    }

    /// Does nothing: an output is only read when it is complete.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Target for Pending {
    fn start_over(&mut self) -> Result<()> {
        self.buffer.clear();
        match &mut self.spool {
            Some(spool) => {
                spool.set_len(0)?;
                spool.seek(SeekFrom::Start(0))?;
                Ok(())
            }
            None => self.output.start_over(self.begin),
        }
    }
}
