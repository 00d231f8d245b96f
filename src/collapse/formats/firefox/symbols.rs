//! The names that `samply record --unstable-presymbolicate` writes beside a profile: `x.syms.json`
//! beside `x.json`, `x.json.syms.json` beside `x.json.gz` (seen: samply 0.13).
//!
//! ```text
//! {"string_table": ["UNKNOWN", "start_thread", …],
//!  "data": [{"debug_name": "libc.so.6", "code_id": "93ac61ec…",
//!            "symbol_table": [{"rva": 560880, "size": 1166, "symbol": 1, …}, …], …}]}
//! ```
//! Without it a profile of samply's has addresses only. There is no specification; samply itself
//! reads it to serve the profile. What was inlined is told once for each function, not for each
//! address, and so is not used.

use std::path::Path;

use crate::collapse::kit::json::Json;
use crate::error::{Error, Result};
use crate::input::Source;

/// The names of a profile's libraries.
#[derive(Default)]
pub struct Symbols {
    strings: Vec<String>,
    libs: Vec<Lib>,
}

#[derive(Default)]
struct Lib {
    name: String,
    code_id: String,
    /// The start, the length and the name of each function, in order.
    functions: Vec<(u64, u64, usize)>,
}

impl Symbols {
    /// The names beside the profile of this path, if there are some.
    ///
    /// # Errors
    /// A file that is there but cannot be read.
    pub fn beside(profile: &str) -> Result<Option<Symbols>> {
        let path = Path::new(profile).with_extension("syms.json");
        if path == Path::new(profile) || !path.is_file() {
            return Ok(None);
        }
        Symbols::read(&mut Json::new(Source::path(path).open()?)).map(Some)
    }

    fn read(json: &mut Json) -> Result<Symbols> {
        let mut symbols = Symbols::default();
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "string_table" => {
                    json.begin_array()?;
                    while json.next_item()? {
                        symbols.strings.push(json.text()?.to_owned());
                    }
                }
                "data" => {
                    json.begin_array()?;
                    while json.next_item()? {
                        symbols.libs.push(Lib::read(json)?);
                    }
                }
                _ => json.skip()?,
            }
        }
        let count = symbols.strings.len();
        let mut names = symbols.libs.iter().flat_map(|lib| &lib.functions).map(|(_, _, name)| *name);
        match names.find(|name| *name >= count) {
            Some(name) => {
                let expected = format!("one of the {count} strings");
                Err(Error::malformed(expected, name.to_string().as_bytes()).at(json.place()))
            }
            None => Ok(symbols),
        }
    }

    /// The name of the function at an address of a library, told by its name and its build.
    pub fn name(&self, name: &str, code_id: &str, address: u64) -> Option<&str> {
        let same = |lib: &&Lib| {
            lib.name == name && (lib.code_id == code_id || code_id.is_empty() || lib.code_id.is_empty())
        };
        let functions = &self.libs.iter().find(same)?.functions;
        let behind = functions.partition_point(|(begin, ..)| *begin <= address);
        let (begin, size, name) = functions[behind.checked_sub(1)?];
        (address - begin < size).then(|| self.strings[name].as_str())
    }
}

impl Lib {
    fn read(json: &mut Json) -> Result<Lib> {
        let mut lib = Lib::default();
        let mut key = String::new();
        json.begin_object()?;
        while json.next_key(&mut key)? {
            match key.as_str() {
                "debug_name" => lib.name.push_str(json.text()?),
                "code_id" => lib.code_id.push_str(json.text()?),
                "symbol_table" => {
                    json.begin_array()?;
                    while json.next_item()? {
                        let (mut begin, mut size, mut symbol) = (0, 0, None);
                        json.begin_object()?;
                        while json.next_key(&mut key)? {
                            match key.as_str() {
                                "rva" => begin = json.index()?.unwrap_or(0) as u64,
                                "size" => size = json.index()?.unwrap_or(0) as u64,
                                "symbol" => symbol = json.index()?,
                                _ => json.skip()?,
                            }
                        }
                        lib.functions.extend(symbol.map(|symbol| (begin, size, symbol)));
                    }
                }
                _ => json.skip()?,
            }
        }
        lib.functions.sort_unstable();
        Ok(lib)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;

    fn read(text: &str) -> Result<Symbols> {
        let input = Input::new("test", Box::new(std::io::Cursor::new(text.to_owned())))?;
        Symbols::read(&mut Json::new(input))
    }

    #[test]
    fn functions_are_found_by_any_of_their_addresses() {
        let text = r#"{"data":[{"debug_name":"l","code_id":"1","symbol_table":[{"rva":100,"size":10,"symbol":1},
            {"rva":20,"size":5,"symbol":0,"frames":[]}],"known_addresses":[]}],"string_table":["f","g"]}"#;
        let symbols = read(text).unwrap();
        for (address, name) in
            [(19, None), (20, Some("f")), (24, Some("f")), (25, None), (109, Some("g")), (110, None)]
        {
            assert_eq!(symbols.name("l", "1", address), name, "{address}");
        }
        assert_eq!(symbols.name("l", "", 20), Some("f"));
        assert_eq!((symbols.name("l", "2", 20), symbols.name("m", "1", 20)), (None, None));
        assert!(read(&text.replace("\"symbol\":1", "\"symbol\":2")).is_err());
    }
}
