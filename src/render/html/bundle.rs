//! The page's modules as one script.
//!
//! In `page/` they are ordinary modules, which tests and type-checkers read as such. In the
//! file they share one scope: lines that import are left out, and so are the word `export`,
//! comments and indentation. That asks three things of them, which tests hold: an import takes
//! one line and renames nothing, names at the top are of one module, and no string goes over
//! several lines.

/// What makes the script of the rest, so that the page starts.
const LOADER: &[&str] = &[include_str!("page/sections.js"), include_str!("page/load.js")];

/// Every module, each after those it needs at once.
const MODULES: &[&str] = &[
    include_str!("page/sections.js"),
    include_str!("page/dom.js"),
    include_str!("page/numbers.js"),
    include_str!("page/names.js"),
    include_str!("page/decode.js"),
    include_str!("page/tree.js"),
    include_str!("page/merge.js"),
    include_str!("page/invert.js"),
    include_str!("page/search.js"),
    include_str!("page/templates.js"),
    include_str!("page/refine.js"),
    include_str!("page/colour.js"),
    include_str!("page/table.js"),
    include_str!("page/state.js"),
    include_str!("page/layout.js"),
    include_str!("page/draw.js"),
    include_str!("page/significance.js"),
    include_str!("page/model.js"),
    include_str!("page/save.js"),
    include_str!("page/print.js"),
    include_str!("page/panels.js"),
    include_str!("page/list.js"),
    include_str!("page/minimap.js"),
    include_str!("page/stage.js"),
    include_str!("page/keys.js"),
    include_str!("page/start.js"),
];

/// What stands in the page as it is.
pub(super) fn loader() -> String {
    joined(LOADER)
}

/// What the loader runs.
pub(super) fn script() -> String {
    joined(MODULES)
}

/// A style sheet without comments and indentation.
pub(super) fn style(sheet: &str) -> String {
    joined(&[sheet])
}

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
        text.push_str(line.strip_prefix("export ").unwrap_or(line));
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_imports_and_indentation_are_left_out() {
        let module = "// a\nimport { x } from \"./x.js\";\n\n/** b\n * c */\nexport function f() {\n  \
                      /** @type {T} */ (x).y(\"//\");\n}\n";
        assert_eq!(joined(&[module]), "function f() {\n(x).y(\"//\");\n}\n");
    }

    #[test]
    fn modules_are_written_so_that_they_can_be_joined() {
        for module in MODULES.iter().chain(LOADER) {
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
        for script in [script(), loader()] {
            let mut names: Vec<&str> = Vec::new();
            let mut depth = 0i32;
            for line in script.lines() {
                let declared = ["function ", "async function ", "class ", "const ", "let "]
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
    fn nothing_ends_the_element_it_stands_in() {
        for end in ["</", "<!--"] {
            assert!(!loader().contains(end), "{end}");
        }
    }
}
