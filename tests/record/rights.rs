//! The messages when rights are missing: here they are taken away from a child.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::process::{self, until};
use super::skip::skip;
use super::{Running, copied, endless, in_time, ready, set_mode, share, text, wait_until_recording};

/// An ordinary user that only this process uses: locked memory is counted by user.
fn nobody() -> u32 {
    60_000 + std::process::id() % 5_000
}

/// The program where that user finds it, with a folder to write into.
struct AsNobody {
    folder: tempfile::TempDir,
}

impl AsNobody {
    /// `None`, said, for those who cannot become another user.
    fn new() -> Option<AsNobody> {
        let root = fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0);
        if !root {
            skip("needs root to become an ordinary user");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        set_mode(folder.path(), 0o777);
        // Other users may have no access to the folder that cargo builds in.
        let copy = folder.path().join("fg-record");
        copied::program(env!("CARGO_BIN_EXE_fg-record"), &copy);
        set_mode(&copy, 0o755);
        Some(AsNobody { folder })
    }

    fn fg_record(&self) -> Command {
        let mut command = Command::new(self.folder.path().join("fg-record"));
        command.current_dir(self.folder.path()).uid(nobody()).gid(nobody());
        command
    }
}

/// The kernel's setting, which is the whole machine's: one test at a time has it.
pub(super) struct Paranoid {
    before: String,
    is_changed: bool,
    _turn: MutexGuard<'static, ()>,
}

impl Paranoid {
    const PATH: &str = "/proc/sys/kernel/perf_event_paranoid";

    pub(super) fn read() -> Paranoid {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let before = fs::read_to_string(Paranoid::PATH).unwrap_or_default().trim().to_owned();
        Paranoid { before, is_changed: false, _turn: turn }
    }

    /// `false`, said, where it may not be changed.
    fn set(&mut self, value: &str) -> bool {
        self.is_changed = true;
        let done = fs::write(Paranoid::PATH, value);
        if let Err(e) = &done {
            skip(format_args!("kernel.perf_event_paranoid cannot be set to {value}: {e}"));
        }
        done.is_ok()
    }
}

impl Drop for Paranoid {
    fn drop(&mut self) {
        if self.is_changed {
            fs::write(Paranoid::PATH, &self.before).expect("the setting is put back");
        }
    }
}

