//! The action's steps on a small repository, run as action.yml has them: a slowdown is found, a change of a
//! comment is not, the report becomes one comment.

use std::collections::{BTreeMap, BTreeSet};

use crate::installed::works;
use crate::{Place, Ran, can_record, has_git, read};

/// A program whose function `seeded` takes a fifth of the time, or as much as all else.
const PROGRAM: &str = "
static volatile unsigned long x;
__attribute__((noinline)) void steady(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; }
__attribute__((noinline)) void seeded(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; }
int main(void) { for (int i = 0; i < 20; i++) { steady(1200000); seeded(300000 * TIMES); } return 0; }
";

const BUILD: &str = "cc -O1 -fno-omit-frame-pointer -o app app.c";

/// A step of action.yml: its name, condition, environment and script, or the action that it uses.
#[derive(Default)]
struct Step {
    name: String,
    condition: String,
    uses: String,
    environment: Vec<(String, String)>,
    script: String,
    /// The paths of an artifact.
    paths: Vec<String>,
}

fn steps() -> Vec<Step> {
    let text = read("action.yml");
    let all = text.split("\n  steps:\n").nth(1).expect("steps");
    let mut steps = Vec::new();
    for part in all.split("    - name: ").skip(1) {
        let mut step = Step::default();
        let mut section = String::new();
        for (n, line) in part.lines().enumerate() {
            let (indent, line) = (line.len() - line.trim_start().len(), line.trim_start());
            let (key, value) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
            match (n, indent) {
                (0, _) => step.name = line.to_owned(),
                _ if line.starts_with('#') => {}
                (_, 6) => {
                    section = key.to_owned();
                    match key {
                        "if" => step.condition = value.to_owned(),
                        "uses" => step.uses = value.to_owned(),
                        "run" if value != "|" => step.script = value.trim_matches('\'').to_owned(),
                        _ => {}
                    }
                }
                (_, 8) if section == "env" => step.environment.push((key.to_owned(), value.to_owned())),
                (_, 8..) if section == "run" => step.script += &format!("{line}\n"),
                (_, 10) if section == "with" => step.paths.push(line.to_owned()),
                _ => {}
            }
        }
        assert!(step.script.is_empty() != step.uses.is_empty(), "{} runs or uses something", step.name);
        steps.push(step);
    }
    assert!(steps.len() >= 7, "{}", steps.len());
    steps
}

/// The values of `inputs`, of the steps before, and of GitHub's own.
type Values = BTreeMap<String, String>;

/// Puts values in the place of `${{ … }}`.
fn filled(text: &str, values: &Values) -> String {
    let mut parts = text.split("${{ ");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" }}").expect("its end");
        filled += values.get(name).unwrap_or_else(|| panic!("{name} has no value"));
        filled += rest;
    }
    filled
}

/// Runs the steps of the action in the folder `repository`, as GitHub would in a job, to its end or to the
/// first that fails.
fn run_action(place: &Place, given: &[(&str, &str)]) -> Ran {
    let mut values: Values = BTreeMap::new();
    for (name, default) in defaults(&read("action.yml")) {
        values.insert(format!("inputs.{name}"), default);
    }
    values.extend(given.iter().map(|(name, value)| (format!("inputs.{name}"), (*value).to_owned())));
    values.insert("github.action_path".to_owned(), super::project().to_str().unwrap().to_owned());
    let in_place = |name: &str| place.path(name).to_str().unwrap().to_owned();
    for name in ["output", "summary", "path"] {
        place.put(name, "");
    }
    let mut last = Ran { status: 0, stdout: String::new(), stderr: String::new() };
    for step in steps() {
        // There is neither a pull request nor a cache.
        if ["github.event.pull_request.number", "github.action_ref"]
            .iter()
            .any(|what| step.condition.contains(what))
        {
            continue;
        }
        if !step.uses.is_empty() {
            for path in &step.paths {
                let path = filled(path, &values);
                assert!(
                    std::fs::metadata(&path).is_ok_and(|file| file.len() > 0),
                    "{}: no {path}",
                    step.name
                );
            }
            continue;
        }
        let mut environment: Vec<(String, String)> =
            step.environment.iter().map(|(name, value)| (name.clone(), filled(value, &values))).collect();
        environment.push(("RUNNER_TEMP".to_owned(), in_place("temp")));
        environment.push(("GITHUB_OUTPUT".to_owned(), in_place("output")));
        environment.push(("GITHUB_STEP_SUMMARY".to_owned(), in_place("summary")));
        environment.push(("GITHUB_PATH".to_owned(), in_place("path")));
        let environment: Vec<(&str, &str)> = environment.iter().map(|(a, b)| (&**a, &**b)).collect();
        let script =
            format!("cd repository; [ ! -s ../path ] || PATH=$(tail -n 1 ../path):$PATH\n{}", step.script);
        last = place.run(&script, &environment);
        for line in place.read("output").lines() {
            if let Some((name, value)) = line.split_once('=') {
                let id = if name == "folder" { "record" } else { "compare" };
                values.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
            }
        }
        if last.status != 0 {
            break;
        }
    }
    last
}

