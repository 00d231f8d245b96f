//! One event of a trace, with the parts of it that are used.

use std::borrow::Cow;

use super::microseconds;
use crate::collapse::Sink;
use crate::collapse::formats::v8::call_tree::Tree;
use crate::collapse::formats::v8::cpu_profile;
use crate::collapse::kit::clean_symbol::clean_symbol;
use crate::collapse::kit::json::{Json, Kind};
use crate::collapse::kit::names::FrameNames;
use crate::collapse::kit::spans::Launch;
use crate::error::Result;
use crate::folded::{FrameId, sanitize_frame};
use crate::weight::Weight;

/// One event as it stands there.
#[derive(Default)]
pub struct Event {
    pub phase: String,
    pub name: String,
    pub category: Category,
    pub category_name: String,
    pub process: String,
    pub thread: String,
    pub id: String,
    /// The number of a sample's frame, and `args.userTag`, which is `Default` where the program gave none.
    pub frame_number: String,
    pub tag: String,
    pub at: Option<Weight>,
    pub duration: Option<Weight>,
    /// `args.name` of metadata; `args.filename` and `args.line` of py-spy's frames, `args.location` of CMake's.
    pub label: String,
    file: String,
    line: Option<u64>,
    /// `args.detail` of clang's spans; `args.path` of TypeScript's, unless they are of a part of that file.
    detail: String,
    path: String,
    is_part: bool,
    has_average: bool,
    /// A piece of a profile, which may come before the event says whose it is.
    pub piece: Option<Tree>,
    pub launch: Launch,
    /// The bytes of an allocation, and the kind of memory: 0 is the processor's.
    pub bytes: Option<Weight>,
    pub memory: i64,
}

/// The categories that make a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Category {
    /// Any other.
    #[default]
    Other,
    /// py-spy's only category.
    PySpy,
    /// A Python function in a trace of PyTorch.
    Python,
    /// A step of the TypeScript compiler.
    TypeScript,
    /// A function in a trace of viztracer.
    VizTracer,
    /// A mark of the program, such as the steps of PyTorch's profiler.
    Annotation,
    /// A kernel of a GPU.
    Kernel,
    /// A copy or a fill of a GPU's memory.
    Copy,
    /// An annotation or a wait on a stream of a GPU, and the span of the whole recording: they lie across what is
    /// recorded by itself.
    Across,
}

impl Category {
    fn of(name: &str) -> Category {
        match name {
            "py-spy" => Category::PySpy,
            "python_function" => Category::Python,
            "program" | "parse" | "bind" | "check" | "emit" => Category::TypeScript,
            "fee" | "FEE" => Category::VizTracer,
            "user_annotation" => Category::Annotation,
            "kernel" | "concurrent_kernel" | "Kernel" => Category::Kernel,
            "gpu_memcpy" | "gpu_memset" | "Memcpy" | "Memset" => Category::Copy,
            "gpu_user_annotation" | "cuda_sync" | "Trace" => Category::Across,
            _ => Category::Other,
        }
    }
}

