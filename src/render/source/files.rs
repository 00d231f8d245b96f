//! Finds source files on this machine, by the names that a recording has of them.
//!
//! The recording may be another person's, and name any file; the output may be mailed. So a file is
//! read only if, with all links followed, it is below a folder that was allowed, no part of its path
//! below that begins with a dot, its ending is that of source code, and it is a regular file of a bounded
//! size that holds text. What holds for a page besides is in [`super::own`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::own::{self, SourceHere};

/// The largest source file that is read.
const LARGEST: u64 = 8 << 20;
/// The bytes of source that are kept in memory; files beyond that count as not found.
const MOST: usize = 256 << 20;
/// The characters of a line that are shown.
const LONGEST_LINE: usize = 500;

/// The endings of source files.
const ENDINGS: &[&str] = &[
    "adb", "ads", "asm", "c", "c++", "cc", "clj", "cljs", "coffee", "cpp", "cr", "cs", "cu", "cuh", "cxx",
    "d", "dart", "erl", "ex", "exs", "f", "f90", "for", "fs", "go", "groovy", "h", "h++", "hh", "hpp", "hrl",
    "hs", "hxx", "inc", "inl", "ipp", "java", "jl", "js", "jsx", "kt", "kts", "lisp", "lua", "m", "mjs",
    "ml", "mli", "mm", "nim", "pas", "php", "pl", "pm", "py", "pyi", "pyx", "r", "rb", "rkt", "rs", "s",
    "scala", "scm", "sh", "svelte", "swift", "tcc", "tcl", "ts", "tsx", "v", "vala", "vue", "zig",
];

/// The source files below some folders.
pub struct SourceFiles<'h> {
    folders: Vec<PathBuf>,
    /// The folder that was not asked for.
    here: Option<&'h SourceHere>,
    /// By the name in the recording: the lines of a file that was found.
    read: BTreeMap<Vec<u8>, Option<Rc<[String]>>>,
    bytes: usize,
}

impl<'h> SourceFiles<'h> {
    /// Looks for files below these folders; a folder that is not there has none.
    pub fn below(folders: &[PathBuf]) -> SourceFiles<'h> {
        let folders = folders.iter().filter_map(|folder| fs::canonicalize(folder).ok());
        // Everything is below the root.
        let folders = folders.filter(|folder| folder.parent().is_some()).collect();
        SourceFiles { folders, here: None, read: BTreeMap::new(), bytes: 0 }
    }

    /// Looks in a folder, too, that was not asked for, and tells it of the files that are read there.
    pub fn and_here(self, here: &'h SourceHere) -> SourceFiles<'h> {
        SourceFiles { here: Some(here), ..self }
    }

    /// The lines of a file that the recording names so, if it is found.
    pub fn lines(&mut self, recorded: &[u8]) -> Option<Rc<[String]>> {
        if !self.read.contains_key(recorded) {
            let fits = |text: &String| self.bytes + text.len() <= MOST;
            let asked = self.find(recorded).and_then(|path| read(&path)).filter(fits);
            let text = asked.or_else(|| {
                let path = self.find_here(recorded)?;
                let text = read(&path).filter(fits)?;
                self.here.inspect(|here| here.note(path));
                Some(text)
            });
            self.bytes += text.as_ref().map_or(0, String::len);
            let lines = text.map(|text| text.lines().map(shown).collect());
            self.read.insert(recorded.to_vec(), lines);
        }
        self.read[recorded].clone()
    }

    /// The file itself, without links. In each folder these are tried: the recorded path as it is, the path
    /// from that folder, and what stands behind the folder's own name in it, for a recording of another
    /// machine.
    fn find(&self, recorded: &[u8]) -> Option<PathBuf> {
        let recorded = Path::new(std::str::from_utf8(recorded).ok()?);
        self.folders.iter().find_map(|folder| {
            let inside: PathBuf = recorded
                .components()
                .filter(|part| !matches!(part, Component::RootDir | Component::Prefix(_)))
                .collect();
            let own = folder.file_name()?;
            let parts: Vec<Component<'_>> = recorded.components().collect();
            let moved = parts.iter().rposition(|part| part.as_os_str() == own);
            let moved = moved.map(|at| parts[at + 1..].iter().collect::<PathBuf>());
            let mut tried = vec![recorded.to_owned()];
            tried.extend([Some(inside), moved].into_iter().flatten().map(|path| folder.join(path)));
            tried.into_iter().filter(|path| path.is_absolute()).find_map(|path| {
                let path = fs::canonicalize(path).ok()?;
                is_allowed(path.strip_prefix(folder).ok()?).then_some(path)
            })
        })
    }
}

