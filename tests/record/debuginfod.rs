//! `--debuginfod`: names of a stripped program, from a server on this machine.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use super::installed::works;
use super::process::until;
use super::{fg_record, recorded, set_mode, share, share_within, text};

const PROGRAM: &str = r#"
static volatile unsigned long x;
static __attribute__((noinline)) void hidden(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; x++; }
int main(void) { hidden(300000000); return 0; }
"#;

/// A folder with a stripped program, what was stripped off it, and a recording.
struct Stripped {
    folder: tempfile::TempDir,
    data: PathBuf,
    build_id: String,
}

/// `None`, said, where there is no compiler, or nothing can be recorded.
fn stripped() -> Option<Stripped> {
    if !works("cc") || !works("objcopy") {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.c"), PROGRAM).expect("a source");
    let script = "cc -O1 -g -Wl,--build-id -o app a.c && objcopy --only-keep-debug app app.debug && strip app
        readelf -n app | sed -n 's/.*Build ID: //p'";
    let built = Command::new("sh").args(["-c", script]).current_dir(folder.path()).output().expect("a shell");
    assert!(built.status.success(), "{built:?}");
    let build_id = text(&built.stdout).trim().to_owned();
    assert!(build_id.len() >= 16, "{built:?}");
    let data = folder.path().join("perf.data");
    let mut command = fg_record();
    command.args(["--raw", "-o"]).arg(&data).arg("--").arg(folder.path().join("app"));
    recorded(&mut command)?;
    Some(Stripped { folder, data, build_id })
}

impl Stripped {
    fn collapsed(&self, servers: Option<&str>, path: Option<&Path>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
        command.arg(&self.data).env_remove("DEBUGINFOD_URLS");
        command.args(servers.map(|servers| format!("--debuginfod={servers}")));
        command.env("DEBUGINFOD_CACHE_PATH", self.folder.path().join("cache")).env("HOME", "/nowhere");
        if let Some(path) = path {
            command.env("PATH", path);
        }
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        output
    }
}

/// A server of one build id, and the paths that it was asked for.
fn serve(build_id: &str, debug: Vec<u8>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (seen, wanted) = (asked.clone(), format!("/buildid/{build_id}/debuginfo"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let path = lines.next().unwrap_or_default().split(' ').nth(1).unwrap_or_default().to_owned();
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let (status, body) =
                if path == wanted { ("200 OK", &debug[..]) } else { ("404 Not Found", &b""[..]) };
            seen.lock().expect("nobody panics").push(path);
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            // Who asks may be gone.
            let _ = (&stream).write_all(head.as_bytes()).and_then(|()| (&stream).write_all(body));
        }
    });
    (address, asked)
}

#[test]
fn functions_are_named_by_a_server_and_from_the_cache() {
    if !works("debuginfod-find") {
        return;
    }
    let Some(stripped) = stripped() else { return };
    let debug = fs::read(stripped.folder.path().join("app.debug")).expect("debug information");
    let (server, asked) = serve(&stripped.build_id, debug);
    let without = stripped.collapsed(None, None);
    assert_eq!(share(&text(&without.stdout), "hidden"), 0.0, "nobody is asked unasked");
    assert!(asked.lock().expect("nobody panics").is_empty());
    let output = stripped.collapsed(Some(&server), None);
    assert!(share(&text(&output.stdout), "hidden") > 0.5, "{output:?}");
    assert!(share_within(&text(&output.stdout), Some("hidden"), "main") > 0.9, "{output:?}");
    let wanted = format!("/buildid/{}/debuginfo", stripped.build_id);
    let times = || asked.lock().expect("nobody panics").iter().filter(|path| **path == wanted).count();
    assert_eq!(times(), 1);
    let again = stripped.collapsed(Some(&server), None);
    assert_eq!((again.stdout, times()), (output.stdout, 1), "it is in the cache");
    // A recorder asks as well.
    let mut command = fg_record();
    command
        .arg(format!("--debuginfod={server}"))
        .env("DEBUGINFOD_CACHE_PATH", stripped.folder.path().join("cache"));
    let Some(output) = recorded(command.arg("--").arg(stripped.folder.path().join("app"))) else { return };
    assert!(share(&text(&output.stdout), "hidden") > 0.5, "{output:?}");
}