impl Event {
    /// Reads an event over the one before.
    ///
    /// # Errors
    /// Anything but an event.
    pub fn read(&mut self, json: &mut Json, sink: &mut dyn Sink) -> Result<()> {
        self.clear();
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "ph" => self.phase.push_str(json.text()?),
                "name" => self.name.push_str(json.text_or_number()?),
                "cat" if json.peek()? == Kind::Text => {
                    self.category_name.push_str(json.text()?);
                    self.category = Category::of(&self.category_name);
                }
                "pid" => self.process.push_str(json.text_or_number()?),
                "tid" => self.thread.push_str(json.text_or_number()?),
                "id" if matches!(json.peek()?, Kind::Text | Kind::Number) => {
                    self.id.push_str(json.text_or_number()?)
                }
                // `{"local": …}` or `{"global": …}`: unique in its process, or in all.
                "id2" if json.peek()? == Kind::Object => {
                    json.begin_object()?;
                    while json.next_key(&mut key)? {
                        match json.peek()? {
                            Kind::Text | Kind::Number => self.id.push_str(json.text_or_number()?),
                            _ => json.skip()?,
                        }
                    }
                }
                "sf" if matches!(json.peek()?, Kind::Text | Kind::Number) => {
                    self.frame_number.push_str(json.text_or_number()?)
                }
                "ts" => self.at = Some(microseconds(json)?),
                "dur" => self.duration = Some(microseconds(json)?),
                "args" if json.peek()? == Kind::Object => self.arguments(json, sink)?,
                _ => json.skip()?,
            }
        }
        Ok(())
    }

    /// Reads the parts of `args` that are used.
    fn arguments(&mut self, json: &mut Json, sink: &mut dyn Sink) -> Result<()> {
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match (key.as_str(), json.peek()?) {
                ("name", Kind::Text) => self.label.push_str(json.text()?),
                ("filename", Kind::Text) => self.file.push_str(json.text()?),
                ("location", Kind::Text) => {
                    // Other writers' locations are no lines of a file.
                    if let Some((file, line)) = json.text()?.rsplit_once(':')
                        && let Ok(line) = line.parse()
                    {
                        self.file.push_str(file);
                        self.line = Some(line);
                    }
                }
                ("userTag", Kind::Text) => self.tag.push_str(json.text()?),
                ("detail", Kind::Text) => self.detail.push_str(json.text()?),
                ("path" | "fileName", Kind::Text) => self.path.push_str(json.text()?),
                ("pos", Kind::Number) => {
                    self.is_part = true;
                    json.skip()?;
                }
                ("avg ms", Kind::Number) => {
                    self.has_average = true;
                    json.skip()?;
                }
                ("line", Kind::Number) => self.line = json.index()?.map(|line| line as u64),
                ("correlation" | "correlation_id", Kind::Number | Kind::Text) => {
                    self.launch.correlation = json.text_or_number()?.parse().ok();
                }
                ("External id" | "external id", Kind::Number | Kind::Text) => {
                    self.launch.external = json.text_or_number()?.parse().ok();
                }
                ("Bytes", Kind::Number) => self.bytes = Some(json.weight()?),
                ("Device Type", Kind::Number) => self.memory = json.integer()?,
                ("data", Kind::Object) => self.data(json, &mut key, sink)?,
                _ => json.skip()?,
            }
        }
        Ok(())
    }

    /// Reads a piece of a processor profile.
    fn data(&mut self, json: &mut Json, key: &mut String, sink: &mut dyn Sink) -> Result<()> {
        json.begin_object()?;
        while json.next_key(key)? {
            match (key.as_str(), json.peek()?) {
                ("cpuProfile", Kind::Object) => {
                    cpu_profile::read(json, self.piece.get_or_insert_default(), sink)?;
                }
                ("timeDeltas", Kind::Array) => self.piece.get_or_insert_default().deltas(json)?,
                ("startTime", Kind::Number) => {
                    self.piece.get_or_insert_default().start = Some(json.weight()?)
                }
                ("endTime", Kind::Number) => self.piece.get_or_insert_default().end = Some(json.weight()?),
                _ => json.skip()?,
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        for text in [
            &mut self.phase,
            &mut self.name,
            &mut self.category_name,
            &mut self.process,
            &mut self.thread,
            &mut self.id,
            &mut self.frame_number,
            &mut self.tag,
            &mut self.label,
            &mut self.file,
            &mut self.detail,
            &mut self.path,
        ] {
            text.clear();
        }
        (self.at, self.duration, self.line, self.piece) = (None, None, None, None);
        (self.category, self.launch) = (Category::Other, Launch::default());
        (self.bytes, self.memory) = (None, 0);
        (self.is_part, self.has_average) = (false, false);
    }

    /// Returns true for what clang adds at the end: all spans of one name together.
    pub fn is_sum(&self) -> bool {
        self.has_average && self.name.starts_with("Total ")
    }

    /// The file or function that the span is about; empty if it says none.
    fn object(&self) -> &str {
        match self.category {
            Category::Other if self.category_name.is_empty() => &self.detail,
            Category::TypeScript if !self.is_part => &self.path,
            _ => "",
        }
    }

    /// The frame of the event.
    pub fn frame(&self, names: &mut FrameNames, sink: &mut dyn Sink) -> FrameId {
        let name = self.name.as_str();
        let name = match self.category {
            Category::Python => without_address(name),
            // Each step has a number, and all do the same.
            Category::Annotation if name.starts_with("ProfilerStep#") => "ProfilerStep".into(),
            _ => name.into(),
        };
        let name = &*name;
        let python = match self.category {
            Category::Python => pytorch_function(name),
            Category::VizTracer => viztracer_function(name),
            Category::Other => jax_function(name),
            _ => None,
        };
        if let Some((function, file, line)) = python {
            names.declared(function.as_bytes(), file.as_bytes(), Some(line), sink)
        } else if self.category == Category::Kernel {
            names.symbol(name.as_bytes(), sink)
        } else if self.file.is_empty() {
            names.build(sink, |out| {
                sanitize_frame(name.as_bytes(), out);
                let object = self.object().as_bytes();
                if object.starts_with(b"_Z") {
                    out.push(b' ');
                    clean_symbol(object, out);
                } else if !object.is_empty() {
                    out.push(b' ');
                    sanitize_frame(object, out);
                }
            })
        } else {
            names.located(name.as_bytes(), self.file.as_bytes(), self.line, sink)
        }
    }
}

/// `<built-in method run of X object at 0x7f10>` without the address, which is another one in the next run.
fn without_address(name: &str) -> Cow<'_, str> {
    const AT: &str = " object at 0x";
    let Some(at) = name.find(AT) else { return name.into() };
    let rest = name[at + AT.len()..].trim_start_matches(|c: char| c.is_ascii_hexdigit());
    if rest.starts_with('>') { format!("{} object{rest}", &name[..at]).into() } else { name.into() }
}

