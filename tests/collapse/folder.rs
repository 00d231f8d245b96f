//! Folders of recordings: `fg-collapse -r`.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use super::feed::text;

/// A perf script of one sample.
fn perf(command: &str, event: &str, weight: u32, function: &str) -> String {
    format!("{command}  1 5.000001: {weight} {event}: \n\t            1000 {function} (/a)\n\n")
}

/// Writes files below a folder, old enough for a cache.
fn write(root: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        age(&path);
    }
}

/// Makes a file an hour old.
fn age(path: &Path) {
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    File::options().append(true).open(path).unwrap().set_modified(hour_ago).unwrap();
}

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
    command.arg("-r").args(args).current_dir(folder).output().unwrap()
}

/// The output of a run that read everything.
#[track_caller]
fn folded(folder: &Path, args: &[&str]) -> String {
    let out = run(folder, args);
    assert_eq!(out.status.code(), Some(0), "{args:?}: {}", text(&out.stderr));
    text(&out.stdout)
}

#[test]
fn folders_are_read_as_the_same_files_are() {
    let root = tempfile::tempdir().unwrap();
    let gz = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(perf("b", "cpu-clock", 4, "g").as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    write(
        root.path(),
        &[
            ("x/1.perf", &perf("a", "cpu-clock", 3, "f")),
            // Another event of the same unit comes first, and one that is left out.
            ("x/2.perf", &(perf("a", "task-clock", 5, "f") + &perf("a", "cpu-clock", 7, "f"))),
            ("y/deep/er/3.folded", "# unit: ns\na;f 10\nz 1.5\n"),
            ("y/4.folded", "z 2\n"),
            (".hidden", "hidden 1\n"),
        ],
    );
    fs::write(root.path().join("5.gz"), gz).unwrap();
    let files = ["5.gz", "x/1.perf", "x/2.perf", "y/4.folded", "y/deep/er/3.folded"];
    let one_by_one = Command::new(env!("CARGO_BIN_EXE_fg-collapse"))
        .args(files)
        .current_dir(root.path())
        .output()
        .unwrap();
    let expected = text(&one_by_one.stdout);
    assert!(expected.contains("a;f 20\n") && expected.contains("z 3.5\n"), "{expected}");
    for args in [
        &[][..],
        &["--threads", "1"],
        &["--threads", "3"],
        &["--threads", "16"],
        &["--memory", "1"],
        &[".", "-q"],
        &["5.gz", "x", "y"],
    ] {
        assert_eq!(folded(root.path(), args), expected, "{args:?}");
    }
}

#[test]
fn files_that_cannot_be_read_are_named_and_left_out() {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        &[
            ("a.folded", "# unit: ns\nmain 3\n"),
            ("b/notes.txt", "hello there\nthis is no recording\n"),
            ("c.folded", "# unit: bytes\nmain 100\n"),
            ("d.folded", "# unit: ns\nmain 4\n"),
            ("e.folded", "# columns: before, after\nmain 4 5\n"),
            ("f.folded", "# unit: ns\n"),
        ],
    );
    for threads in ["1", "4"] {
        let out = run(root.path(), &["--threads", threads, "--no-header"]);
        assert_eq!((out.status.code(), text(&out.stdout)), (Some(1), "main 7\n".into()));
        let says = text(&out.stderr);
        let lines: Vec<&str> = says.lines().collect();
        for (line, start) in lines.iter().zip([
            "fg-collapse: b/notes.txt: not a format known here",
            "fg-collapse: c.folded: weights in bytes cannot be added to weights in ns",
            "fg-collapse: e.folded: a profile and a differential profile",
            "fg-collapse: left out 3 of 6 files",
            "fg-collapse: 1 of 3 files have no samples",
        ]) {
            assert!(line.starts_with(start), "{says}");
        }
        assert_eq!(lines.len(), 5, "{says}");
        let strict = run(root.path(), &["--threads", threads, "--strict", "-o", "out"]);
        assert_eq!(strict.status.code(), Some(2));
        assert!(text(&strict.stderr).starts_with("fg-collapse: b/notes.txt: not a format"), "{strict:?}");
        assert!(!root.path().join("out").exists());
    }
    let none = run(root.path(), &["b"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).contains("b: no samples in it: none of 1 files could be read"), "{none:?}");
    let missing = run(root.path(), &["missing", "a.folded"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).starts_with("fg-collapse: missing: cannot open"), "{missing:?}");
}

