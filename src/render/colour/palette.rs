//! The palettes: which colours a name may have.
//!
//! Their names and ranges are those people know from other flame graphs.

use super::{Rgb, Shades, level};
use crate::folded::{Kind, Place};
use crate::render::label::annotation;

/// A palette: the colours that names have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColourScheme {
    /// Every name from one range.
    Plain(Hue),
    /// From a range that depends on the name.
    Named(Rules),
    /// Yellows and reds.
    #[default]
    Hot,
    /// Greens, for memory.
    Mem,
    /// Blues, for input and output.
    Io,
    /// For wakers.
    Wakeup,
    /// White: for differential graphs, where the change has the colour.
    Diff,
}

/// One range of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Hue {
    Red,
    Green,
    Blue,
    Yellow,
    Purple,
    Aqua,
    Orange,
}

/// Rules about the names of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Rules {
    Chain,
    Java,
    Js,
    Perl,
    Python,
    Rust,
}

/// Every palette: what `--colors` calls it, what it is for, and itself.
pub const PALETTES: &[(&str, &str, ColourScheme)] = &[
    ("hot", "yellows and reds", ColourScheme::Hot),
    ("mem", "greens, for memory", ColourScheme::Mem),
    ("io", "blues, for input and output", ColourScheme::Io),
    ("red", "reds", ColourScheme::Plain(Hue::Red)),
    ("green", "greens", ColourScheme::Plain(Hue::Green)),
    ("blue", "blues", ColourScheme::Plain(Hue::Blue)),
    ("yellow", "yellows", ColourScheme::Plain(Hue::Yellow)),
    ("purple", "purples", ColourScheme::Plain(Hue::Purple)),
    ("aqua", "blue greens", ColourScheme::Plain(Hue::Aqua)),
    ("orange", "oranges", ColourScheme::Plain(Hue::Orange)),
    ("wakeup", "blue greens, for wakers", ColourScheme::Wakeup),
    ("chain", "wakers in blue green on blue", ColourScheme::Named(Rules::Chain)),
    ("java", "by kind: jitted, inlined, kernel, C++", ColourScheme::Named(Rules::Java)),
    ("js", "by kind: jitted, script, module, kernel", ColourScheme::Named(Rules::Js)),
    ("perl", "by kind: Perl, C++, kernel", ColourScheme::Named(Rules::Perl)),
    ("python", "by kind: packages, standard library", ColourScheme::Named(Rules::Python)),
    ("rust", "by kind: standard library, other crates", ColourScheme::Named(Rules::Rust)),
    ("diff", "white; differential input has the colour of its change", ColourScheme::Diff),
];

impl ColourScheme {
    /// The palette of a name of [`PALETTES`].
    pub fn by_name(name: &str) -> Option<ColourScheme> {
        PALETTES.iter().find(|(known, _, _)| *known == name).map(|(_, _, palette)| *palette)
    }

    /// The colour of a frame.
    pub fn colour(self, name: &[u8], place: Option<&Place<'_>>, shades: Shades) -> Rgb {
        let Shades { v1, v2, v3 } = shades;
        match self {
            ColourScheme::Plain(hue) => hue.colour(v1),
            ColourScheme::Named(rules) => rules.hue(name, place).colour(v1),
            ColourScheme::Hot => Rgb(level(205.0 + 50.0 * v3), level(230.0 * v1), level(55.0 * v2)),
            ColourScheme::Mem => Rgb(0, level(190.0 + 50.0 * v2), level(210.0 * v1)),
            ColourScheme::Io => {
                let low = level(80.0 + 60.0 * v1);
                Rgb(low, low, level(190.0 + 55.0 * v2))
            }
            ColourScheme::Wakeup => Hue::Aqua.colour(v1),
            ColourScheme::Diff => Rgb(255, 255, 255),
        }
    }

    /// The range a frame is coloured from, in palettes where that depends on its name.
    pub fn hue(self, name: &[u8]) -> Option<Hue> {
        self.hue_at(name, None)
    }

