//! Something to read from, not yet opened.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::stdin::{stdin, stdin_is_file};
use super::{Input, InputMeter, Kept, decompress};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::limits::Meter;
use crate::weight::Weight;

/// Something to read from, not yet opened: a path, standard input, an open file, bytes, or a reader.
///
/// ```
/// use fg_tools::Source;
///
/// let bytes = Source::bytes("main;parse 42\n");
/// let reader = Source::reader("socket", std::io::Cursor::new(vec![0; 4]));
/// assert!(bytes.is_rereadable() && !reader.is_rereadable());
/// ```
#[derive(Clone)]
pub struct Source {
    name: Arc<str>,
    origin: Origin,
    factor: Weight,
    meter: Option<Arc<Meter>>,
}

/// The place of a source's bytes.
#[derive(Clone)]
enum Origin {
    Stdin,
    Path(PathBuf),
    File(Arc<File>),
    Bytes(Shared),
    /// Taken when it is first opened.
    Once(Arc<Mutex<Option<Once>>>),
}

/// The error of a file by the folders that it is in, `app.trace/form.template`, or of a folder by its name with a slash
/// behind it: recordings of Instruments are such folders, and are not read.
pub(crate) fn known_folder(path: &str) -> Option<ErrorKind> {
    let what = "a recording of Instruments of macOS";
    let instead = "export its samples there: xctrace export --input FILE.trace --output out.xml \
                   --xpath '/trace-toc/run/data/table[@schema=\"time-profile\"]'";
    path.contains(".trace/").then_some(ErrorKind::KnownUnsupported { what, instead })
}

/// Bytes that all clones of a source share.
#[derive(Clone)]
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A source that can be read once.
enum Once {
    Reader(Box<dyn Read + Send>),
    /// An input that was opened to look at its first bytes.
    Input(Box<Input>),
}

impl Source {
    /// A command line argument: `-` is standard input, everything else a path.
    pub fn new(argument: impl AsRef<Path>) -> Self {
        match argument.as_ref() {
            path if path == Path::new("-") => Source::stdin(),
            path => Source::path(path),
        }
    }

    /// Standard input.
    pub fn stdin() -> Self {
        Source::of("standard input".into(), Origin::Stdin)
    }

