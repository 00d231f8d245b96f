//! `--scale`: inputs of one profile that count for more or less than others.

use std::path::Path;
use std::str::FromStr;

use clap::Args;

use crate::error::{Error, Result, some_of};
use crate::input::Source;
use crate::weight::Weight;

/// The option.
#[derive(Args, Clone, Debug, Default)]
pub struct ScaleArgs {
    /// Multiply the weights of the input FILE by FACTOR, those of all inputs without FILE; repeatable, or
    /// with commas: `--scale night.pb.gz=0.3,day.pb.gz=0.7`. FILE is the path, its last part, or that without
    /// its endings: `night=0.3`
    #[arg(long, value_name = "[FILE=]FACTOR", value_delimiter = ',')]
    pub scale: Vec<Scale>,
}

/// A factor, and the input that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    file: Option<String>,
    factor: Weight,
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Scale, String> {
        let (file, factor) = match text.rsplit_once('=') {
            Some((file, factor)) => (Some(file.to_owned()), factor),
            None => (None, text),
        };
        match Weight::parse(factor.as_bytes()) {
            Some(factor) if !factor.is_zero() => Ok(Scale { file, factor }),
            _ => Err("expected a number other than 0 such as 0.3, or FILE=0.3".to_owned()),
        }
    }
}

impl Scale {
    /// Returns true if it names an input.
    fn names(&self, source: &Source) -> bool {
        let name = source.name();
        let last = Path::new(&*name).file_name().map(|last| last.to_string_lossy()).unwrap_or_default();
        let stem = last.split('.').next().unwrap_or_default();
        self.file.as_deref().is_none_or(|file| [&*name, &*last, stem].contains(&file))
    }
}

impl ScaleArgs {
    /// The inputs with their factors.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] for a name of no input, or of several.
    pub fn apply(&self, sources: Vec<Source>) -> Result<Vec<Source>> {
        for scale in &self.scale {
            let Some(file) = &scale.file else { continue };
            let named: Vec<String> =
                sources.iter().filter(|source| scale.names(source)).map(|s| s.name().to_string()).collect();
            let what = match &named[..] {
                [_] => continue,
                [] => {
                    let all: Vec<String> = sources.iter().map(|source| source.name().to_string()).collect();
                    format!("--scale {file}=…: no input is called {file}; there are {}", some_of(&all))
                }
                several => format!("--scale {file}=… is for one input; {} are called so", some_of(several)),
            };
            return Err(Error::setting(what));
        }
        let weighted = |source: Source| {
            let mut factors =
                self.scale.iter().filter(|scale| scale.names(&source)).map(|scale| scale.factor);
            let factor = factors.try_fold(Weight::ONE, |product, factor| product.checked_mul(factor))?;
            Ok(source.weighted(factor))
        };
        sources.into_iter().map(weighted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(scales: &[&str], files: &[&str]) -> std::result::Result<Vec<String>, String> {
        let scale = scales.iter().map(|scale| scale.parse().unwrap()).collect();
        let sources = files.iter().map(Source::new).collect();
        let scaled = ScaleArgs { scale }.apply(sources).map_err(|e| e.to_string())?;
        Ok(scaled.iter().map(|source| source.factor().to_string()).collect())
    }

    #[test]
    fn inputs_are_named_by_path_file_or_stem() {
        let files = ["x/a.pb.gz", "y/b.pb.gz"];
        assert_eq!(factors(&["a=0.3", "y/b.pb.gz=2"], &files).unwrap(), ["0.3", "2"]);
        assert_eq!(factors(&["b.pb.gz=0.5", "4"], &files).unwrap(), ["4", "2"]);
        assert!(factors(&["c=1"], &files).unwrap_err().contains("there are x/a.pb.gz, y/b.pb.gz"));
        let twice = factors(&["a=1"], &["x/a.pb", "y/a.pb"]).unwrap_err();
        assert!(twice.contains("x/a.pb, y/a.pb are called so"), "{twice}");
        for wrong in ["", "a=", "a=x", "0", "a=0"] {
            assert!(wrong.parse::<Scale>().is_err(), "{wrong}");
        }
    }
}