    /// The range a frame is coloured from, in palettes where that depends on the frame: on the kind
    /// of code where its place says it, else on its name.
    pub fn hue_at(self, name: &[u8], place: Option<&Place<'_>>) -> Option<Hue> {
        match self {
            ColourScheme::Named(rules) => Some(rules.hue(name, place)),
            _ => None,
        }
    }

    /// The meaning of its colours, if they have one.
    pub fn legend(self) -> &'static [(&'static str, Hue)] {
        match self {
            ColourScheme::Named(rules) => rules.legend(),
            _ => &[],
        }
    }
}

impl Hue {
    /// A shade of it.
    pub fn colour(self, v: f64) -> Rgb {
        let part = |from: f64, range: f64| level(from + range * v);
        match self {
            Hue::Red => Rgb(part(200.0, 55.0), part(50.0, 80.0), part(50.0, 80.0)),
            Hue::Green => Rgb(part(50.0, 60.0), part(200.0, 55.0), part(50.0, 60.0)),
            Hue::Blue => Rgb(part(80.0, 60.0), part(80.0, 60.0), part(205.0, 50.0)),
            Hue::Yellow => Rgb(part(175.0, 55.0), part(175.0, 55.0), part(50.0, 20.0)),
            Hue::Purple => Rgb(part(190.0, 65.0), part(80.0, 60.0), part(190.0, 65.0)),
            Hue::Aqua => Rgb(part(50.0, 60.0), part(165.0, 55.0), part(165.0, 55.0)),
            Hue::Orange => Rgb(part(190.0, 65.0), part(90.0, 65.0), 0),
        }
    }
}

impl Rules {
    fn hue(self, name: &[u8], place: Option<&Place<'_>>) -> Hue {
        let file = place.map_or(&b""[..], |place| place.file);
        let has = |part: &str| {
            let find = |text| memchr::memmem::find(text, part.as_bytes()).is_some();
            find(name) || find(file)
        };
        let mark = annotation(name).or(place.and_then(mark_of));
        match self {
            Rules::Chain if mark == Some(b'w') => Hue::Aqua,
            Rules::Chain => Hue::Blue,
            Rules::Java => match mark {
                Some(b'j') => Hue::Green,
                Some(b'i') => Hue::Aqua,
                Some(b'k') => Hue::Orange,
                _ if has("::") => Hue::Yellow,
                _ if looks_like_java(name) => Hue::Green,
                _ => Hue::Red,
            },
            Rules::Js => match mark {
                Some(b'j') if has("/") => Hue::Green,
                Some(b'j') => Hue::Aqua,
                Some(b'k') => Hue::Orange,
                _ if has("::") => Hue::Yellow,
                _ if has("node_modules/") => Hue::Purple,
                _ if has(".js") || has(".mjs") || has(".cjs") => Hue::Green,
                _ if has(":") => Hue::Aqua,
                _ => Hue::Red,
            },
            Rules::Perl if has("Perl") || has(".pl") => Hue::Green,
            Rules::Perl if has("::") => Hue::Yellow,
            Rules::Perl if mark == Some(b'k') => Hue::Orange,
            Rules::Perl => Hue::Red,
            Rules::Python if has("site-packages") || has("dist-packages") => Hue::Aqua,
            Rules::Python if is_python_own(name) || is_python_own(file) => Hue::Yellow,
            Rules::Python => Hue::Red,
            Rules::Rust if is_rust_own(name) => Hue::Orange,
            Rules::Rust if has("::") => Hue::Aqua,
            Rules::Rust => Hue::Yellow,
        }
    }

