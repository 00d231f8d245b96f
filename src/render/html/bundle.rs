//! The page's modules as one script, and its style sheet, both shortened.
//!
//! It is part of `build.rs`, so that a page is written without this work; the library compiles it for its tests only.
//!
//! In `page/` they are ordinary modules, which tests and type-checkers read as such. In the
//! file they share one scope: lines that import are left out, and so are the word `export`,
//! comments, types and indentation; `minify` does the rest. For that they keep to three rules, which tests hold: an import
//! takes one line and renames nothing, names at the top are of one module, and no string goes over
//! several lines.

use super::minify::minify;

/// The modules that start the page: they unpack the script.
const LOADER: &[&str] = &[include_str!("page/sections.js"), include_str!("page/load.js")];

/// The part that SVG pictures have as well: how a search is read.
const MATCHER: &[&str] = &[include_str!("page/linear.js"), include_str!("page/expression.js")];

/// Every module, each after those that it needs while it is loaded.
const MODULES: &[&str] = &[
    include_str!("page/sections.js"),
    include_str!("page/dom.js"),
    include_str!("page/parts.js"),
    include_str!("page/steps.js"),
    include_str!("page/numbers.js"),
    include_str!("page/names.js"),
    include_str!("page/decode.js"),
    include_str!("page/tree.js"),
    include_str!("page/timeline_data.js"),
    include_str!("page/time_order.js"),
    include_str!("page/heatmap.js"),
    include_str!("page/timeline_paint.js"),
    include_str!("page/timeline.js"),
    include_str!("page/merge.js"),
    include_str!("page/fold.js"),
    include_str!("page/invert.js"),
    include_str!("page/linear.js"),
    include_str!("page/expression.js"),
    include_str!("page/search.js"),
    include_str!("page/templates.js"),
    include_str!("page/short.js"),
    include_str!("page/lines.js"),
    include_str!("page/refine.js"),
    include_str!("page/threads.js"),
    include_str!("page/pools.js"),
    include_str!("page/colour.js"),
    include_str!("page/groups.js"),
    include_str!("page/table.js"),
    include_str!("page/state.js"),
    include_str!("page/layout.js"),
    include_str!("page/narrow.js"),
    include_str!("page/draw.js"),
    include_str!("page/significance.js"),
    include_str!("page/time_blocks.js"),
    include_str!("page/memo.js"),
    include_str!("page/changes.js"),
    include_str!("page/paints.js"),
    include_str!("page/verdict.js"),
    include_str!("page/model.js"),
    include_str!("page/describe.js"),
    include_str!("page/caption.js"),
    include_str!("page/save.js"),
    include_str!("page/print.js"),
    include_str!("page/help_panel.js"),
    include_str!("page/details_panel.js"),
    include_str!("page/colours_panel.js"),
    include_str!("page/threads_panel.js"),
    include_str!("page/refine_panel.js"),
    include_str!("page/panels.js"),
    include_str!("page/chips.js"),
    include_str!("page/source_panel.js"),
    include_str!("page/frame_menu.js"),
    include_str!("page/list.js"),
    include_str!("page/outline.js"),
    include_str!("page/lanes.js"),
    include_str!("page/stage.js"),
    include_str!("page/keys.js"),
    include_str!("page/theme.js"),
    include_str!("page/header.js"),
    include_str!("page/toolbar.js"),
    include_str!("page/navigation.js"),
    include_str!("page/selection.js"),
    include_str!("page/app.js"),
    include_str!("page/start.js"),
];

/// Modules that only those pages have whose data needs them: the name of each part, and its modules. They may use those of
/// every page, none of which knows them: they add themselves to `extras`.
const PARTS: [(&str, &[&str]); 2] =
    [("several", &[include_str!("page/several.js")]), ("graph", &[include_str!("page/graph.js")])];

const STYLE: &str = include_str!("page/style.css");
const BODY: &str = include_str!("page/body.html");

