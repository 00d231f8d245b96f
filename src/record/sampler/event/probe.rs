//! Probes: an event each time a function begins or ends, `uprobe:./app:parse`, `uretprobe:…`,
//! `kprobe:do_sys_openat2`, `kretprobe:…`.
//!
//! The kernel puts a breakpoint at a byte of a file, wherever that is mapped, or at one of its own
//! functions. The functions of a file are found in its symbol table, by their names there or as
//! demangled.

use std::env;
use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Event, Places, source};
use crate::symbolize::{Module, Object, Search};

/// Reads a probe; `None` if this is none.
pub fn parse(text: &str, places: &Places) -> Option<Result<Event, String>> {
    let (kind, place) = text.split_once(':')?;
    let (device, returns) = match kind {
        "uprobe" => ("uprobe", false),
        "uretprobe" => ("uprobe", true),
        "kprobe" => ("kprobe", false),
        "kretprobe" => ("kprobe", true),
        _ => return None,
    };
    let probed = match device {
        "uprobe" => in_file(kind, place),
        _ if place.is_empty() => Err(format!("expected {kind}:FUNCTION")),
        _ => Ok((PathBuf::from(place), 0)),
    };
    Some(probed.and_then(|(name, offset)| {
        let number = source::kind(&places.sources, device).ok_or_else(|| {
            format!("this kernel has no {device} events (CONFIG_PERF_EVENTS, CONFIG_UPROBE_EVENTS)")
        })?;
        let probed = CString::new(name.into_os_string().into_encoded_bytes());
        let probed = probed.map_err(|_| format!("{text:?} has a zero byte"))?;
        let config = [returns.into(), 0, offset];
        Ok(Event { name: text.to_owned(), kind: number, config, probed: Some(probed), ..Event::default() })
    }))
}

/// The file of `FILE:FUNCTION` or `FILE:0xADDRESS`, and the offset in it.
fn in_file(kind: &str, place: &str) -> Result<(PathBuf, u64), String> {
    let (file, function) = match place.split_once(':') {
        Some((file, function)) if !file.is_empty() && !function.is_empty() => (file, function),
        _ => {
            return Err(format!(
                "expected {kind}:FILE:FUNCTION or {kind}:FILE:0xADDRESS, as in {kind}:./app:parse"
            ));
        }
    };
    let path = find(file).map_err(|e| format!("{file}: {e}"))?;
    let bytes = fs::read(&path)
        .map_err(|e| format!("{}: {}", path.display(), crate::record::program::message(&e)))?;
    let object =
        Object::parse(bytes).map_err(|_| format!("{}: no program and no library", path.display()))?;
    let address = match function.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16)) {
        Some(Ok(address)) => address,
        _ => address_of(&object, &path, function)?,
    };
    let offset = object.svma_to_file_offset(address);
    let offset = offset.ok_or_else(|| format!("{}: there is no code at {address:#x}", path.display()))?;
    Ok((path, offset))
}

/// A file by its path, or a program by its name.
fn find(file: &str) -> Result<PathBuf, String> {
    let absolute = |path: &Path| fs::canonicalize(path).map_err(|e| crate::record::program::message(&e));
    let here = absolute(Path::new(file));
    if here.is_ok() || file.contains('/') {
        return here;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let mut found = env::split_paths(&path).map(|folder| folder.join(file)).filter(|path| path.is_file());
    found.next().map_or(here, |path| absolute(&path))
}

/// The address at which a function begins.
fn address_of(object: &Object, path: &Path, function: &str) -> Result<u64, String> {
    if let Some(range) = object.functions_named(&[function.as_bytes()]).first() {
        return Ok(range.start);
    }
    // Separate debug information has the names that a stripped file lacks.
    let module = Module { path: path.as_os_str().as_encoded_bytes().to_vec(), build_id: None };
    let whole = Search::default().open(&module).ok();
    let all = whole.as_deref().unwrap_or(object).functions();
    let is_it = |name: &str| {
        let plain = name.split(['(', '<']).next().unwrap_or(name);
        [name, plain].iter().any(|name| {
            *name == function || name.strip_suffix(function).is_some_and(|before| before.ends_with("::"))
        })
    };
    let mut found: Vec<(u64, String)> = all.into_iter().filter(|(_, name)| is_it(name)).collect();
    found.sort_unstable();
    found.dedup_by_key(|(address, _)| *address);
    match &found[..] {
        [(address, _)] => Ok(*address),
        [] => Err(format!(
            "there is no function {function} in {}: it is inlined, or the file is stripped; 0xADDRESS works as well",
            path.display()
        )),
        several => {
            let names: Vec<String> =
                several.iter().take(10).map(|(address, name)| format!("{name} at {address:#x}")).collect();
            Err(format!(
                "several functions in {} are called {function}: {}",
                path.display(),
                names.join(", ")
            ))
        }
    }
}
