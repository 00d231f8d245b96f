//! The outputs of a profile: pictures, tables, and files for other viewers.

use std::io::{self, Write};

use crate::error::{Error, Result};
use crate::profile::Profile;
use crate::render::{Format, HtmlOptions, Settings, SvgOptions, Target, write};

impl Profile {
    /// Draws a flame graph to zoom and search in a browser.
    ///
    /// # Errors
    /// Those of `out`, and [`crate::ErrorKind::Overflow`].
    ///
    /// ```
    /// use fg_tools::Profile;
    /// use fg_tools::render::SvgOptions;
    ///
    /// let profile = Profile::from_bytes("main;parse 40\nmain 2\n")?;
    /// let mut picture = Vec::new();
    /// profile.svg(&SvgOptions::default().title("my program"), &mut picture)?;
    /// assert!(String::from_utf8(picture).unwrap().contains("<title>parse (40, 95.24%)</title>"));
    /// # Ok::<(), fg_tools::Error>(())
    /// ```
    pub fn svg(&self, options: &SvgOptions, out: &mut dyn Write) -> Result<()> {
        self.render("svg", options.settings(), out)
    }

    /// Writes a page to explore the whole profile in.
    ///
    /// # Errors
    /// Those of [`Profile::svg`].
    ///
    /// ```
    /// use fg_tools::Profile;
    /// use fg_tools::render::HtmlOptions;
    ///
    /// let profile = Profile::from_bytes("main;parse 40\nmain 2\n")?;
    /// let mut page = Vec::new();
    /// profile.html(&HtmlOptions::default(), &mut page)?;
    /// assert!(page.starts_with(b"<!doctype html>"));
    /// # Ok::<(), fg_tools::Error>(())
    /// ```
    pub fn html(&self, options: &HtmlOptions, out: &mut dyn Write) -> Result<()> {
        self.render("html", options.settings(), out)
    }

    /// Writes a table of the functions by self and total weight.
    ///
    /// # Errors
    /// Those of [`Profile::svg`].
    pub fn top(&self, settings: &Settings, out: &mut dyn Write) -> Result<()> {
        self.render("top", settings, out)
    }

    /// Writes the heaviest functions and a short tree as Markdown.
    ///
    /// # Errors
    /// Those of [`Profile::svg`].
    pub fn markdown(&self, settings: &Settings, out: &mut dyn Write) -> Result<()> {
        self.render("markdown", settings, out)
    }

    /// Writes all stacks and functions as JSON.
    ///
    /// # Errors
    /// Those of [`Profile::svg`].
    pub fn json(&self, settings: &Settings, out: &mut dyn Write) -> Result<()> {
        self.render("json", settings, out)
    }

    /// Writes a gzipped profile.proto, for `go tool pprof` and others.
    ///
    /// # Errors
    /// Those of [`Profile::svg`]; [`crate::ErrorKind::Setting`] for weights that are not whole.
    pub fn pprof(&self, settings: &Settings, out: &mut dyn Write) -> Result<()> {
        self.render("pprof", settings, out)
    }

    /// Writes a file for <https://www.speedscope.app>.
    ///
    /// # Errors
    /// Those of [`Profile::svg`].
    pub fn speedscope(&self, settings: &Settings, out: &mut dyn Write) -> Result<()> {
        self.render("speedscope", settings, out)
    }

    /// Writes a file for <https://profiler.firefox.com>.
    ///
    /// # Errors
    /// Those of [`Profile::svg`].
    pub fn firefox(&self, settings: &Settings, out: &mut dyn Write) -> Result<()> {
        self.render("firefox", settings, out)
    }

    /// Writes an output by the name of its format, one of [`FORMATS`](crate::render::FORMATS).
    /// [`render::write`](crate::render::write) writes several at once.
    ///
    /// # Errors
    /// [`crate::ErrorKind::UnknownFormat`], what `out` says, [`crate::ErrorKind::Overflow`], and
    /// [`crate::ErrorKind::Setting`] for settings that do not fit the profile.
    ///
    /// ```
    /// use fg_tools::Profile;
    /// use fg_tools::render::Settings;
    ///
    /// let profile = Profile::from_bytes("main;parse 40\nmain 2\n")?;
    /// let mut table = Vec::new();
    /// profile.render("tsv", &Settings::default(), &mut table)?;
    /// assert!(table.starts_with(b"name\tself\tself_percent\ttotal\ttotal_percent\tunit\n"));
    /// # Ok::<(), fg_tools::Error>(())
    /// ```
    pub fn render(&self, format: &str, settings: &Settings, out: &mut dyn Write) -> Result<()> {
        let format = Format::by_name(format)?;
        let mut buffer = io::BufWriter::with_capacity(64 * 1024, out);
        write(self, vec![(format, &mut Forward(&mut buffer))], settings)?;
        buffer.flush().map_err(Error::from)
    }
}

/// Hands bytes on. A profile is walked once, in its order: nothing has to be taken back.
struct Forward<'a>(&'a mut dyn Write);

impl Write for Forward<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Target for Forward<'_> {
    fn start_over(&mut self) -> Result<()> {
        Err(Error::io("write", io::Error::other("the output cannot be written again")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_writer_writes_its_own_format() {
        let profile = Profile::from_bytes("main;parse 40\nmain 2\n").unwrap();
        let settings = Settings::default();
        type Writer = fn(&Profile, &Settings, &mut dyn Write) -> Result<()>;
        let writers: [(Writer, &[u8]); 6] = [
            (Profile::top, b"total 42"),
            (Profile::markdown, b"**42**"),
            (Profile::json, b"{"),
            (Profile::pprof, b"\x1f\x8b"),
            (Profile::speedscope, b"{"),
            (Profile::firefox, b"{"),
        ];
        let mut texts = Vec::new();
        for (write, begins) in writers {
            let mut text = Vec::new();
            write(&profile, &settings, &mut text).unwrap();
            assert!(text.starts_with(begins), "{}", String::from_utf8_lossy(&text));
            texts.push(text);
        }
        let count = texts.len();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), count, "no two are one format");
    }
}
