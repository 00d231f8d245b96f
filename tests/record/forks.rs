//! Children that a process has started while the recorder opened its events.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::process::{lives, signal, until, user_time};
use super::{Built, Running, compiled, fg_record, share, text};
use crate::skip::skip;

/// Many threads, as opening the events of each takes time, and children that begin when a line says so. They
/// compute on one processor, the first whose events are open.
const SERVER: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
static volatile unsigned long x;
__attribute__((noinline)) void in_child(void) { for (;;) x = x * 31 + 1; }
static void *idle(void *unused) { for (;;) pause(); }
int main(void) {
  pthread_t thread;
  for (int i = 0; i < 300; i++) if (pthread_create(&thread, 0, idle, 0)) return 1;
  puts("ready"); fflush(stdout);
  while (getchar() != EOF) {
    if (fork()) { puts("forked"); fflush(stdout); continue; }
    // Whoever ends the server, this must not go on for ever.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == 1) return 0;
    cpu_set_t all, first;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&first);
    for (int i = 0; i < CPU_SETSIZE; i++) if (CPU_ISSET(i, &all)) { CPU_SET(i, &first); break; }
    sched_setaffinity(0, sizeof first, &first);
    in_child();
  }
  return 0;
}
"#;

/// The number of perf events that a process has open.
fn events(recorder: &Child) -> usize {
    let open = fs::read_dir(format!("/proc/{}/fd", recorder.id())).into_iter().flatten().flatten();
    let links = open.filter_map(|fd| fs::read_link(fd.path()).ok());
    links.filter(|link| link == Path::new("anon_inode:[perf_event]")).count()
}

/// The state of a process, as `/proc/PID/stat` has it.
fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// A recorder that was stopped while it opened the events of a process; `None` if it refuses.
fn stopped_while_opening(pid: u32, threads: usize) -> Option<Child> {
    let mut found = None;
    let mut refused = None;
    until("a recorder is stopped between its first and its last event", || {
        let mut command = fg_record();
        command.args(["--duration", "100", "--call-graph", "fp", "-p", &pid.to_string()]);
        let mut recorder =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("fg-record starts");
        // A shell that has begun already sends the signal at once.
        let mut stopper = Command::new("sh")
            .args(["-c", &format!("read line; kill -s STOP {}", recorder.id())])
            .stdin(Stdio::piped())
            .spawn()
            .expect("sh starts");
        let mut line = stopper.stdin.take().expect("a pipe");
        // All are open within milliseconds.
        while events(&recorder) == 0 && lives(recorder.id()) {
            std::thread::yield_now();
        }
        line.write_all(b"now\n").expect("the shell reads");
        drop(line);
        stopper.wait().expect("the shell ends");
        until("it is stopped, or has ended", || is_stopped(recorder.id()) || !lives(recorder.id()));
        if !lives(recorder.id()) {
            let output = recorder.wait_with_output().expect("it ends");
            if output.status.code() == Some(2) {
                refused = Some(text(&output.stderr));
            }
        } else if events(&recorder) < threads {
            // Of the first processor some threads have no events yet, and none counts.
            found = Some(recorder);
        } else {
            recorder.kill().expect("it is killed");
            recorder.wait().expect("it ends");
        }
        found.is_some() || refused.is_some()
    });
    if let Some(said) = refused {
        skip(said);
    }
    found
}

#[test]
fn children_that_begin_while_the_events_are_opened_are_known() {
    static BUILT: Built = Built::new();
    let Some(program) = compiled(&BUILT, "forking", SERVER) else { return };
    let child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut server = Running(child.expect("it starts"));
    let pid = server.0.id();
    let threads = || fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().count();
    until("all threads run", || threads() == 301);
    let Some(recorder) = stopped_while_opening(pid, 301) else { return };
    let mut line = server.0.stdin.take().expect("a pipe");
    line.write_all(b"xx").expect("it reads");
    let children = || super::process::family(pid).len() - 1;
    until("the children run", || children() == 2);
    let computed = || super::process::family(pid).into_iter().skip(1).map(user_time).sum::<u64>();
    signal("CONT", recorder.id());
    // The recorder has as much of the processors as each of them, and far less to do until it records.
    let before = computed();
    until("the children compute on", || computed() >= before + 200);
    signal("INT", recorder.id());
    let output = recorder.wait_with_output().expect("it ends");
    let folded = text(&output.stdout);
    assert!(share(&folded, "in_child") > 0.5, "{output:?}");
    // At the end of its input the server would end, and its children would be nobody's.
    drop(server);
    drop(line);
}
