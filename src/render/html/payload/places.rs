//! The places of the code of names: a module and a kind for each name whose place is known.

use std::collections::HashMap;

use super::column::Column;
use crate::error::Result;
use crate::folded::{FrameId, Kind, Place, Places, StackTable};

/// Added to the kind of a function that the compiler has put into its caller.
const INLINED: u8 = 4;

/// The number that stands for a kind of code in the column `kinds`.
fn kind_number(place: &Place<'_>) -> u8 {
    let kind = match place.kind {
        Kind::Unknown => 0,
        Kind::User => 1,
        Kind::Kernel => 2,
        Kind::Jit => 3,
    };
    if place.inlined { kind + INLINED } else { kind }
}

/// The name of a module; without its folder if that is private. A package's path names no place on a disk.
fn module_name(module: &[u8], private: bool) -> Vec<u8> {
    let is_path = module.starts_with(b"/") || module.contains(&b'\\');
    let start =
        if private && is_path { memchr::memrchr2(b'/', b'\\', module).map_or(0, |at| at + 1) } else { 0 };
    module[start..].iter().copied().filter(|&byte| byte > 0).collect()
}

/// The sections of places: none where nothing is known.
pub(super) fn sections(
    names: &StackTable,
    places: &Places,
    private: bool,
) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let [mut kinds, mut name_modules, mut modules] = [(); 3].map(|()| Column::of_names());
    let mut any_kind = false;
    let mut numbers: HashMap<Vec<u8>, u128> = HashMap::new();
    for id in (0..names.frame_count() as u32).filter(|_| !places.is_empty()) {
        let place = places.get(names.name(FrameId(id))).unwrap_or_default();
        let kind = kind_number(&place);
        any_kind |= kind > 0;
        kinds.extend(&[kind])?;
        let module = module_name(place.module, private);
        if module.is_empty() {
            name_modules.push(0)?;
            continue;
        }
        let number = match numbers.get(&module) {
            Some(&number) => number,
            None => {
                modules.extend(&module)?;
                modules.extend(&[0])?;
                let number = numbers.len() as u128 + 1;
                numbers.insert(module, number);
                number
            }
        };
        name_modules.push(number)?;
    }
    let mut sections = Vec::new();
    if any_kind {
        sections.push(("kinds", kinds.finish()?));
    }
    if !numbers.is_empty() {
        sections.push(("modules", modules.finish()?));
        sections.push(("name-modules", name_modules.finish()?));
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_modules_have_no_folders() {
        for (module, name) in [
            ("/home/ada/lib/libx.so.1", "libx.so.1"),
            ("C:\\Users\\ada\\x.dll", "x.dll"),
            ("github.com/x/y", "github.com/x/y"),
            ("[kernel.kallsyms]", "[kernel.kallsyms]"),
        ] {
            assert_eq!(module_name(module.as_bytes(), true), name.as_bytes());
            assert_eq!(module_name(module.as_bytes(), false), module.as_bytes());
        }
    }
}