/// The inputs of the action and their defaults.
fn defaults(text: &str) -> Vec<(String, String)> {
    let section = text.split("inputs:\n").nth(1).unwrap().split("\noutputs:\n").next().unwrap();
    let mut found: Vec<(String, String)> = Vec::new();
    for line in section.lines() {
        if let Some(name) = line.strip_prefix("  ").and_then(|line| line.strip_suffix(':')) {
            found.push((name.to_owned(), String::new()));
        } else if let Some(value) = line.strip_prefix("    default: ") {
            found.last_mut().unwrap().1 = value.trim_matches('\'').to_owned();
        }
    }
    found
}

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
    vec![("BASE", base), ("COMMAND", command), ("BUILD", BUILD)]
}

fn inputs_of<'a>(base: &'a str, programs: &'a str) -> Vec<(&'a str, &'a str)> {
    let options = ("compare-options", "--require-power");
    vec![
        ("base", base),
        ("command", "./app"),
        ("build", BUILD),
        ("gates", "slower>50%"),
        ("programs", programs),
        options,
    ]
}

#[test]
fn a_seeded_slowdown_fails_and_its_absence_does_not() {
    if !has_git() || !works("cc") || !can_record() {
        return;
    }
    let place = repository();
    let programs = crate::programs().to_str().unwrap();
    let ran = run_action(&place, &inputs_of("first", programs));
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("gate slower>50%: "), "{}", ran.stderr);
    assert!(place.read("output").ends_with("result=slower\n"), "{}", place.read("output"));
    let results = "temp/fg-tools/profile";
    let report = place.read(&format!("{results}/report.md"));
    assert!(report.starts_with("**Failed: ") && report.contains("`seeded`"), "{report}");
    assert_eq!(place.read("summary"), report);
    assert!(place.read(&format!("{results}/diff.svg")).contains("seeded"));
    assert!(place.read(&format!("{results}/diff.json")).contains("\"seeded\""));
    assert!(place.path(&format!("{results}/recordings/before-5.folded")).exists());
    // The checkout of the base is gone, and the repository is as it was.
    assert_eq!(place.succeeds("cd repository && git worktree list | wc -l", &[]).trim(), "1");
    assert!(!place.path(&format!("{results}/base")).exists());

    place.succeeds("cd repository && git checkout -q alike", &[]);
    let ran = run_action(&place, &inputs_of("first", programs));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(place.read("output").ends_with("result=passed\n"), "{}", place.read("output"));
    assert!(!place.read(&format!("{results}/report.md")).contains("Failed"));
}

/// Without a folder of programs they are built from the action's own sources, once.
#[test]
fn programs_are_built_from_the_sources_of_the_action() {
    let place = Place::new();
    place.stand_in(
        "cargo",
        r#"printf '%s\n' "$*" >>asked
        while [ "$1" != --target-dir ]; do shift; done
        mkdir -p "$2/quick"
        for name in collapse diff filter record render; do echo >"$2/quick/fg-$name"; chmod +x "$2/quick/fg-$name"; done"#,
    );
    let script = r#""$PROJECT/packaging/github-action/programs" made"#;
    let made = place.succeeds(script, &[]);
    assert_eq!(made.trim(), place.path("made").canonicalize().unwrap().to_str().unwrap());
    assert_eq!(place.succeeds("ls made | wc -l", &[]).trim(), "5");
    place.succeeds(script, &[]);
    let asked = place.read("asked");
    assert_eq!(asked.lines().count(), 1, "{asked}");
    assert!(asked.contains(&format!("--manifest-path {}/Cargo.toml", super::project().display())), "{asked}");
    let ran = place.run(r#""$PROJECT/packaging/github-action/programs" made bin"#, &[]);
    assert_eq!((ran.status, &*ran.stderr), (2, "programs: there is no fg-collapse in bin\n"));
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
    // GitHub's word for what was there before the first push of a branch.
    let ran = place.run(record, &settings(&"0".repeat(40), "./app"));
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("the first push of a branch has no commit before it"), "{}", ran.stderr);
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
    let section = text.split("inputs:\n").nth(1).unwrap().split("\noutputs:\n").next().unwrap();
    let names = section.lines().filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    names.filter(|name| !name.starts_with(' ')).map(str::to_owned).collect()
}

#[test]
fn all_inputs_are_used_and_explained() {
    let action = read("action.yml");
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