/// Lets `perf_event_open` fail in the child, as the filters of containers do.
fn without_perf_event_open(command: &mut Command, error: i32) {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IS_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let filter = [
        // The number of the system call is first.
        step(LOAD, 0, 0, 0),
        step(IS_EQUAL, 0, 1, libc::SYS_perf_event_open as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | error as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let install = move || {
        let mut filter = filter;
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: only system calls, with pointers to values that live as long.
        let done = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: the closure makes system calls only, and allocates nothing.
    unsafe {
        command.pre_exec(install);
    }
}

fn without_locked_memory(command: &mut Command) {
    // SAFETY: one system call, with a pointer to a live value.
    unsafe {
        command.pre_exec(|| {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            if libc::setrlimit(libc::RLIMIT_MEMLOCK, &none) == 0 {
                Ok(())
            } else {
                Err(io::Error::last_os_error())
            }
        });
    }
}

/// One line, status 2, nothing on standard output.
fn refused(command: &mut Command) -> String {
    let output = command.output().expect("fg-record starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("fg-record: ") && said.lines().count() == 1, "{said}");
    assert!(!said.contains("os error") && output.stdout.is_empty(), "{output:?}");
    said
}

#[test]
fn a_filter_of_system_calls_is_named() {
    for error in [libc::EPERM, libc::ENOSYS] {
        let mut command = super::fg_record();
        without_perf_event_open(command.args(["--", "true"]), error);
        let said = refused(&mut command);
        assert!(said.contains("perf_event_open is filtered out, as containers do"), "{error}: {said}");
        assert!(said.contains("--cap-add PERFMON"), "{error}: {said}");
    }
    if let Some(nobody) = AsNobody::new() {
        let mut command = nobody.fg_record();
        without_perf_event_open(command.args(["--", "true"]), libc::EPERM);
        assert!(refused(&mut command).contains("perf_event_open is filtered out"));
    }
}

#[test]
fn little_locked_memory_makes_small_rings() {
    let (Some(program), Some(nobody)) = (ready(), AsNobody::new()) else { return };
    let _paranoid = Paranoid::read();
    let limit = fs::read_to_string("/proc/sys/kernel/perf_event_mlock_kb").unwrap_or_default();
    if limit.trim().parse::<u64>().is_ok_and(|kb| kb > 1 << 14) {
        skip(format_args!("kernel.perf_event_mlock_kb is {}: nobody fills that", limit.trim()));
        return;
    }
    let recorder = |arguments: &[&str], log: &Path| {
        let mut command = nobody.fg_record();
        without_locked_memory(command.args(arguments).stdout(Stdio::null()));
        Running(command.stderr(fs::File::create(log).expect("a file")).spawn().expect("it starts"))
    };
    let log = nobody.folder.path().join("said");
    let busy = program.to_str().expect("a path");
    let mut first = recorder(&["--", busy, "1000000"], &log);
    wait_until_recording(&first.0);
    // Those that record hold the memory that this user's rings may take, until there is none left.
    let mut others = Vec::new();
    loop {
        let mut next = recorder(&["--", "sleep", "1000"], &log);
        let pid = next.0.id();
        let begun =
            || process::family(pid).into_iter().any(|pid| process::arguments(pid)[..] == ["sleep", "1000"]);
        until("it records or is refused", || begun() || !process::lives(pid));
        if process::lives(pid) {
            others.push(next);
            assert!(others.len() < 100, "{} recorders are still allowed", others.len());
            continue;
        }
        let said = fs::read_to_string(&log).expect("its words");
        assert_eq!(next.0.wait().expect("it has ended").code(), Some(2), "{said}");
        let line = said.lines().last().expect("a line");
        assert!(line.contains("may be locked"), "{said}");
        assert!(line.contains("kernel.perf_event_mlock_kb is "), "{said}");
        assert!(line.contains("`ulimit -l` is 0 kB"), "{said}");
        break;
    }
    for mut other in others {
        process::signal("TERM", other.0.id());
        other.0.wait().expect("it ends");
    }
    // The first one had what it needs, and takes its program along.
    process::signal("INT", first.0.id());
    assert_eq!(first.0.wait().expect("it ends").code(), Some(130));
}

/// Ordinary users have less: what can be had is had, and said in one line.
#[test]
fn an_ordinary_user_records_without_the_kernel() {
    let (Some(program), Some(nobody)) = (ready(), AsNobody::new()) else { return };
    let paranoid = Paranoid::read();
    if paranoid.before != "2" {
        skip("needs perf_event_paranoid 2");
        return;
    }
    let output = nobody.fg_record().arg("--").arg(program).arg("150").output().expect("it starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("kernel frames left out (kernel.perf_event_paranoid is 2)"), "{said}");
    assert!(share(&text(&output.stdout), "hot") > 0.5, "{output:?}");
    let said = refused(nobody.fg_record().args(["-a", "-d", "0.1"]));
    assert!(said.contains("the whole machine is kept from ordinary users"), "{said}");
    let said = text(&nobody.fg_record().args(["-p", "1", "-d", "0.1"]).output().expect("it starts").stderr);
    assert!(said.contains("process 1 may not be looked at"), "{said}");
    let said = refused(nobody.fg_record().args(["--off-cpu", "--", "true"]));
    assert!(
        said.contains("--off-cpu and --wall need to see the kernel (kernel.perf_event_paranoid is 2)"),
        "{said}"
    );
    assert!(said.contains("sudo sysctl kernel.perf_event_paranoid=1"), "{said}");
}

/// The commands that the refusals name do help.
#[test]
fn perf_event_paranoid_decides_what_an_ordinary_user_records() {
    let (Some(program), Some(nobody)) = (ready(), AsNobody::new()) else { return };
    let mut paranoid = Paranoid::read();
    if !paranoid.set("1") {
        return;
    }
    let output = nobody.fg_record().arg("--").arg(program).arg("100").output().expect("it starts");
    assert!(!text(&output.stderr).contains("left out"), "{output:?}");
    let output = nobody.fg_record().args(["--off-cpu", "--", "sleep", "0.3"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).contains("sleep;"), "{output:?}");
    let said = refused(nobody.fg_record().args(["-a", "-d", "0.1"]));
    assert!(said.contains("`sudo sysctl kernel.perf_event_paranoid=0`"), "{said}");
    assert!(paranoid.set("0"));
    let running = endless(program);
    let record = |seconds: &str| nobody.fg_record().args(["-a", "-d", seconds]).output().ok();
    let output = in_time(record, |output| share(&text(&output.stdout), "busy") > 0.0).expect("it starts");
    assert!(share(&text(&output.stdout), "busy") > 0.0, "{output:?}");
    drop(running);
    assert!(paranoid.set("3"));
    let output = nobody.fg_record().arg("--").arg(program).arg("100").output().expect("it starts");
    let said = text(&output.stderr);
    assert!(said.contains("kernel.perf_event_paranoid is 3"), "{said}");
    if output.status.code() == Some(2) {
        assert!(said.contains("recording is kept from ordinary users"), "{said}");
        assert!(said.contains("sudo sysctl kernel.perf_event_paranoid=2"), "{said}");
    } else {
        // Only some distributions' kernels know of 3.
        assert!(share(&text(&output.stdout), "hot") > 0.5, "{output:?}");
    }
}

/// `PATH` finds nothing, and perf cannot even be run by its path: in a mount namespace of the child's
/// own something else is in its place.
#[test]
fn recording_needs_no_other_program() {
    let Some(program) = ready() else { return };
    let perf = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path).map(|folder| folder.join("perf")).find(|it| it.exists())
    });
    let mut command = super::fg_record();
    command.env("PATH", "/nowhere").arg("--").arg(program).arg("100");
    let root = fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0);
    match perf.filter(|_| root) {
        Some(perf) => without_program(&mut command, &perf),
        None => eprintln!("note: perf is not there, or cannot be hidden"),
    }
    let Some(output) = super::recorded(&mut command) else { return };
    assert!(share(&text(&output.stdout), "hot") > 0.5, "without perf or any other tool: {output:?}");
}

/// Puts something that is no program in the place of one, for a child and its children alone.
fn without_program(command: &mut Command, path: &Path) {
    let path = CString::new(path.as_os_str().as_bytes()).expect("a path");
    let hide = move || {
        let nothing = std::ptr::null();
        // SAFETY: system calls only, with texts that live as long and end with zeros.
        let done = unsafe {
            libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(
                    nothing,
                    c"/".as_ptr(),
                    nothing,
                    libc::MS_REC | libc::MS_PRIVATE,
                    nothing.cast(),
                ) == 0
                && libc::mount(c"/dev/null".as_ptr(), path.as_ptr(), nothing, libc::MS_BIND, nothing.cast())
                    == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: the closure makes system calls only, and allocates nothing.
    unsafe {
        command.pre_exec(hide);
    }
}

/// A process that has its own files at its paths, as in a container.
#[test]
fn files_are_found_below_the_root_of_the_process() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    fs::create_dir(&home).expect("a folder");
    copied::program(program, home.join("app"));
    // At that path we see another program.
    copied::program("/bin/true", folder.path().join("app"));
    let mut command = Command::new(folder.path().join("app"));
    let [from, to] = [home.join("app"), folder.path().join("app")]
        .map(|path| CString::new(path.as_os_str().as_bytes()).expect("a path"));
    let mount = move || {
        let nothing = std::ptr::null();
        // SAFETY: system calls only, with texts that live as long and end with zeros.
        let done = unsafe {
            libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(
                    nothing,
                    c"/".as_ptr(),
                    nothing,
                    libc::MS_REC | libc::MS_PRIVATE,
                    nothing.cast(),
                ) == 0
                && libc::mount(from.as_ptr(), to.as_ptr(), nothing, libc::MS_BIND, nothing.cast()) == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: the closure makes system calls only, and allocates nothing.
    unsafe {
        command.pre_exec(mount);
    }
    let Ok(child) = command.arg("1000000").stdout(Stdio::null()).spawn() else {
        skip("needs root to have other files than the rest");
        return;
    };
    let child = Running(child);
    until("the program computes", || process::computes(child.0.id()));
    let pid = child.0.id().to_string();
    let record = |seconds: &str| super::recorded(super::fg_record().args(["-p", &pid, "-d", seconds]));
    let Some(output) = in_time(record, |output| output.status.success()) else { return };
    assert!(share(&text(&output.stdout), "hot") > 0.5, "{output:?}");
    super::reaches_main(&text(&output.stdout));
}

#[test]
fn a_set_uid_program_is_reported() {
    let (Some(program), Some(nobody)) = (ready(), AsNobody::new()) else { return };
    let copy = nobody.folder.path().join("becomes");
    copied::program(program, &copy);
    set_mode(&copy, 0o4755);
    let _paranoid = Paranoid::read();
    let mut command = nobody.fg_record();
    let output = command.arg("--").arg(&copy).arg("20").output().expect("it starts");
    // A file system may be mounted so that it does not, as /tmp often is.
    if output.status.code() == Some(2) {
        assert!(text(&output.stderr).contains("acts as another user (set-uid)"), "{output:?}");
    }
}