/// Returns the parts that stand in a page or a picture as they are, by the names of their files. `readable`
/// scripts keep their names and lines.
pub(super) fn plain(readable: bool) -> [(&'static str, String); 2] {
    [("loader.js", script(LOADER, readable)), ("matcher.js", joined(MATCHER))]
}

/// Returns what the loader unpacks, by the names of the sections: first what every page has, then the parts.
pub(super) fn packed(readable: bool) -> Vec<(&'static str, String)> {
    let mut all = joined(MODULES);
    for (name, modules) in PARTS {
        all += &mark(name);
        all += &joined(modules);
    }
    // Together, so that names are the same in all.
    let all = if readable { all } else { minify(&all) };
    let mut sections = vec![("style", style(STYLE)), ("body", BODY.to_owned())];
    let (mut section, mut rest) = ("script", &all[..]);
    for (name, _) in PARTS {
        let (text, behind) = rest.split_once(mark(name).trim()).expect("texts stay as they are");
        sections.push((section, text.trim().to_owned()));
        (section, rest) = (name, behind);
    }
    sections.push((section, rest.trim().to_owned()));
    sections
}

/// A statement between the parts of a script, which does nothing.
fn mark(part: &str) -> String {
    format!("\"part {part}\";\n")
}

fn script(modules: &[&str], readable: bool) -> String {
    let script = joined(modules);
    if readable { script } else { minify(&script) }
}

/// A style sheet without comments and blanks around marks.
fn style(sheet: &str) -> String {
    let mut small = String::new();
    for line in joined(&[sheet]).lines() {
        let mut rest = line;
        // A colon of a selector may stand behind a blank that means something.
        while let Some(at) = rest.find(['{', '}', ';', ',']) {
            small.push_str(rest[..at].trim_end());
            if rest[at..].starts_with('}') && small.ends_with(';') {
                small.pop();
            }
            small.push_str(&rest[at..=at]);
            rest = rest[at + 1..].trim_start();
        }
        small.push_str(rest);
    }
    small.replace(": ", ":")
}

/// Modules one after another: without comments, imports and the word `export`.
fn joined(modules: &[&str]) -> String {
    let mut text = String::new();
    for module in modules {
        append(module, &mut text);
    }
    text
}

fn append(module: &str, text: &mut String) {
    let mut in_comment = false;
    for line in module.lines().map(str::trim) {
        let mut line = line;
        if in_comment || line.starts_with("/*") {
            in_comment = !line.contains("*/");
            line = line.split_once("*/").map_or("", |(_, code)| code.trim_start());
        }
        if line.is_empty() || line.starts_with("//") || line.starts_with("import ") {
            continue;
        }
        push_code(line.strip_prefix("export ").unwrap_or(line), text);
        text.push('\n');
    }
}

/// Appends a line of code without the types that stand in it.
fn push_code(mut line: &str, text: &mut String) {
    while let Some((code, rest)) = line.split_once("/** @")
        && let Some((_, behind)) = rest.split_once("*/")
    {
        text.push_str(code);
        line = behind.trim_start();
    }
    text.push_str(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_imports_and_indentation_are_left_out() {
        let module = "// a\nimport { x } from \"./x.js\";\n\n/** b\n * c */\nexport function f() {\n  \
                      /** @type {T} */ (x).y(\"//\");\n  z(/** @type {[A, B]} */ (x));\n}\n";
        assert_eq!(joined(&[module]), "function f() {\n(x).y(\"//\");\nz((x));\n}\n");
    }

    #[test]
    fn style_sheets_lose_only_blanks() {
        let sheet = "a :hover, b { top: 1px;\n  left: calc(1px + 2px); }\n@media (x: y) { c { d: e } }";
        assert_eq!(style(sheet), "a :hover,b{top:1px;left:calc(1px + 2px)}@media (x:y){c{d:e}}");
    }

    #[test]
    fn modules_are_written_so_that_they_can_be_joined() {
        let parts = PARTS.iter().flat_map(|(_, modules)| modules.iter());
        for module in MODULES.iter().chain(LOADER).chain(parts) {
            let mut imports = true;
            for line in module.lines() {
                assert_eq!(line.matches('`').count() % 2, 0, "a text over several lines: {line}");
                let is_import = line.starts_with("import ");
                assert!(
                    !is_import || (imports && line.ends_with(".js\";") && !line.contains(" as ")),
                    "{line}"
                );
                imports &= is_import || line.is_empty() || line.starts_with('/') || line.starts_with(" *");
                assert!(!line.starts_with("export default") && !line.starts_with("export {"), "{line}");
            }
        }
    }

    #[test]
    fn names_at_the_top_are_of_one_module() {
        let every: Vec<&str> =
            MODULES.iter().chain(PARTS.iter().flat_map(|(_, modules)| *modules)).copied().collect();
        for script in [joined(&every), joined(LOADER)] {
            let mut names: Vec<&str> = Vec::new();
            let mut depth = 0i32;
            for line in script.lines() {
                let declared = ["function ", "function* ", "async function ", "class ", "const ", "let "]
                    .iter()
                    .find_map(|word| line.strip_prefix(word))
                    .filter(|_| depth == 0);
                let end = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(0);
                names.extend(declared.map(|text| &text[..end(text)]).filter(|name| !name.is_empty()));
                depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
            }
            assert!(names.len() > 1, "{names:?}");
            let all = names.len();
            names.sort_unstable();
            let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
            assert!(twice.is_empty(), "of {all}: {twice:?}");
        }
    }

    #[test]
    fn the_sections_of_a_page_are_the_modules_compressed() {
        let readable = option_env!("FG_READABLE_PAGE").is_some();
        let sections = super::super::CODE.into_iter().chain(super::super::PARTS);
        assert_eq!(packed(readable).len(), sections.clone().count());
        for ((name, text), (section, packed)) in packed(readable).into_iter().zip(sections) {
            let small = super::super::base85::tests::read(packed.as_bytes());
            let mut unpacked = String::new();
            std::io::Read::read_to_string(&mut flate2::read::ZlibDecoder::new(&small[..]), &mut unpacked)
                .unwrap();
            assert_eq!((name, text), (section, unpacked));
        }
    }

    #[test]
    fn nothing_ends_the_element_it_stands_in() {
        for readable in [false, true] {
            let [(_, loader), ..] = plain(readable);
            for end in ["</", "<!--"] {
                assert!(!loader.contains(end), "{end}");
            }
        }
    }
}