#[test]
fn files_of_another_unit_are_one_message() {
    let root = tempfile::tempdir().unwrap();
    let bytes = "# unit: bytes\nmain 100\n";
    write(
        root.path(),
        &[
            ("a.folded", "# unit: ns\nmain 3\n"),
            ("b.folded", bytes),
            ("c.folded", bytes),
            ("d.folded", bytes),
        ],
    );
    let out = run(root.path(), &["--no-header"]);
    let says = text(&out.stderr);
    let start = "fg-collapse: b.folded: weights in bytes cannot be added to weights in ns; ";
    assert!(says.starts_with(start) && says.contains("; 2 more like it\n"), "{says}");
    assert_eq!(says.lines().count(), 2, "{says}");
    // With all values each unit is below its own root.
    let out = run(root.path(), &["--no-header", "--value=all"]);
    assert_eq!(text(&out.stdout), "bytes;main 300\nns;main 3\n");
}

#[test]
fn the_path_gives_labels() {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        &[
            ("api/2.3/n1/a.perf", &perf("srv", "cpu-clock", 3, "f")),
            ("api/2.3/n2/a.perf", &perf("srv", "cpu-clock", 4, "f")),
            ("api/2.2/n1/b.folded", "# unit: ns\nsrv;f 5\n"),
            ("web;x/1/n1/b.folded", "# unit: ns\nsrv;f 6\nsrv;g 1\n"),
        ],
    );
    let pattern = "{service}/{version}/{host}/*";
    let header = "# unit: ns\n# labels: service, version\n";
    let labels = "--label=service,version";
    assert_eq!(
        folded(root.path(), &[labels, "--path-pattern", pattern]),
        format!(
            "{header}service=api;version=2.2;srv;f 5\nservice=api;version=2.3;srv;f 7\n\
             service=web:x;version=1;srv;f 6\nservice=web:x;version=1;srv;g 1\n"
        )
    );
    // Those of the recording follow, empty where it has none.
    assert_eq!(
        folded(root.path(), &["--label", "thread,host", "--path-pattern", pattern, "--no-header"]),
        "host=n1;thread=;srv;f 11\nhost=n1;thread=;srv;g 1\nhost=n1;thread=srv;srv;f 3\n\
         host=n2;thread=srv;srv;f 4\n"
    );
    write(root.path(), &[("stray.folded", "main 1\n")]);
    let out = run(root.path(), &[labels, "--path-pattern", pattern]);
    assert_eq!(out.status.code(), Some(1));
    assert!(
        text(&out.stderr).starts_with(
            "fg-collapse: stray.folded: its path does not fit --path-pattern {service}/{version}/{host}/*\n"
        ),
        "{out:?}"
    );
    for (args, message) in [
        (&["--label", "nonsense"][..], "no recording has the label \"nonsense\""),
        (&["--label", "x", "--path-pattern", pattern], "none of the labels"),
        (&["--path-pattern", "{a"], "needs its }"),
        (&["--label", "thread,thread"], "\"thread\" was asked for twice"),
    ] {
        let out = run(root.path(), args);
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(text(&out.stderr).contains(message), "{args:?}: {out:?}");
    }
}

#[test]
fn the_output_is_not_read_again() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), &[("a.folded", "main 1\n")]);
    for _ in 0..2 {
        let out = run(root.path(), &["-o", "out.folded", "--cache", "cache"]);
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        assert_eq!(fs::read_to_string(root.path().join("out.folded")).unwrap(), "main 1\n");
    }
    #[cfg(unix)]
    {
        fs::remove_file(root.path().join("out.folded")).unwrap();
        let path = root.path().join("redirected.folded");
        fs::write(&path, "main 5\n").unwrap();
        let file = File::options().append(true).open(&path).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
        let status = command.args(["-r", "--cache=cache"]).current_dir(root.path()).stdout(file).status();
        assert!(status.unwrap().success());
        assert_eq!(fs::read_to_string(&path).unwrap(), "main 5\nmain 1\n");
    }
}