/// Issue 41: all functions without a symbol were one, `[app]`.
#[test]
fn functions_without_names_are_told_apart_by_their_start() {
    let Some(stripped) = stripped() else { return };
    let of = |name: &str| {
        let symbols = Command::new("nm").arg(stripped.folder.path().join("app.debug")).output();
        let symbols = text(&symbols.expect("binutils").stdout);
        let line =
            symbols.lines().find(|line| line.ends_with(&format!(" {name}"))).expect("a symbol").to_owned();
        let start = u64::from_str_radix(line.split(' ').next().expect("an address"), 16).expect("an address");
        format!("[app+{start:#x}]")
    };
    let output = stripped.collapsed(None, None);
    let folded = text(&output.stdout);
    assert!(share(&folded, &of("hidden")) > 0.5, "{folded}");
    assert!(share_within(&folded, Some(&of("hidden")), &of("main")) > 0.9, "{folded}");
    assert_eq!(share(&folded, "[app]"), 0.0, "{folded}");
    assert!(text(&output.stderr).contains("which is stripped"), "{output:?}");
}

#[test]
fn a_server_that_is_not_there_is_told_in_a_line() {
    if !works("debuginfod-find") {
        return;
    }
    let Some(stripped) = stripped() else { return };
    let output = stripped.collapsed(Some("http://127.0.0.1:1"), None);
    let said = text(&output.stderr);
    assert!(said.contains("debuginfod was not asked for all names: "), "{said}");
    assert_eq!(share(&text(&output.stdout), "hidden"), 0.0);
}

/// The client is somebody else's: what is asked of it, and what is said without it.
#[test]
fn the_client_is_asked_by_build_id_and_may_be_missing() {
    let Some(stripped) = stripped() else { return };
    let bin = stripped.folder.path().join("bin");
    fs::create_dir(&bin).expect("a folder");
    let missing = stripped.collapsed(Some("http://one http://two"), Some(&bin));
    let said = text(&missing.stderr);
    assert!(said.contains("debuginfod-find is not installed; it is in the package debuginfod"), "{said}");
    assert_eq!(said.matches("debuginfod-find").count(), 1, "once: {said}");
    let client = bin.join("debuginfod-find");
    let (log, debug) = (stripped.folder.path().join("log"), stripped.folder.path().join("app.debug"));
    let script = format!(
        "#!/bin/sh\necho \"$1 $2 $DEBUGINFOD_URLS $DEBUGINFOD_TIMEOUT\" >>{log:?}\n\
         [ \"$1 $2\" = 'debuginfo {}' ] || {{ echo 'Server query failed: No such file or directory' >&2; exit 1; }}\n\
         echo {debug:?}\n",
        stripped.build_id
    );
    fs::write(&client, script).expect("a script");
    set_mode(&client, 0o755);
    // A process that was just forked may still have the script open for writing.
    until("the script runs", || Command::new(&client).output().is_ok());
    let output = stripped.collapsed(Some("http://one http://two"), Some(&bin));
    assert!(share(&text(&output.stdout), "hidden") > 0.5, "{output:?}");
    let log = fs::read_to_string(log).expect("it was asked");
    let line = format!("debuginfo {} http://one http://two 30", stripped.build_id);
    assert_eq!(log.lines().filter(|asked| **asked == line).count(), 1, "{log}");
    // Another program's file is not believed.
    fs::copy("/proc/self/exe", stripped.folder.path().join("app.debug")).expect("it is copied");
    let output = stripped.collapsed(Some("http://one"), Some(&bin));
    assert_eq!(share(&text(&output.stdout), "hidden"), 0.0, "{output:?}");
}

#[test]
fn servers_have_to_be_named() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
    let output =
        command.args(["--debuginfod", "-"]).env_remove("DEBUGINFOD_URLS").output().expect("it starts");
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("set DEBUGINFOD_URLS"), "{said}");
}
