//! A thread of the Firefox Profiler's: its samples, and the tables that are its own.

use super::tables::{Schema, Tables};
use crate::collapse::Value;
use crate::collapse::kit::json::{Json, Kind};
use crate::collapse::kit::threads::Thread as ThreadName;
use crate::error::Result;
use crate::weight::Weight;

/// A thread, and what was sampled in it.
#[derive(Default)]
pub struct Thread {
    pub name: String,
    pub process: String,
    pub pid: String,
    pub tid: String,
    pub tables: Tables,
    pub stacks: Vec<Option<usize>>,
    pub weights: Vec<Weight>,
    pub weight_type: String,
    pub cpu: Vec<Weight>,
    /// The time of each sample, in milliseconds.
    pub times: Vec<Weight>,
}

impl Thread {
    /// Reads an entry of `threads`.
    ///
    /// # Errors
    /// Anything but such an entry.
    pub fn read(json: &mut Json) -> Result<Thread> {
        let mut thread = Thread::default();
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "name" => thread.name.push_str(json.text()?),
                "processName" => thread.process.push_str(json.text()?),
                "pid" => thread.pid.push_str(json.text_or_number()?),
                "tid" => thread.tid.push_str(json.text_or_number()?),
                "samples" if json.peek()? == Kind::Object => thread.samples(json)?,
                _ => thread.tables.read(&key, json)?,
            }
        }
        Ok(thread)
    }

    fn samples(&mut self, json: &mut Json) -> Result<()> {
        let mut key = String::new();
        let mut schema = Schema::default();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match (key.as_str(), json.peek()?) {
                ("weightType", Kind::Text) => self.weight_type.push_str(json.text()?),
                ("stack", Kind::Array) => {
                    json.begin_array()?;
                    while json.next_item()? {
                        self.stacks.push(json.index()?);
                    }
                }
                ("weight", Kind::Array) => numbers(json, Weight::ONE, &mut self.weights)?,
                ("time", Kind::Array) => numbers(json, Weight::ZERO, &mut self.times)?,
                ("timeDeltas", Kind::Array) => {
                    numbers(json, Weight::ZERO, &mut self.times)?;
                    let mut now = Weight::ZERO;
                    for time in &mut self.times {
                        now = now.checked_add(*time)?;
                        *time = now;
                    }
                }
                ("threadCPUDelta", Kind::Array) => numbers(json, Weight::ZERO, &mut self.cpu)?,
                ("schema", Kind::Object) => {
                    let known = ["stack", "threadCPUDelta", "time"];
                    schema.read(json, |key| known.iter().position(|name| *name == key))?;
                }
                ("data", Kind::Array) => {
                    json.begin_array()?;
                    while json.next_item()? {
                        if !schema.is_read {
                            schema.keep(json)?;
                            continue;
                        }
                        let (mut stack, mut cpu, mut time) = (None, Weight::ZERO, Weight::ZERO);
                        schema.row(json, |json, column| {
                            match (column, json.peek()?) {
                                (0, Kind::Number) => stack = json.index()?,
                                (1, Kind::Number) => cpu = json.weight()?,
                                (2, Kind::Number) => time = json.weight()?,
                                _ => json.skip()?,
                            }
                            Ok(())
                        })?;
                        self.stacks.push(stack);
                        self.cpu.push(cpu);
                        self.times.push(time);
                    }
                }
                _ => json.skip()?,
            }
        }
        for row in schema.kept() {
            let of = |column| row.iter().find(|(at, _)| *at == column).map(|(_, number)| *number);
            let stack = of(0).and_then(Weight::to_u64);
            self.stacks.push(stack.and_then(|stack| usize::try_from(stack).ok()));
            self.cpu.push(of(1).unwrap_or_default());
            self.times.push(of(2).unwrap_or_default());
        }
        Ok(())
    }

    /// The value that its samples weigh.
    pub fn value(&self) -> Value {
        match self.weight_type.as_str() {
            "tracing-ms" => Value::new("time", "ms"),
            "bytes" => Value::new("size", "bytes"),
            "" | "samples" => Value::new("samples", "samples"),
            other => Value::with_producers_unit("weight", other),
        }
    }

    /// Its name and its numbers.
    pub fn frame_name(&self) -> ThreadName<'_> {
        let name = if self.name.is_empty() { &self.process } else { &self.name };
        // samply tells apart what used a number one after the other: `7.1` is the process 7.
        let number = |id: &'_ String| id.find('.').map_or(id.len(), |dot| dot);
        let (pid, tid) = (&self.pid[..number(&self.pid)], &self.tid[..number(&self.tid)]);
        ThreadName { name: name.as_bytes(), pid: pid.as_bytes(), tid: tid.as_bytes() }
    }
}

/// An array of numbers, in which a `null` is `missing`.
fn numbers(json: &mut Json, missing: Weight, out: &mut Vec<Weight>) -> Result<()> {
    json.begin_array()?;
    while json.next_item()? {
        let number = if json.null()? { missing } else { json.weight()? };
        out.push(number);
    }
    Ok(())
}
