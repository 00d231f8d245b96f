//! The action's scripts on a small repository: a slowdown is found, a change of a comment is not,
//! the report becomes one comment.

use std::collections::BTreeSet;

use crate::installed::works;
use crate::{Place, can_record, has_git, read};

/// A program whose function `seeded` takes a fifth of the time, or as much as all else.
const PROGRAM: &str = "
static volatile unsigned long x;
__attribute__((noinline)) void steady(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; }
__attribute__((noinline)) void seeded(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; }
int main(void) { for (int i = 0; i < 20; i++) { steady(1200000); seeded(300000 * TIMES); } return 0; }
";

const BUILD: &str = "cc -O1 -fno-omit-frame-pointer -o app app.c";

/// Steps of the action, in a row as action.yml has them.
const STEPS: &str = r#"
cd repository
"$PROJECT/packaging/github-action/record" ../results
"$PROJECT/packaging/github-action/compare" ../results
"$PROJECT/packaging/github-action/gate" ../results"#;

/// A repository with three commits: `first`, `alike` which changes a comment, and `slower`.
fn repository() -> Place {
    let place = Place::new();
    let commit = r#"git add app.c && git -c user.name=a -c user.email=a@localhost commit -q -m "$NAME" && git tag "$NAME""#;
    place.succeeds("git init -q repository", &[]);
    for (name, times, comment) in [("first", "1", "one"), ("alike", "1", "two"), ("slower", "5", "two")] {
        place.put("repository/app.c", &format!("/* {comment} */\n#define TIMES {times}\n{PROGRAM}"));
        place.succeeds(&format!("cd repository && {commit}"), &[("NAME", name)]);
    }
    place
}

fn settings<'a>(base: &'a str, command: &'a str) -> Vec<(&'a str, &'a str)> {
    let options = ("COMPARE_OPTIONS", "--allow-blind");
    vec![("BASE", base), ("COMMAND", command), ("BUILD", BUILD), ("GATES", "slower>50%"), options]
}

#[test]
fn a_seeded_slowdown_fails_and_its_absence_does_not() {
    if !has_git() || !works("cc") || !can_record() {
        return;
    }
    let place = repository();
    let ran = place.run(STEPS, &settings("first", "./app"));
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("gate slower>50%: "), "{}", ran.stderr);
    assert_eq!(place.read("results/result"), "slower\n");
    let report = place.read("results/report.md");
    assert!(report.starts_with("**Failed: ") && report.contains("`seeded`"), "{report}");
    assert!(place.read("results/diff.svg").contains("seeded"));
    assert!(place.read("results/diff.json").contains("\"seeded\""));
    assert!(place.path("results/recordings/before-5.folded").exists());
    // The checkout of the base is gone, and the repository is as it was.
    assert_eq!(place.succeeds("cd repository && git worktree list | wc -l", &[]).trim(), "1");
    assert!(!place.path("results/base").exists());

    let ran = place.run(
        &STEPS.replace("cd repository", "cd repository; git checkout -q alike"),
        &settings("first", "./app"),
    );
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(place.read("results/result"), "passed\n");
    assert!(!place.read("results/report.md").contains("Failed"));
}

#[test]
fn what_cannot_be_recorded_is_said() {
    if !has_git() {
        return;
    }
    let place = repository();
    let record = r#"cd repository; "$PROJECT/packaging/github-action/record" ../results"#;
    let ran = place.run(record, &settings("v0.9", "./app"));
    assert_eq!(ran.status, 2);
    assert_eq!(
        ran.stderr,
        "record: the commit v0.9 is not in this clone: give actions/checkout fetch-depth: 0\n"
    );
    let ran =
        place.run(record, &[("BASE", "first"), ("COMMAND", "./app"), ("BUILD", "echo no rule >&2; exit 3")]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.starts_with("no rule\nrecord: the build failed in "), "{}", ran.stderr);
    assert_eq!(place.succeeds("cd repository && git worktree list | wc -l", &[]).trim(), "1");
    for script in ["compare", "gate", "comment"] {
        let ran = place.run(&format!(r#""$PROJECT/packaging/github-action/{script}" results"#), &[]);
        assert_eq!(ran.status, 2, "{script}");
        assert!(
            ran.stderr.contains("run compare first") || ran.stderr.contains("run record first"),
            "{}",
            ran.stderr
        );
    }
}

/// GitHub's program: the comments it knows are in `comments`, what it is asked for goes to `asked`.
const GH: &str = r#"
printf '%s\n' "$*" >>asked
case $* in
*--jq*) cat comments ;;
*) for last; do :; done; cp "${last#body=@}" body ;;
esac"#;

#[test]
fn a_pull_request_has_one_comment() {
    let place = Place::new();
    place.stand_in("gh", GH);
    place.put("results/report.md", "**Passed**\n");
    place.put("comments", "");
    let script = r#""$PROJECT/packaging/github-action/comment" results"#;
    let settings = [("NUMBER", "12"), ("GITHUB_REPOSITORY", "one/two"), ("NAME", "startup")];
    place.succeeds(script, &settings);
    assert_eq!(place.read("body"), "<!-- fg-tools: startup -->\n**Passed**\n");
    let asked = place.read("asked");
    assert!(asked.contains("--method POST repos/one/two/issues/12/comments --field body=@"), "{asked}");
    assert!(asked.contains("startswith(\"<!-- fg-tools: startup -->\")"), "{asked}");

    place.put("comments", "4711\n4712\n");
    place.put("results/report.md", "**Failed**\n");
    place.succeeds(script, &settings);
    let asked = place.read("asked");
    assert!(asked.contains("--method PATCH repos/one/two/issues/comments/4711 --field body=@"), "{asked}");
    assert!(place.read("body").ends_with("**Failed**\n"));

    let ran = place.run(script, &[("NUMBER", "12"), ("GITHUB_REPOSITORY", "one/two"), ("NAME", "\") | .id")]);
    assert_eq!(ran.status, 2, "a name that is code for jq");
}

/// The inputs of the action: their names in `text`.
fn inputs(text: &str) -> BTreeSet<String> {
    let section = text.split("\ninputs:\n").nth(1).unwrap().split("\noutputs:\n").next().unwrap();
    let names = section.lines().filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    names.filter(|name| !name.starts_with(' ')).map(str::to_owned).collect()
}

#[test]
fn all_inputs_are_used_and_explained() {
    let action = read("packaging/github-action/action.yml");
    let readme = read("packaging/github-action/README.md");
    let explained: BTreeSet<String> = readme
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned()))
        .collect();
    let inputs = inputs(&action);
    assert!(inputs.len() >= 10, "{inputs:?}");
    for input in &inputs {
        assert!(action.contains(&format!("inputs.{input}")), "{input} is not used");
        assert!(explained.contains(input), "{input} is not in README.md");
    }
    for output in ["result", "folder"] {
        assert!(explained.contains(output), "{output} is not in README.md");
    }
    assert_eq!(explained.len(), inputs.len() + 2, "{explained:?}");
}