/// More files than the process may have open, large ones in order among them.
#[cfg(unix)]
#[test]
fn few_descriptors_are_enough_for_many_files() {
    let root = tempfile::tempdir().unwrap();
    for n in 0..1000 {
        let folder = root.path().join((n % 10).to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(n.to_string()), format!("main;small;f{} {n}\n", n % 10)).unwrap();
    }
    let long = "x".repeat(1000);
    let lines: String = (100..400).map(|n| format!("main;large {long};g{n} 1\n")).collect();
    for n in 0..80 {
        fs::write(root.path().join(format!("large{n}")), &lines).unwrap();
    }
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n 64; exec \"$0\" -r --threads 4 \"$1\"", env!("CARGO_BIN_EXE_fg-collapse")])
        .arg(root.path());
    let out = command.output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let stacks = text(&out.stdout);
    let large = stacks.lines().filter(|line| line.starts_with("main;large") && line.ends_with(" 80"));
    assert_eq!(large.count(), 300);
    let small = |n: u64| format!("main;small;f{n} {}\n", (0..100).map(|m| 10 * m + n).sum::<u64>());
    assert!((0..10).all(|n| stacks.contains(&small(n))), "{}", &stacks[stacks.len() - 400..]);
    assert_eq!(stacks.lines().count(), 310);
}

/// The entries of a cache.
fn entries(cache: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(cache).into_iter().flatten().map(|folder| folder.unwrap().path());
    let mut all: Vec<PathBuf> =
        folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())).collect();
    all.sort();
    all
}

