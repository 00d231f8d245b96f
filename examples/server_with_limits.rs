//! A server that draws the recordings that strangers upload, within limits:
//!
//! ```sh
//! cargo run --example server_with_limits -- 127.0.0.1:8080 &
//! curl --data-binary @perf.data http://127.0.0.1:8080/ > flames.svg
//! ```

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use fg_tools::render::SvgOptions;
use fg_tools::{Error, ErrorKind, Limits, Profile, ReadOptions, Result, Source};

/// The largest upload, as it comes.
const LARGEST: u64 = 64 << 20;

/// The status of an answer, and a picture or a message.
pub fn answer(upload: impl Read, limits: Limits) -> (u16, Vec<u8>) {
    match draw(upload, limits) {
        Ok(picture) => (200, picture),
        Err(error) => (status(&error), format!("{error}\n").into_bytes()),
    }
}

fn draw(upload: impl Read, limits: Limits) -> Result<Vec<u8>> {
    let options = ReadOptions::default().limits(limits);
    let profile = Source::scoped("upload", upload, |source| Profile::read(&[source], &options))??;
    let mut picture = Vec::new();
    profile.svg(&SvgOptions::default(), &mut picture)?;
    Ok(picture)
}

/// The status of HTTP for an error.
fn status(error: &Error) -> u16 {
    match error.kind() {
        ErrorKind::Limit(_) | ErrorKind::TooLong { .. } => 413,
        ErrorKind::Unrecognised | ErrorKind::KnownUnsupported { .. } => 415,
        ErrorKind::Io { .. } => 400,
        _ => 422,
    }
}

/// Answers one request.
pub fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    let mut line = String::new();
    while reader.by_ref().take(8 << 10).read_line(&mut line)? > 2 {
        if let Some((key, value)) = line.split_once(':')
            && key.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let (status, body) = match length {
        0..=LARGEST => answer(reader.take(length), Limits::upload()),
        _ => (413, b"the upload is too large\n".to_vec()),
    };
    let kind = if status == 200 { "image/svg+xml" } else { "text/plain" };
    let length = body.len();
    write!(stream, "HTTP/1.0 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n")?;
    stream.write_all(&body)
}

#[allow(dead_code)] // The tests call `answer` and `serve`.
fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    for stream in TcpListener::bind(address)?.incoming() {
        if let Err(error) = serve(stream?) {
            eprintln!("{error}");
        }
    }
    Ok(())
}
