//! `--time`, `--with-label`, `--label-re`, `--drop-label`, `--rename-label`: the labels at the root of
//! stacks.

use regex::bytes::Regex;

use crate::error::{Error, Result};
use crate::filter::frames::PerFrame;
use crate::filter::operation::{Example, LabelFate, LabelStep, Operation, OperationGroup, Stage};
use crate::folded::{FrameId, StackTable, sanitize_frame};
use crate::profile::{TIME, TimeRange, clean_key, read_time, value_in};
use crate::search::name_regex;

const TIMED: &str = "# labels: time, thread\ntime=000000.000s;thread=a;main;f 1\n\
                     time=000000.020s;thread=a;main;f 2\ntime=000000.040s;thread=b;main;g 4\n";

pub(in crate::filter) const TIME_RANGE: Operation = Operation {
    name: "time",
    value: Some("FROM..TO"),
    group: OperationGroup::Labels,
    about: "Keep what ran from FROM up to TO: 12.4s..18.1s, 500ms..",
    details: "0 is the first sample, or what the header says as `# time-zero`. FROM and TO are in \
              seconds, or have a unit: ns, us, ms, s, m, h; either may be left out. A recording is cut \
              exactly: of a wait or a call the part in the range counts. Of folded text, which \
              `fg-collapse --label time=20ms` writes, the buckets that begin in the range are kept.",
    examples: &[
        Example {
            arguments: &["--time", "20ms..40ms"],
            input: TIMED,
            output: "# labels: time, thread\ntime=000000.020s;thread=a;main;f 2\n",
        },
        Example {
            arguments: &["--time", "..30ms", "--drop-label", "time"],
            input: TIMED,
            output: "# labels: thread\nthread=a;main;f 3\n",
        },
    ],
    build: |value, _| {
        let range = TimeRange::parse(value)?;
        Ok(Stage::Label(Box::new(Keep {
            key: TIME.into(),
            test: Test::Time(range),
            known: Known::default(),
        })))
    },
};

pub(in crate::filter) const LABEL: Operation = Operation {
    name: "with-label",
    value: Some("KEY=VALUE|KEY~R"),
    group: OperationGroup::Labels,
    about: "Keep what has the label KEY with this value, or one that matches R: endpoint=/api, endpoint~^/api",
    details: "The labels of a recording are listed by `fg-collapse --list-labels`; in folded text they \
              are the frames `key=value` that the header declares. `KEY=` keeps what has no such label.",
    examples: &[
        Example {
            arguments: &["--with-label", "thread=a"],
            input: TIMED,
            output: "# labels: time, thread\ntime=000000.000s;thread=a;main;f 1\n\
                     time=000000.020s;thread=a;main;f 2\n",
        },
        Example {
            arguments: &["--with-label", "k=a=b"],
            input: "# labels: k\nk=a;f 1\nk=a=b;f 2\n",
            output: "# labels: k\nk=a=b;f 2\n",
        },
        Example {
            arguments: &["--with-label", "thread~^[bc]$"],
            input: TIMED,
            output: "# labels: time, thread\ntime=000000.040s;thread=b;main;g 4\n",
        },
        Example {
            arguments: &["--with-label", "k=~a"],
            input: "# labels: k\nk=a;f 1\nk=~a;f 2\n",
            output: "# labels: k\nk=~a;f 2\n",
        },
    ],
    build: |value, options| {
        // The first of both signs: a value may hold the other.
        if let Some((key, expression)) = value.split_once('~').filter(|(key, _)| !key.contains('=')) {
            return LABEL_RE.build(&format!("{key}={expression}"), options);
        }
        if !value.contains('=') {
            let what = format!(
                "{value:?} is not of the form KEY=VALUE, such as endpoint=/api; fg-collapse --label {value} \
                 writes a label as a root frame"
            );
            return Err(Error::setting(what));
        }
        let (key, value) = pair(value, "KEY=VALUE, such as endpoint=/api")?;
        let mut wanted = Vec::new();
        sanitize_frame(value.as_bytes(), &mut wanted);
        Ok(Stage::Label(Box::new(Keep { key, test: Test::Equal(wanted), known: Known::default() })))
    },
};

pub(in crate::filter) const LABEL_RE: Operation = Operation {
    name: "label-re",
    value: Some("KEY=R"),
    group: OperationGroup::Labels,
    about: "Keep what has the label KEY with a value that matches R",
    details: "",
    examples: &[Example {
        arguments: &["--label-re", "thread=^[bc]$"],
        input: TIMED,
        output: "# labels: time, thread\ntime=000000.040s;thread=b;main;g 4\n",
    }],
    build: |value, options| {
        let (key, expression) = pair(value, "KEY=R, such as endpoint=^/api")?;
        let test = Test::Matches(name_regex(expression, options.case)?);
        Ok(Stage::Label(Box::new(Keep { key, test, known: Known::default() })))
    },
};

