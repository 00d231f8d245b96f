//! The files of V8, in Chrome and in Node: profiles of the processor and the heap, processed logs,
//! and the traces they may be part of.

mod call_tree;
pub mod cpu_profile;
mod head;
pub mod heap_profile;
mod samples;
pub mod ticks;
pub mod trace;

use crate::collapse::Sink;
use crate::collapse::kit::json::Json;
use crate::collapse::kit::names::FrameNames;
use crate::error::Result;
use crate::folded::FrameId;

/// `{"functionName": "fib", "url": "file:///a.js", "lineNumber": 3, …}`: where a function begins.
#[derive(Default)]
struct CallFrame {
    name: String,
    url: String,
    /// Counted from 0; below that where there is no text.
    line: i64,
}

impl CallFrame {
    fn read(&mut self, json: &mut Json) -> Result<()> {
        let mut key = String::new();
        self.name.clear();
        self.url.clear();
        self.line = -1;
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "functionName" => self.name.push_str(json.text()?),
                "url" => self.url.push_str(json.text()?),
                "lineNumber" => self.line = json.integer()?,
                _ => json.skip()?,
            }
        }
        Ok(())
    }

    fn frame(&self, names: &mut FrameNames, sink: &mut dyn Sink) -> FrameId {
        let line = u64::try_from(self.line).ok().map(|line| line + 1);
        names.declared(self.name.as_bytes(), self.url.as_bytes(), line, sink)
    }

    /// Returns whether it stands above all others, and tells nothing.
    fn is_root(&self) -> bool {
        self.name == "(root)" && self.url.is_empty()
    }
}