    /// A file, a named pipe, a device.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Source::of(path.to_string_lossy().into(), Origin::Path(path))
    }

    /// An open file, read from its beginning, under a name for messages.
    pub fn file(name: impl Into<Arc<str>>, file: File) -> Self {
        Source::of(name.into(), Origin::File(Arc::new(file)))
    }

    /// Bytes in memory; messages call them `input`. A vector is taken as it is, and not copied.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Source::of("input".into(), Origin::Bytes(Shared(Arc::new(bytes.into()))))
    }

    /// A reader, which can be opened once, under a name for messages. [`Source::scoped`] takes one that is borrowed.
    pub fn reader(name: impl Into<Arc<str>>, reader: impl Read + Send + 'static) -> Self {
        Source::once(name.into(), Once::Reader(Box::new(reader)))
    }

    fn once(name: Arc<str>, once: Once) -> Self {
        Source::of(name, Origin::Once(Arc::new(Mutex::new(Some(once)))))
    }

    /// An input that was opened already, which can be opened once.
    pub(crate) fn opened(input: Input) -> Self {
        Source::once(input.name().clone(), Once::Input(Box::new(input)))
    }

    fn of(name: Arc<str>, origin: Origin) -> Self {
        Source { name, origin, factor: Weight::ONE, meter: None }
    }

    /// Multiplies the weights of the source, which counts for more or less than others of the same profile.
    pub fn weighted(self, factor: Weight) -> Self {
        Source { factor, ..self }
    }

    /// The factor of all its weights.
    pub fn factor(&self) -> Weight {
        self.factor
    }

    /// The same source, read within the limits of a reading.
    pub(crate) fn metered(self, meter: Option<Arc<Meter>>) -> Self {
        Source { meter, ..self }
    }

    /// The limits of the reading it belongs to.
    pub(crate) fn meter(&self) -> Option<&Arc<Meter>> {
        self.meter.as_ref()
    }

    /// The bytes of the source as another source, which is read in its stead.
    fn instead(&self, source: Source) -> Source {
        Source { name: source.name, origin: source.origin, ..self.clone() }
    }

    /// Renames the source for messages.
    pub fn named(self, name: impl Into<Arc<str>>) -> Self {
        Source { name: name.into(), ..self }
    }

    /// Command line arguments as sources; none at all is standard input.
    pub fn list(arguments: &[PathBuf]) -> Vec<Source> {
        match arguments {
            [] => vec![Source::stdin()],
            paths => paths.iter().map(Source::new).collect(),
        }
    }

    /// The name to use in messages.
    pub fn name(&self) -> Arc<str> {
        self.name.clone()
    }

    /// Returns true for standard input.
    pub fn is_stdin(&self) -> bool {
        matches!(self.origin, Origin::Stdin)
    }

    /// Opens the source to look at its first bytes, and returns a source that can be opened again: of
    /// a pipe, with the bytes that were read.
    ///
    /// # Errors
    /// Those of [`Source::open`], and of `look`.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Input) -> Result<T>) -> Result<(Source, T)> {
        let input = self.open()?;
        let seen = look(&input)?;
        if self.is_rereadable() {
            return Ok((self.clone(), seen));
        }
        Ok((self.instead(Source::opened(input)), seen))
    }

    /// The same source, such that it can be opened again: of a pipe the bytes are kept, if there are at
    /// most so many. A longer one can still be opened once.
    ///
    /// # Errors
    /// Those of [`Source::open`], and the system's.
    pub(crate) fn kept(&self, most: usize) -> Result<Source> {
        if self.is_rereadable() {
            return Ok(self.clone());
        }
        let Input { name, head, rest, live, .. } = self.open()?;
        let mut all = io::Cursor::new(head).chain(rest);
        let mut bytes = Vec::new();
        let failed = |e| decompress::error(e).or_at(|| Position::file(name.clone()));
        if !live {
            all.by_ref().take(most as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        }
        let source = match !live && bytes.len() <= most {
            true => Source::bytes(bytes).named(name),
            false => Source::reader(name, io::Cursor::new(bytes).chain(all)),
        };
        Ok(self.instead(source))
    }

    /// Opens a pipe such that up to `most` of its bytes are kept as they are read. The source that is
    /// returned can be opened once.
    ///
    /// # Errors
    /// Those of [`Source::open`].
    pub(crate) fn keeping(&self, most: usize) -> Result<(Source, Kept)> {
        let mut input = self.open()?;
        if !input.live {
            (input.kept, input.rest) = Kept::of(&input.head, input.rest, most);
        }
        let kept = input.kept.clone();
        Ok((self.instead(Source::opened(input)), kept))
    }

    /// Opens the source and reads its first bytes, decompressed as often as it was compressed.
    ///
    /// # Errors
    /// The system's, with the file's name.
    pub fn open(&self) -> Result<Input> {
        let name = self.name();
        let at = || Position::file(name.clone());
        let opening = |e| Error::io("open", e).or_at(at);
        let mut plain = None;
        let reader: Box<dyn Read + Send> = match &self.origin {
            Origin::Stdin => {
                let (reader, file) = stdin().map_err(|e| Error::io("read", e).or_at(at))?;
                plain = file;
                reader
            }
            Origin::Path(path) => {
                let file = File::open(path).map_err(opening)?;
                let kind = file.metadata().map_err(opening)?;
                if kind.is_dir() {
                    // `perf record --threads` writes one recording into the files of a folder.
                    let data = path.join("data");
                    if data.is_file() {
                        let input = Source::path(data).metered(self.meter.clone()).open()?;
                        return Ok(Input { folder: Some(path.clone()), ..input });
                    }
                    if let Some(known) = known_folder(&format!("{name}/")) {
                        return Err(Error::new(known, at()));
                    }
                    let error =
                        io::Error::other("it is a directory; fg-collapse -r reads the recordings in it");
                    return Err(Error::io("read", error).or_at(at));
                }
                if kind.is_file() {
                    plain = file.try_clone().ok().map(|file| (file, 0));
                }
                Box::new(file)
            }
            Origin::File(file) => {
                let mut file = file.try_clone().map_err(opening)?;
                if file.metadata().is_ok_and(|kind| kind.is_file()) {
                    use std::io::Seek;
                    file.rewind().map_err(opening)?;
                    plain = file.try_clone().ok().map(|file| (file, 0));
                }
                Box::new(file)
            }
            Origin::Bytes(bytes) => Box::new(io::Cursor::new(bytes.clone())),
            Origin::Once(once) => match once.lock().expect("no thread panics").take() {
                Some(Once::Input(input)) => return Ok(*input),
                Some(Once::Reader(reader)) => reader,
                None => return Err(opening(io::Error::other("it can be read once only"))),
            },
        };
        let meter = self.meter.as_ref().map(|meter| InputMeter::new(meter.clone()));
        let mut input = Input::metered(name, reader, meter)?;
        if !input.compressed {
            input.file = plain;
            input.check_size()?;
        }
        Ok(input)
    }

    /// Returns true if [`Source::open`] can open the same bytes once more: for bytes and files, standard
    /// input from a file among them, not for pipes and readers.
    pub fn is_rereadable(&self) -> bool {
        match &self.origin {
            Origin::Stdin => stdin_is_file(),
            Origin::Path(path) => std::fs::metadata(path).is_ok_and(|kind| kind.is_file() || kind.is_dir()),
            Origin::File(file) => file.metadata().is_ok_and(|kind| kind.is_file()),
            Origin::Bytes(_) => true,
            Origin::Once(_) => false,
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({:?})", self.name)
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Source {
    /// [`Source::new`].
    fn from(argument: &P) -> Self {
        Source::new(argument)
    }
}
