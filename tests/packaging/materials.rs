//! The bill of materials, the licences, and the checker of the site: scripts of Python.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{Place, read, skip::skip};

/// Returns true for a Python that reads TOML; if there is none, says that the test is skipped.
fn has_python() -> bool {
    let there = Place::new().run("python3 -c 'import tomllib'", &[]).status == 0;
    if !there {
        skip("there is no Python 3.11 or later");
    }
    there
}

const METADATA: &str = r#"cd "$PROJECT"; "$CARGO" metadata --locked --offline --format-version 1 --no-default-features \
    --features package --filter-platform x86_64-unknown-linux-gnu"#;

fn materials(kind: &str) -> Option<String> {
    let place = Place::new();
    let settings = [("CARGO", env!("CARGO")), ("SOURCE_DATE_EPOCH", "1700000000")];
    let metadata = place.run(METADATA, &settings);
    if metadata.status != 0 {
        skip(format_args!("cargo metadata for Linux needs crates that are not here: {}", metadata.stderr));
        return None;
    }
    place.put("metadata", &metadata.stdout);
    let script = format!(r#"cd "$PROJECT"; packaging/materials {kind} <"$OLDPWD/metadata""#);
    let once = place.succeeds(&script, &settings);
    assert_eq!(place.succeeds(&script, &settings), once, "two bills of the same crates");
    Some(once)
}

#[test]
fn the_bill_names_what_is_linked() {
    let Some(bill) = has_python().then(|| materials("spdx")).flatten() else { return };
    let bill: Value = serde_json::from_str(&bill).unwrap();
    assert_eq!(bill["spdxVersion"], "SPDX-2.3");
    assert_eq!(bill["creationInfo"]["created"], "2023-11-14T22:13:20Z");
    let packages = bill["packages"].as_array().unwrap();
    let names: BTreeSet<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    for linked in ["fg-tools", "inferno", "clap", "resvg", "ratatui", "memchr"] {
        assert!(names.contains(linked), "{linked} is missing");
    }
    // Tests and compilers use these; they are not in the executable.
    for other in ["proptest", "statrs", "serde_derive", "clap_derive", "syn"] {
        assert!(!names.contains(other), "{other} is no part of the programs");
    }
    let inferno = packages.iter().find(|package| package["name"] == "inferno").unwrap();
    assert_eq!(inferno["licenseDeclared"], "CDDL-1.0");
    let sum = inferno["checksums"][0]["checksumValue"].as_str().unwrap();
    assert!(read("Cargo.lock").contains(&format!("checksum = \"{sum}\"")), "{sum}");
    assert_eq!(bill["relationships"].as_array().unwrap().len(), packages.len());
    let said = bill.to_string();
    assert!(!said.contains("file:") && !said.contains(env!("CARGO_MANIFEST_DIR")), "a path of this machine");
}

#[test]
fn notices_have_all_licences() {
    let Some(notices) = has_python().then(|| materials("notices")).flatten() else { return };
    let last = notices.rsplit_once(&format!("\n{}\n", "=".repeat(100))).unwrap().1;
    assert!(last.starts_with("inferno 0."), "the CDDL is the last part");
    assert!(last.contains("COMMON DEVELOPMENT AND DISTRIBUTION LICENSE"), "{}", &last[..200]);
    assert!(notices.contains("the font of PNG pictures"), "the font's licence");
    assert!(!notices.contains(env!("CARGO_MANIFEST_DIR")), "a path of this machine");
}

#[test]
fn a_site_with_holes_is_refused() {
    if !has_python() {
        return;
    }
    let check = r#""$PROJECT/scripts/site-links" site"#;
    let place = Place::new();
    place.put("site/style.css", "body { background: url('back.png') }");
    place.put("site/back.png", "");
    place.put("site/two.html", "<h1 id=here>Two</h1> <a href='index.html'>back</a>");
    let sound = "<link rel=stylesheet href=style.css><a href='two.html#here'>two</a> <a href='https://example.org'>far</a>";
    place.put("site/index.html", sound);
    assert_eq!(place.succeeds(check, &[]), "2 pages, 3 links\n");
    for (hole, said) in [
        ("<a href='two.html#there'>", "index.html: no such heading: two.html#there\n"),
        ("<a href='three.html'>", "index.html: there is no three.html\n"),
        ("<a href='../outside.html'>", "index.html: there is no ../outside.html\n"),
        (
            "<script src='https://cdn.example.org/a.js'></script>",
            "index.html: loads https://cdn.example.org/a.js\n",
        ),
        ("<img src='gone.png'>", "index.html: there is no gone.png\n"),
    ] {
        place.put("site/index.html", &format!("{sound}{hole}"));
        let ran = place.run(check, &[]);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, said));
    }
    place.put("site/index.html", sound);
    place.put("site/style.css", "@font-face { src: url(https://fonts.example.org/a.woff2) }");
    assert_eq!(place.run(check, &[]).status, 1);
}
