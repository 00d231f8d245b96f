//! The reading and drawing parts of fg-tools for a browser: bytes of a recording in, a picture out. No files, no
//! threads, and nothing leaves the page.
//!
//! ```sh
//! rustup target add wasm32-unknown-unknown
//! cargo build --release --target wasm32-unknown-unknown --manifest-path wasm/Cargo.toml
//! node wasm/try.mjs wasm/target/wasm32-unknown-unknown/release/fg_tools_wasm.wasm RECORDING
//! ```
//!
//! The interface is three functions and no generated code: [`fg_take`] makes room for a recording, [`fg_draw`] draws
//! it, and [`fg_free`] gives the answer back. `wasm/page.html` and `wasm/try.mjs` call them.
#![warn(missing_docs)]

use fg_tools::render::{HtmlOptions, SvgOptions};
use fg_tools::{Limits, Profile, ReadOptions, Result, Source};

/// The result of [`fg_draw`], three words for the page to read.
#[repr(C)]
pub struct Answer {
    /// 0 for a result, 1 for a message that says why there is none.
    status: u32,
    at: *mut u8,
    len: usize,
}

/// Makes room for a recording of `len` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn fg_take(len: usize) -> *mut u8 {
    Box::into_raw(vec![0u8; len].into_boxed_slice()).cast()
}

/// Draws a recording: 0 is an SVG, 1 a page, 2 folded text. The recording is taken.
///
/// # Safety
/// The pointer and the length are those of [`fg_take`], and are used once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fg_draw(at: *mut u8, len: usize, kind: u32) -> *mut Answer {
    // SAFETY: they come from a boxed slice of this length, as the caller promises.
    let recording = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, len)) };
    let (status, bytes) = match draw(recording.into_vec(), kind) {
        Ok(picture) => (0, picture),
        Err(error) => (1, error.to_string().into_bytes()),
    };
    let bytes = bytes.into_boxed_slice();
    let len = bytes.len();
    Box::into_raw(Box::new(Answer { status, at: Box::into_raw(bytes).cast(), len }))
}

/// Frees an answer.
///
/// # Safety
/// The pointer is one of [`fg_draw`], and is used once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fg_free(answer: *mut Answer) {
    // SAFETY: both come from boxes, as the caller promises.
    unsafe {
        let answer = Box::from_raw(answer);
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(answer.at, answer.len)));
    }
}

fn draw(recording: Vec<u8>, kind: u32) -> Result<Vec<u8>> {
    // A page may have 4 GiB at the very most, and there is no clock here.
    let limits = Limits::upload().memory(1 << 30).time(None);
    let options = ReadOptions::default().limits(limits);
    let profile = Profile::read(&[Source::bytes(recording)], &options)?;
    let mut out = Vec::new();
    match kind {
        0 => profile.svg(&SvgOptions::default(), &mut out)?,
        1 => profile.html(&HtmlOptions::default(), &mut out)?,
        _ => profile.write_folded(&mut out)?,
    }
    Ok(out)
}