impl SourceFiles<'_> {
    /// The file below the folder that was not asked for, if the recording names it as it is.
    fn find_here(&self, recorded: &[u8]) -> Option<PathBuf> {
        let folder = self.here?.folder()?;
        let path = fs::canonicalize(folder.join(std::str::from_utf8(recorded).ok()?)).ok()?;
        (is_allowed(path.strip_prefix(folder).ok()?) && own::is_code(&path)).then_some(path)
    }
}

/// Returns true if a path below an allowed folder is that of source code, and not hidden.
fn is_allowed(below: &Path) -> bool {
    let hidden = below.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."));
    let ending = below.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    !hidden && ending.is_some_and(|ending| ENDINGS.contains(&&*ending))
}

/// The text of a regular file.
fn read(path: &Path) -> Option<String> {
    // Opening a pipe would wait for its writer.
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    let is_text = bytes.len() as u64 <= LARGEST && !bytes.contains(&0);
    is_text.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// A line with its tabs as spaces, cut if it is too long to be written by hand.
fn shown(line: &str) -> String {
    let mut text = String::new();
    for (at, c) in line.chars().enumerate() {
        if at == LONGEST_LINE {
            text.push('…');
            break;
        }
        match c {
            '\t' => {
                let column = text.chars().count();
                text.extend(std::iter::repeat_n(' ', 4 - column % 4));
            }
            _ => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder `home` with a project `app` in it, and files with their texts.
    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn found(files: &mut SourceFiles<'_>, recorded: impl AsRef<Path>) -> Option<String> {
        files.lines(recorded.as_ref().to_str().unwrap().as_bytes()).map(|lines| lines.join("\n"))
    }

    #[test]
    fn files_are_found_by_their_path_from_the_folder_and_from_its_name() {
        let home = folder(&[("app/src/main.c", b"int\tmain;\n\x1b[2J\n"), ("app/other.c", b"other")]);
        let app = home.path().join("app");
        let mut files = SourceFiles::below(&[app.clone(), home.path().join("nothing")]);
        for recorded in [
            app.join("src/main.c"),
            "src/main.c".into(),
            "./src/../src/main.c".into(),
            "/ci/app/src/main.c".into(),
        ] {
            let text = found(&mut files, &recorded);
            assert_eq!(text.as_deref(), Some("int main;\n\x1b[2J"), "{}", recorded.display());
        }
        for recorded in ["main.c", "/ci/build/src/main.c", "src", "", "app"] {
            assert_eq!(found(&mut files, recorded), None, "{recorded}");
        }
    }

    /// A profile of another person names files that are no business of the page's reader.
    #[test]
    fn files_elsewhere_are_not_read() {
        let home = folder(&[
            ("app/main.c", b"main"),
            ("app/.git/hooks.c", b"hidden"),
            ("app/.env", b"SECRET=1"),
            ("app/secrets.yaml", b"secret"),
            ("app/binary.c", b"a\0b"),
            ("app/folder.c/x", b""),
            (".ssh/key.c", b"key"),
            ("other/main.c", b"other"),
        ]);
        let app = home.path().join("app");
        let mut files = SourceFiles::below(&[app.clone(), PathBuf::from("/")]);
        assert_eq!(found(&mut files, "main.c").as_deref(), Some("main"));
        for recorded in [
            "/etc/passwd".into(),
            "/etc/shadow".into(),
            "../other/main.c".into(),
            "../.ssh/key.c".into(),
            home.path().join("other/main.c"),
            app.join("../other/main.c"),
            app.join(".git/hooks.c"),
            app.join(".env"),
            app.join("secrets.yaml"),
            app.join("binary.c"),
            app.join("folder.c"),
            "/dev/zero".into(),
        ] {
            assert_eq!(found(&mut files, &recorded), None, "{}", recorded.display());
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_nowhere_else() {
        let home = folder(&[("app/main.c", b"main"), ("secret.c", b"secret")]);
        let app = home.path().join("app");
        std::os::unix::fs::symlink(home.path().join("secret.c"), app.join("link.c")).unwrap();
        std::os::unix::fs::symlink(home.path(), app.join("up")).unwrap();
        std::os::unix::fs::symlink("main.c", app.join("same.c")).unwrap();
        let mut files = SourceFiles::below(&[app]);
        assert_eq!(found(&mut files, "same.c").as_deref(), Some("main"));
        assert_eq!(found(&mut files, "link.c"), None);
        assert_eq!(found(&mut files, "up/secret.c"), None);
    }

    #[test]
    fn huge_files_are_left_out_and_long_lines_cut() {
        let long = "x".repeat(2000);
        let home = folder(&[("long.js", long.as_bytes()), ("huge.c", &vec![b'\n'; LARGEST as usize + 1])]);
        let mut files = SourceFiles::below(&[home.path().to_owned()]);
        assert_eq!(files.lines(b"huge.c"), None);
        assert_eq!(files.lines(b"long.js").unwrap()[0].chars().count(), LONGEST_LINE + 1);
    }
}
