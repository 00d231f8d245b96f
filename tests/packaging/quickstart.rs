//! The first command of README.md, with a stand-in for the build.

use crate::{Place, programs, read};

/// A clone as the script sees it, and a build that takes no time.
fn clone() -> Place {
    let place = Place::new();
    place.stand_in(
        "cargo",
        r#"[ "$*" = "build --quiet --locked --profile quick --bins" ] && mkdir -p target/quick && ln -sf "$BUILT"/fg-* target/quick/"#,
    );
    place.stand_in("browser", r#"echo "$1" > opened"#);
    let files = "mkdir -p scripts docs/gallery
        cp \"$PROJECT/scripts/quickstart\" scripts/
        cp \"$PROJECT/docs/gallery/rustc.folded.gz\" docs/gallery/";
    place.succeeds(files, &[]);
    place
}

#[test]
fn quickstart_opens_a_page_and_names_the_programs() {
    assert!(read("Cargo.toml").contains("\n[profile.quick]\n"), "the profile that it builds");
    let built = programs().to_str().unwrap();
    for (ci, is_opened) in [("", true), ("true", false)] {
        let place = clone();
        let settings = [("BUILT", built), ("CARGO_TARGET_DIR", "target"), ("CI", ci), ("BROWSER", "browser")];
        let said = place.succeeds("scripts/quickstart", &settings);
        let page = place.read("target/quick/rustc.html");
        assert!(page.starts_with("<!doctype html>"));
        assert!(said.contains("page: target/quick/rustc.html"), "{said}");
        let words = said.split_whitespace().map(|word| word.trim_end_matches(';'));
        for name in words.filter(|word| word.starts_with("target/")) {
            assert!(place.path(name).exists(), "{name}: {said}");
        }
        assert!(said.contains("target/quick/fg-record"), "{said}");
        let opened = std::fs::read_to_string(place.path("opened")).unwrap_or_default();
        assert_eq!(opened.trim_end().ends_with("/target/quick/rustc.html"), is_opened, "CI={ci}: {opened}");
    }
}

#[test]
fn quickstart_names_the_page_where_there_is_no_display() {
    let place = clone();
    let built = programs().to_str().unwrap();
    let nothing = ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "CI"];
    let mut settings = vec![("BUILT", built), ("CARGO_TARGET_DIR", "target")];
    settings.extend(nothing.map(|name| (name, "")));
    let ran = place.run("scripts/quickstart", &settings);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.ends_with("/target/quick/rustc.html yourself\n"), "{}", ran.stderr);
}
