//! Links between pages lead to files and headings that are there.

use super::page::{Page, pages, project};

/// The heading's anchor, as mdBook and code hosts make it.
fn anchor(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn anchors(page: &Page) -> Vec<String> {
    let headings = page.text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

/// The targets of `[text](target)` and of `src="target"` outside of code blocks.
fn targets(page: &Page) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_block = false;
    for (n, line) in page.text.lines().enumerate() {
        if line.starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        for (before, after) in [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"')] {
            for rest in line.split(before).skip(1) {
                found.push((n + 1, rest.split(after).next().unwrap().to_owned()));
            }
        }
    }
    found
}

#[test]
fn links_lead_somewhere() {
    let mut links = 0;
    for page in pages() {
        let folder = project().join(&page.name).parent().unwrap().to_owned();
        for (line, target) in targets(&page) {
            links += 1;
            let place = format!("{}:{line}: {target}", page.name);
            // The live page is made with the site: see scripts/docs.
            if target.starts_with("https://") || target == "images/page.html" {
                continue;
            }
            let (file, wanted) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() { project().join(&page.name) } else { folder.join(file) };
            assert!(path.exists(), "{place}: there is no such file");
            // The site holds docs/ and nothing else.
            let leaves = page.name.starts_with("docs/") && file.starts_with("..");
            assert!(!leaves, "{place}: name the file in the text, the site has no such page");
            if !wanted.is_empty() {
                let name = path.canonicalize().unwrap();
                let name = name.strip_prefix(project().canonicalize().unwrap()).unwrap().to_owned();
                let there = anchors(&Page::open(name.to_str().unwrap()));
                assert!(there.iter().any(|anchor| anchor == wanted), "{place}: no such heading in {there:?}");
            }
        }
    }
    assert!(links > 30, "{links} links");
}

/// Each page is in the site's table of contents, once.
#[test]
fn the_site_has_every_page() {
    let summary = targets(&Page::open("docs/SUMMARY.md"));
    for page in pages() {
        let Some(name) = page.name.strip_prefix("docs/").filter(|name| *name != "SUMMARY.md") else {
            continue;
        };
        let times = summary.iter().filter(|(_, target)| target == name).count();
        assert_eq!(times, 1, "docs/SUMMARY.md: {name}");
    }
}