    fn legend(self) -> &'static [(&'static str, Hue)] {
        match self {
            Rules::Chain => &[("woken", Hue::Blue), ("waker", Hue::Aqua)],
            Rules::Java => &[
                ("Java", Hue::Green),
                ("inlined", Hue::Aqua),
                ("C++", Hue::Yellow),
                ("kernel", Hue::Orange),
                ("native", Hue::Red),
            ],
            Rules::Js => &[
                ("script", Hue::Green),
                ("node_modules", Hue::Purple),
                ("built in", Hue::Aqua),
                ("C++", Hue::Yellow),
                ("kernel", Hue::Orange),
                ("native", Hue::Red),
            ],
            Rules::Perl => {
                &[("Perl", Hue::Green), ("C++", Hue::Yellow), ("kernel", Hue::Orange), ("native", Hue::Red)]
            }
            Rules::Python => &[("own", Hue::Red), ("packages", Hue::Aqua), ("standard library", Hue::Yellow)],
            Rules::Rust => {
                &[("standard library", Hue::Orange), ("crates", Hue::Aqua), ("other", Hue::Yellow)]
            }
        }
    }
}

/// The annotation that folded text would have for a place.
fn mark_of(place: &Place<'_>) -> Option<u8> {
    match place.kind {
        Kind::Kernel => Some(b'k'),
        _ if place.inlined => Some(b'i'),
        Kind::Jit => Some(b'j'),
        Kind::User | Kind::Unknown => None,
    }
}

/// `java/util/HashMap`, `Lcom/example/A;::run`, `org.example.Main.main`.
fn looks_like_java(name: &[u8]) -> bool {
    let name = name.strip_prefix(b"L").unwrap_or(name);
    let first = name.split(|b| matches!(b, b'/' | b'.')).next().unwrap_or_default();
    let tops: [&[u8]; 12] = [
        b"java", b"javax", b"jdk", b"jakarta", b"sun", b"com", b"org", b"net", b"io", b"edu", b"scala",
        b"kotlin",
    ];
    first.len() < name.len() && tops.contains(&first)
}

/// The standard library's own files, and what has no file.
fn is_python_own(name: &[u8]) -> bool {
    let has = |part: &str| memchr::memmem::find(name, part.as_bytes()).is_some();
    has("<built-in") || has("<method") || has("<frozen") || has("lib/python3") || has("lib64/python3")
}