pub(in crate::filter) const DROP_LABEL: Operation = Operation {
    name: "drop-label",
    value: Some("KEY"),
    group: OperationGroup::Labels,
    about: "Remove the label KEY; stacks that become equal are added up",
    details: "",
    examples: &[Example {
        arguments: &["--drop-label", "time", "--drop-label", "thread"],
        input: TIMED,
        output: "main;f 3\nmain;g 4\n",
    }],
    build: |value, _| Ok(Stage::Label(Box::new(Drop { key: key(value)?, seen: false }))),
};

pub(in crate::filter) const RENAME_LABEL: Operation = Operation {
    name: "rename-label",
    value: Some("KEY=NEW"),
    group: OperationGroup::Labels,
    about: "Give the label KEY another name",
    details: "",
    examples: &[Example {
        arguments: &["--rename-label", "thread=worker"],
        input: "# labels: thread\nthread=a;main 1\nthread=b;main 2\n",
        output: "# labels: worker\nworker=a;main 1\nworker=b;main 2\n",
    }],
    build: |value, _| {
        let (old, new) = pair(value, "KEY=NEW, such as thread=worker")?;
        let new = key(new)?;
        if old == TIME || new == TIME {
            return Err(Error::setting("the label time keeps its name: outputs know it by that"));
        }
        Ok(Stage::Label(Box::new(Rename { key: old, new, known: PerFrame::default() })))
    },
};

fn key(text: &str) -> Result<String> {
    let key = clean_key(text.as_bytes());
    if key.is_empty() { Err(Error::setting(format!("{text:?} is no name of a label"))) } else { Ok(key) }
}

/// `KEY=VALUE`; further `=` are part of the value.
fn pair<'t>(text: &'t str, expected: &str) -> Result<(String, &'t str)> {
    let wrong = || Error::setting(format!("{text:?} is not of the form {expected}"));
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    Ok((key(name)?, value))
}

/// A condition on the value of a label.
enum Test {
    Time(TimeRange),
    Equal(Vec<u8>),
    Matches(Regex),
}

/// The verdicts on frames.
#[derive(Default)]
struct Known {
    verdicts: PerFrame<bool>,
    matched: bool,
}

/// Keeps stacks by the value of a label.
struct Keep {
    key: String,
    test: Test,
    known: Known,
}

impl LabelStep for Keep {
    fn key(&self) -> &str {
        &self.key
    }

    fn apply(&mut self, frame: FrameId, names: &mut StackTable) -> Option<LabelFate> {
        let Keep { key, test, known } = self;
        let is_kept = known.verdicts.get(frame, || {
            let value = value_in(names.name(frame), key).unwrap_or_default();
            match test {
                Test::Time(range) => read_time(value).is_some_and(|time| range.contains(time)),
                Test::Equal(wanted) => value == wanted,
                Test::Matches(regex) => regex.is_match(value),
            }
        });
        known.matched |= is_kept;
        is_kept.then_some(LabelFate::Keep)
    }

    fn selects(&self) -> bool {
        true
    }

    fn range(&self) -> Option<TimeRange> {
        match self.test {
            Test::Time(range) => Some(range),
            _ => None,
        }
    }

    fn forget(&mut self) {
        self.known.verdicts.forget();
    }

    fn remark(&self) -> Option<String> {
        let what = match self.test {
            Test::Time(_) => "nothing ran in this range",
            _ => "no stack has the label with such a value",
        };
        (!self.known.matched).then(|| what.to_owned())
    }
}

/// Leaves a label out.
struct Drop {
    key: String,
    seen: bool,
}

impl LabelStep for Drop {
    fn key(&self) -> &str {
        &self.key
    }

    fn leaves(&self, came: &[String]) -> Vec<String> {
        came.iter().filter(|key| **key != self.key).cloned().collect()
    }

    fn apply(&mut self, _: FrameId, _: &mut StackTable) -> Option<LabelFate> {
        self.seen = true;
        Some(LabelFate::Remove)
    }

    fn selects(&self) -> bool {
        false
    }

    fn needs_label(&self) -> bool {
        // To leave out a label that is not there is no mistake.
        false
    }

    fn forget(&mut self) {}

    fn remark(&self) -> Option<String> {
        (!self.seen).then(|| "no stack has this label".to_owned())
    }
}

/// Gives a label another key.
struct Rename {
    key: String,
    new: String,
    known: PerFrame<FrameId>,
}

impl LabelStep for Rename {
    fn key(&self) -> &str {
        &self.key
    }

    fn leaves(&self, came: &[String]) -> Vec<String> {
        came.iter().map(|key| if *key == self.key { self.new.clone() } else { key.clone() }).collect()
    }

    fn apply(&mut self, frame: FrameId, names: &mut StackTable) -> Option<LabelFate> {
        let Rename { key, new, known } = self;
        let renamed = known.get(frame, || {
            let value = value_in(names.name(frame), key).unwrap_or_default();
            let name = [new.as_bytes(), b"=", value].concat();
            names.frame(&name)
        });
        Some(LabelFate::Replace(renamed))
    }

    fn selects(&self) -> bool {
        false
    }

    fn forget(&mut self) {
        self.known.forget();
    }

    fn remark(&self) -> Option<String> {
        None
    }
}
