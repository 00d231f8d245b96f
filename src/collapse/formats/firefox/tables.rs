//! The Firefox Profiler's tables: columns of numbers that point into one another.

use crate::collapse::kit::json::{Json, Kind};
use crate::error::Result;
use crate::weight::Weight;

/// The tables that link a sample to names; `None` is a `null`.
#[derive(Default)]
pub struct Tables {
    pub strings: Vec<String>,
    pub prefix: Vec<Option<usize>>,
    pub frame: Vec<Option<usize>>,
    pub func: Vec<Option<usize>>,
    /// The name itself, in profiles that have no functions.
    pub location: Vec<Option<usize>>,
    pub address: Vec<Option<usize>>,
    pub line: Vec<Option<usize>>,
    pub inline_depth: Vec<Option<usize>>,
    pub name: Vec<Option<usize>>,
    pub resource: Vec<Option<usize>>,
    pub file: Vec<Option<usize>>,
    pub lib: Vec<Option<usize>>,
    pub category: Vec<Option<usize>>,
}

impl Tables {
    /// A key of a thread or of `shared`, if it is one of the tables; passes over others.
    pub fn read(&mut self, key: &str, json: &mut Json) -> Result<()> {
        let columns: &mut [(&str, &mut Vec<Option<usize>>)] = match key {
            "stringArray" | "stringTable" if json.peek()? == Kind::Array => {
                json.begin_array()?;
                while json.next_item()? {
                    self.strings.push(json.text()?.to_owned());
                }
                return Ok(());
            }
            "stackTable" => &mut [("prefix", &mut self.prefix), ("frame", &mut self.frame)],
            "frameTable" => &mut [
                ("func", &mut self.func),
                ("location", &mut self.location),
                ("address", &mut self.address),
                ("line", &mut self.line),
                ("inlineDepth", &mut self.inline_depth),
                ("category", &mut self.category),
            ],
            "funcTable" => &mut [
                ("name", &mut self.name),
                ("resource", &mut self.resource),
                ("fileName", &mut self.file),
            ],
            "resourceTable" => &mut [("lib", &mut self.lib)],
            _ => return json.skip(),
        };
        if json.peek()? != Kind::Object {
            return json.skip();
        }
        let mut key = String::new();
        let mut schema = Schema::default();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match (key.as_str(), json.peek()?) {
                ("schema", Kind::Object) => {
                    schema.read(json, |key| columns.iter().position(|(name, _)| *name == key))?;
                }
                ("data", Kind::Array) => {
                    json.begin_array()?;
                    while json.next_item()? {
                        if !schema.is_read {
                            schema.keep(json)?;
                            continue;
                        }
                        columns.iter_mut().for_each(|(_, column)| column.push(None));
                        schema.row(json, |json, at| {
                            if let (Some(cell), Kind::Number) = (columns[at].1.last_mut(), json.peek()?) {
                                *cell = json.index()?;
                                return Ok(());
                            }
                            json.skip()
                        })?;
                    }
                }
                (_, Kind::Array) => match columns.iter_mut().find(|(name, _)| *name == key) {
                    Some((_, column)) => {
                        json.begin_array()?;
                        while json.next_item()? {
                            column.push(json.index()?);
                        }
                    }
                    None => json.skip()?,
                },
                _ => json.skip()?,
            }
        }
        for row in schema.kept() {
            columns.iter_mut().for_each(|(_, column)| column.push(None));
            for (at, number) in row {
                if let Some(cell) = columns[at].1.last_mut() {
                    *cell = number.to_u64().and_then(|number| usize::try_from(number).ok());
                }
            }
        }
        Ok(())
    }
}

/// The column of each cell of a row, in profiles as Firefox and perf's `gecko` script write
/// them: `"schema": {"prefix": 0, "frame": 1}, "data": [[null, 0], [0, 1]]`. Programs that sort keys
/// put it behind the rows, which are kept until then.
#[derive(Default)]
pub struct Schema {
    columns: Vec<Option<usize>>,
    /// True if the columns are known.
    pub is_read: bool,
    /// The numbers of the rows that came before.
    early: Vec<Vec<Option<Weight>>>,
}

impl Schema {
    /// No table is wider.
    const WIDEST: usize = 64;

    pub fn read(&mut self, json: &mut Json, column: impl Fn(&str) -> Option<usize>) -> Result<()> {
        let mut key = String::new();
        self.is_read = true;
        json.begin_object()?;
        while json.next_key(&mut key)? {
            let known = column(&key);
            if let Some(at) = json.index()?.filter(|at| *at < Schema::WIDEST) {
                self.columns.resize(self.columns.len().max(at + 1), None);
                self.columns[at] = known;
            }
        }
        Ok(())
    }

    /// Keeps the numbers of a row whose columns are not known yet.
    pub fn keep(&mut self, json: &mut Json) -> Result<()> {
        let mut row = Vec::new();
        json.begin_array()?;
        while json.next_item()? {
            match json.peek()? {
                Kind::Number if row.len() < Schema::WIDEST => row.push(Some(json.weight()?)),
                _ => {
                    json.skip()?;
                    row.push(None);
                }
            }
        }
        row.truncate(Schema::WIDEST);
        self.early.push(row);
        Ok(())
    }

    /// The rows that were kept: the numbers of known columns.
    pub fn kept(self) -> impl Iterator<Item = Vec<(usize, Weight)>> {
        let Schema { columns, early, .. } = self;
        early.into_iter().map(move |row| {
            let cells = row.into_iter().enumerate();
            cells.filter_map(|(at, number)| Some((columns.get(at).copied().flatten()?, number?))).collect()
        })
    }

    /// Shows the cells of a row that are of a known column to `cell`, which takes them.
    pub fn row(&self, json: &mut Json, mut cell: impl FnMut(&mut Json, usize) -> Result<()>) -> Result<()> {
        json.begin_array()?;
        let mut at = 0;
        while json.next_item()? {
            match self.columns.get(at).copied().flatten() {
                Some(column) => cell(json, column)?,
                None => json.skip()?,
            }
            at += 1;
        }
        Ok(())
    }
}