#[test]
fn a_cache_does_the_work_once() {
    let (root, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cache_arg = format!("--cache={}", cache.path().display());
    let large: String = (0..30_000).map(|n| format!("main;{n:06} {n}\n")).collect();
    write(
        root.path(),
        &[
            ("s/a.perf", &(perf("srv", "cpu-clock", 3, "f") + &perf("srv", "page-faults", 3, "g"))),
            ("s/b.perf", &perf("srv", "cpu-clock", 4, "f")),
            ("t/c.folded", &format!("# unit: ns\n# host: n1\n{large}")),
            ("t/odd.folded", "# unit: ns\nmain 1\nnot understood\n"),
        ],
    );
    // The number of files that were not read.
    let cached = |args: &[&str]| {
        let out = run(root.path(), &[args, &[&cache_arg[..], "-v"]].concat());
        let says = text(&out.stderr);
        let line = says.lines().find(|line| line.ends_with("of them from the cache"));
        let line = line.unwrap_or_else(|| panic!("{says}"));
        let words: Vec<&str> = line.split(' ').collect();
        (words[2].parse::<u32>().unwrap(), words[4].parse::<u32>().unwrap(), text(&out.stdout))
    };
    let labelled = ["--label=folder,thread", "--path-pattern={folder}/*"];
    for args in [&[][..], &labelled, &["--threads-as-frames"]] {
        let plain = run(root.path(), args);
        assert_eq!(cached(args), (4, 0, text(&plain.stdout)), "{args:?}");
        // A file with a line that is not understood is read again, and says so again.
        assert_eq!(cached(args), (4, 3, text(&plain.stdout)), "{args:?}");
        let quiet = run(root.path(), &[args, &[&cache_arg]].concat());
        assert_eq!(text(&quiet.stderr), text(&plain.stderr));
    }
    assert_eq!(entries(cache.path()).len(), 9);

    // Neither half an entry nor a damaged one is used.
    let plain = text(&run(root.path(), &[]).stdout);
    for (at, entry) in entries(cache.path()).iter().enumerate() {
        let mut bytes = fs::read(entry).unwrap();
        match at % 3 {
            0 => bytes.truncate(bytes.len() / 2),
            1 => bytes.clear(),
            _ => bytes[8] ^= 1,
        }
        fs::write(entry, bytes).unwrap();
    }
    assert_eq!(cached(&[]), (4, 0, plain.clone()));
    assert_eq!(cached(&[]), (4, 3, plain));

    // What changes is read again, and so is what has the time and the size of a file that was there.
    write(root.path(), &[("s/b.perf", &perf("srv", "cpu-clock", 9, "f"))]);
    let (_, from_cache, now) = cached(&[]);
    assert_eq!(from_cache, 2);
    assert!(now.contains("\nsrv;f 12\n"));

    // A file of just now may change again within the same tick of the clock.
    fs::write(root.path().join("new.folded"), "# unit: ns\nmain 1\n").unwrap();
    let of_the_future = SystemTime::now() + Duration::from_secs(3600);
    File::options()
        .append(true)
        .open(root.path().join("new.folded"))
        .unwrap()
        .set_modified(of_the_future)
        .unwrap();
    assert_eq!(cached(&[]).1, 3);
    assert_eq!(cached(&[]).1, 3);
}

#[test]
fn a_cache_is_bounded() {
    let (root, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cache_arg = format!("--cache={}", cache.path().display());
    for n in 0..20 {
        write(root.path(), &[(&format!("{n:02}"), "main 1\n")]);
    }
    assert_eq!(folded(root.path(), &[&cache_arg]), "main 20\n");
    assert_eq!(entries(cache.path()).len(), 20);
    // One more makes it too large; entries that were used long ago go first.
    let old: Vec<PathBuf> = entries(cache.path()).into_iter().take(17).collect();
    old.iter().for_each(|entry| age(entry));
    write(root.path(), &[("20", "main 1\n")]);
    assert_eq!(folded(root.path(), &[&cache_arg, "--cache-size=16k"]), "main 21\n");
    let left = entries(cache.path());
    assert_eq!(left.len(), 4);
    assert!(old.iter().all(|entry| !left.contains(entry)), "{left:?}");
    // A folder that cannot be made is an error, before anything is read.
    fs::write(root.path().join("file"), "main 1\n").unwrap();
    let out = run(root.path(), &["--cache=file/x"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).starts_with("fg-collapse: file/x: cannot make the folder"), "{out:?}");
}

#[test]
fn a_folder_is_written_in_formats_of_exchange() {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        &[
            ("api/n1/a.perf", &perf("srv", "cpu-clock", 3, "f")),
            ("api/n2/b.folded", "# unit: ns\nsrv;f 5\n"),
            ("web/n1/notes.txt", "hello there\nthis is no recording\n"),
        ],
    );
    let labels = ["--label=service,host", "--path-pattern={service}/{host}/*"];
    for name in ["out.pb.gz", "out.pprof", "out.otlp"] {
        let out = run(root.path(), &[labels[0], labels[1], "-q", "-o", name, "api", "web/n1"]);
        // The path below `api` has no service.
        assert_eq!(out.status.code(), Some(2), "{out:?}");
        assert!(!root.path().join(name).exists());
        let out = run(root.path(), &[labels[0], labels[1], "--no-header", "-o", name]);
        assert_eq!(out.status.code(), Some(1), "{out:?}");
        assert!(text(&out.stderr).starts_with("fg-collapse: web/n1/notes.txt: not a format"), "{out:?}");
        let back =
            Command::new(env!("CARGO_BIN_EXE_fg-collapse")).arg(root.path().join(name)).output().unwrap();
        let back = text(&back.stdout);
        assert!(back.contains("# unit: ns\n") && back.contains("# labels: service, host\n"), "{back}");
        let stacks: String =
            back.lines().filter(|line| !line.starts_with("# ")).map(|l| format!("{l}\n")).collect();
        assert_eq!(stacks, "service=api;host=n1;srv;f 3\nservice=api;host=n2;srv;f 5\n", "{name}");
        std::fs::remove_file(root.path().join(name)).unwrap();
    }
    let missing = run(root.path(), &["-o", "missing/out.pb.gz", "api"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).starts_with("fg-collapse: missing/out.pb.gz: cannot open"), "{missing:?}");
}

#[cfg(feature = "parquet")]
mod store {
    use super::*;

    /// The exit status of a run that adds to the store `data`, and its messages.
    fn add(folder: &Path, more: &[&str]) -> (Option<i32>, String) {
        let pattern = ["in", "--store", "data", "--path-pattern", "{service}/{host}/*"];
        let out = run(folder, &[&pattern, more].concat());
        assert_eq!(text(&out.stdout), "");
        (out.status.code(), text(&out.stderr))
    }

    /// The stacks of the store as folded text.
    fn stacks(folder: &Path) -> String {
        folded(folder, &["data/stacks", "--no-header", "--quiet"])
    }

    #[test]
    fn recordings_are_added_once_whatever_their_names() {
        let root = tempfile::tempdir().unwrap();
        let (path, at) = (root.path(), |name: &str| root.path().join(name));
        write(
            path,
            &[
                ("in/api/h1/2026-11-21.folded", "# unit: ns\nmain;f 3\nmain;f;main 0.5\n"),
                ("in/api/h2/b.folded", "# unit: ns\nmain;f 4\n"),
                ("in/odd=a b/h1/c.folded", "# unit: ns\nmain 1\n"),
            ],
        );
        let said = |new, there| {
            format!("fg-collapse: data: added {new} recordings, {there} there before, 0 left out\n")
        };
        assert_eq!(add(path, &[]), (Some(0), said(3, 0)));
        assert_eq!(add(path, &[]), (Some(0), said(0, 3)));
        assert_eq!(stacks(path), "main 1\nmain;f 7\nmain;f;main 0.5\n");
        let days = |table: &str| fs::read_dir(at("data").join(table)).unwrap().count();
        assert_eq!([days("stacks"), days("functions"), days("recordings"), days("rejects")], [1; 4]);
        let run = fs::read_dir(at("data/stacks")).unwrap().next().unwrap().unwrap().path();
        assert!(run.join("day=2026-11-21/service=api/part-0.parquet").is_file());
        let is_odd = |day: fs::DirEntry| day.path().join("service=odd%3Da b/part-0.parquet").is_file();
        assert!(fs::read_dir(&run).unwrap().any(|day| is_odd(day.unwrap())));
        // A copy under the same labels is no other recording, one of another host is.
        fs::copy(at("in/api/h2/b.folded"), at("in/api/h2/copy.folded")).unwrap();
        fs::create_dir(at("in/api/h3")).unwrap();
        fs::copy(at("in/api/h2/b.folded"), at("in/api/h3/b.folded")).unwrap();
        assert_eq!(add(path, &[]), (Some(0), said(1, 4)));
        assert_eq!(stacks(path), "main 1\nmain;f 11\nmain;f;main 0.5\n");
        assert_eq!(fs::read_dir(at("data/_staging")).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_said_once_until_it_changes() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path();
        write(
            path,
            &[
                ("in/api/h1/a.folded", "main 3\n"),
                ("in/api/h1/bad", "no recording\n"),
                ("in/stray", "main 1\n"),
            ],
        );
        let (status, said) = add(path, &[]);
        assert_eq!(status, Some(1));
        assert!(said.contains("in/api/h1/bad: not a format known here"), "{said}");
        assert!(said.contains("in/stray: its path does not fit --path-pattern {service}/{host}/*"), "{said}");
        assert!(said.ends_with("added 1 recordings, 0 there before, 2 left out\n"), "{said}");
        let (status, said) = add(path, &[]);
        assert_eq!((status, said.lines().count()), (Some(0), 1), "{said}");
        assert_eq!(add(path, &["--strict"]).0, Some(1));
        fs::write(path.join("in/api/h1/bad"), "main;mended 2\n").unwrap();
        let (status, said) = add(path, &[]);
        assert_eq!(status, Some(0));
        assert!(said.ends_with("added 1 recordings, 1 there before, 1 left out\n"), "{said}");
        assert_eq!(stacks(path), "main 3\nmain;mended 2\n");
    }

    #[test]
    fn what_a_run_left_that_was_killed_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path();
        write(path, &[("in/api/h1/a.folded", "main 3\n")]);
        assert_eq!(add(path, &[]).0, Some(0));
        // Moved but for the last table, and held by nobody.
        let left = path.join("data/stacks/run=dead");
        fs::create_dir(&left).unwrap();
        write(path, &[("in/api/h1/b.folded", "main 4\n")]);
        assert_eq!(add(path, &[]).0, Some(0));
        assert!(!left.exists());
    }

    #[test]
    fn labels_that_nobody_asks_for_are_refused() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), &[("in/a/x.folded", "main 3\n")]);
        let out = run(root.path(), &["in", "--path-pattern", "{service}/*"]);
        assert_eq!(out.status.code(), Some(2));
        assert_eq!(
            text(&out.stderr),
            "fg-collapse: --path-pattern needs --label: it has the labels service\n"
        );
    }
}