/// Function, file and line of `torch/nn/modules/module.py(1511): _call_impl`. Built-in functions and modules are
/// called `<built-in function len>` and `nn.Module: Linear_0`.
fn pytorch_function(name: &str) -> Option<(&str, &str, u64)> {
    let (place, function) = name.split_once("): ")?;
    let (file, line) = place.rsplit_once('(')?;
    Some((function, file, line.parse().ok()?)).filter(|_| !file.is_empty())
}

/// Function, file and line of `fib (/app/v.py:1)`. Built-in functions are called `builtins.len`.
fn viztracer_function(name: &str) -> Option<(&str, &str, u64)> {
    let (function, place) = name.strip_suffix(')')?.split_once(" (")?;
    let (file, line) = place.rsplit_once(':')?;
    Some((function, file, line.parse().ok()?)).filter(|_| !file.is_empty())
}

/// Function, file and line of `$api.py:2880 block_until_ready`, as JAX and TensorFlow have it.
fn jax_function(name: &str) -> Option<(&str, &str, u64)> {
    let (place, function) = name.strip_prefix('$')?.split_once(' ')?;
    let (file, line) = place.rsplit_once(':')?;
    Some((function, file, line.parse().ok()?)).filter(|_| !file.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_other_runs_too() {
        for (name, expected) in [
            ("<built-in method f of T object at 0x7f10>", "<built-in method f of T object>"),
            ("<built-in method f of T object at 0x7f10", "<built-in method f of T object at 0x7f10"),
            ("nn.Module: Net_0", "nn.Module: Net_0"),
        ] {
            assert_eq!(without_address(name), expected);
        }
    }

    #[test]
    fn python_functions_are_told_from_other_names() {
        assert_eq!(pytorch_function("a (b).py(12): f(x): y"), Some(("f(x): y", "a (b).py", 12)));
        assert_eq!(jax_function("$api.py:2880 <lambda> x"), Some(("<lambda> x", "api.py", 2880)));
        assert_eq!(viztracer_function("<module> (a (b).py:1)"), Some(("<module>", "a (b).py", 1)));
        for name in ["builtins.exec", "f (x)", "f (:3)", "f (x:y)"] {
            assert_eq!(viztracer_function(name), None, "{name}");
        }
        for name in ["<built-in method relu of type object>", "nn.Module: Linear_0", "(3): x", "f(x): y", ""]
        {
            assert_eq!((pytorch_function(name), jax_function(name)), (None, None), "{name}");
        }
        for name in ["$builtins isinstance", "$:3 f", "$x", "api.py:3 f"] {
            assert_eq!(jax_function(name), None, "{name}");
        }
    }
}