/// `core::fmt::write`, `<alloc::vec::Vec<T> as …>::drop`, `<&mut std::io::Stdout as …>`.
fn is_rust_own(name: &[u8]) -> bool {
    let mut name = name;
    while let [b'<' | b'&' | b'*', rest @ ..] = name {
        name = rest;
        for word in [&b"mut "[..], b"dyn ", b"const "] {
            name = name.strip_prefix(word).unwrap_or(name);
        }
    }
    [&b"core::"[..], b"std::", b"alloc::"].iter().any(|own| name.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn palettes_have_the_ranges_people_know() {
        let low = Shades { v1: 0.0, v2: 0.0, v3: 0.0 };
        let high = Shades { v1: 1.0, v2: 1.0, v3: 1.0 };
        for (name, from, to) in [
            ("hot", Rgb(205, 0, 0), Rgb(255, 230, 55)),
            ("mem", Rgb(0, 190, 0), Rgb(0, 240, 210)),
            ("io", Rgb(80, 80, 190), Rgb(140, 140, 245)),
            ("red", Rgb(200, 50, 50), Rgb(255, 130, 130)),
            ("green", Rgb(50, 200, 50), Rgb(110, 255, 110)),
            ("blue", Rgb(80, 80, 205), Rgb(140, 140, 255)),
            ("yellow", Rgb(175, 175, 50), Rgb(230, 230, 70)),
            ("purple", Rgb(190, 80, 190), Rgb(255, 140, 255)),
            ("aqua", Rgb(50, 165, 165), Rgb(110, 220, 220)),
            ("wakeup", Rgb(50, 165, 165), Rgb(110, 220, 220)),
            ("orange", Rgb(190, 90, 0), Rgb(255, 155, 0)),
            ("diff", Rgb(255, 255, 255), Rgb(255, 255, 255)),
        ] {
            let palette = ColourScheme::by_name(name).unwrap();
            assert_eq!(
                (palette.colour(b"f", None, low), palette.colour(b"f", None, high)),
                (from, to),
                "{name}"
            );
        }
        assert_eq!(ColourScheme::by_name("nosuch"), None);
    }

    #[test]
    fn names_are_sorted_by_kind() {
        for (rules, name, hue) in [
            (Rules::Chain, "schedule", Hue::Blue),
            (Rules::Chain, "try_to_wake_up_[w]", Hue::Aqua),
            (Rules::Java, "java/util/HashMap.get_[j]", Hue::Green),
            (Rules::Java, "Lcom/example/Main;.run_[i]", Hue::Aqua),
            (Rules::Java, "do_syscall_64_[k]", Hue::Orange),
            (Rules::Java, "JavaCalls::call_helper", Hue::Yellow),
            (Rules::Java, "Lorg/example/Main", Hue::Green),
            (Rules::Java, "org.example.Main.main", Hue::Green),
            (Rules::Java, "compute", Hue::Red),
            (Rules::Java, "sunset", Hue::Red),
            (Rules::Js, "LazyCompile:~run /app/x_[j]", Hue::Green),
            (Rules::Js, "Builtin:Call_[j]", Hue::Aqua),
            (Rules::Js, "node::Start", Hue::Yellow),
            (Rules::Js, "run /app/index.js", Hue::Green),
            (Rules::Js, "run /app/node_modules/x/index.js", Hue::Purple),
            (Rules::Js, "Stub:Call", Hue::Aqua),
            (Rules::Js, "vfs_read_[k]", Hue::Orange),
            (Rules::Js, "write", Hue::Red),
            (Rules::Perl, "Perl_pp_entersub", Hue::Green),
            (Rules::Perl, "run.pl:3", Hue::Green),
            (Rules::Perl, "a::b", Hue::Yellow),
            (Rules::Perl, "vfs_read_[k]", Hue::Orange),
            (Rules::Perl, "write", Hue::Red),
            (Rules::Python, "get (/usr/lib/python3/site-packages/requests/api.py)", Hue::Aqua),
            (Rules::Python, "run (/usr/lib/python3.11/threading.py)", Hue::Yellow),
            (Rules::Python, "<built-in method sum>", Hue::Yellow),
            (Rules::Python, "_find_and_load (<frozen importlib._bootstrap>)", Hue::Yellow),
            (Rules::Python, "fib (orders.py)", Hue::Red),
            (Rules::Rust, "core::fmt::write", Hue::Orange),
            (Rules::Rust, "<&mut std::io::Stdout as core::fmt::Write>::write_str", Hue::Orange),
            (Rules::Rust, "<serde::de::X as core::fmt::Debug>::fmt", Hue::Aqua),
            (Rules::Rust, "hardcore::run", Hue::Aqua),
            (Rules::Rust, "write", Hue::Yellow),
        ] {
            assert_eq!(rules.hue(name.as_bytes(), None), hue, "{rules:?} {name}");
        }
    }

    #[test]
    fn places_say_the_kind_where_names_do_not() {
        let hue = |rules: Rules, place| rules.hue(b"run", Some(&place));
        let unknown = Place::default();
        for (place, java) in [
            (Place { kind: Kind::Kernel, ..unknown }, Hue::Orange),
            (Place { kind: Kind::Jit, ..unknown }, Hue::Green),
            (Place { kind: Kind::Jit, inlined: true, ..unknown }, Hue::Aqua),
            (Place { kind: Kind::User, ..unknown }, Hue::Red),
        ] {
            assert_eq!(hue(Rules::Java, place), java, "{place:?}");
        }
        let package = Place { file: b"/usr/lib/python3/site-packages/requests/api.py", ..unknown };
        assert_eq!(hue(Rules::Python, package), Hue::Aqua);
        assert_eq!(hue(Rules::Python, Place { file: b"/usr/lib/python3.11/re.py", ..unknown }), Hue::Yellow);
    }

    #[test]
    fn legends_explain_every_hue_that_is_used() {
        for (name, _, palette) in PALETTES {
            if let ColourScheme::Named(_) = palette {
                assert!(palette.legend().len() >= 2, "{name}");
            }
        }
    }
}
