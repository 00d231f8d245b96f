//! Tries a mutant on the tests that reach it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use crate::program::{End, Program};
use crate::reach::Test;

/// Tests that run in one process take about so long together: the first failing one is soon known.
const BATCH: f64 = 1.0;

/// The verdict of the tests on a mutant.
pub enum Outcome {
    /// By one of these tests.
    Caught(String),
    TooLong(String),
    /// After so many tests of so many that reach it.
    Missed(usize, usize),
}

/// The programs of tests, what each test reaches, and which tests have caught mutants so far.
pub struct Court<'a> {
    pub programs: &'a [Program],
    pub tests: &'a [Test],
    pub folder: &'a Path,
    /// Seconds of tests for one mutant, as they take without it.
    pub budget: f64,
    pub caught: Mutex<HashMap<(String, usize), u32>>,
}

impl Court<'_> {
    /// Runs the tests that reach a mutant, those that are quick and have caught its neighbours first.
    pub fn try_mutant(&self, number: u32, file: &str) -> Outcome {
        let mut reaching: Vec<usize> =
            (0..self.tests.len()).filter(|&at| self.tests[at].reaches.contains(&number)).collect();
        let all = reaching.len();
        {
            let caught = self.caught.lock().expect("no thread panics");
            let times = |at: usize| f64::from(caught.get(&(file.to_owned(), at)).copied().unwrap_or(0));
            reaching.sort_by(|&one, &other| {
                let cost = |at: usize| self.tests[at].seconds / (1.0 + times(at));
                cost(one).total_cmp(&cost(other))
            });
        }
        let mut spent = 0.0;
        let mut done = 0;
        while done < all && spent < self.budget {
            let batch = self.batch(&reaching[done..]);
            let seconds: f64 = batch.iter().map(|&at| self.tests[at].seconds).sum();
            let names: Vec<&str> = batch.iter().map(|&at| self.tests[at].name.as_str()).collect();
            let program = &self.programs[self.tests[batch[0]].program];
            let at_most = Duration::from_secs_f64(seconds * 8.0 + 20.0);
            let said = || {
                format!(
                    "{} {}",
                    program.name,
                    if names.len() < 4 { names.join(" ") } else { format!("{} tests", names.len()) }
                )
            };
            let end = program.run(self.folder, &names, ("FG_MUTANT", &number.to_string()), at_most);
            if end != End::Passed {
                let mut caught = self.caught.lock().expect("no thread panics");
                batch.iter().for_each(|&at| *caught.entry((file.to_owned(), at)).or_default() += 1);
                return if end == End::Failed { Outcome::Caught(said()) } else { Outcome::TooLong(said()) };
            }
            spent += seconds;
            done += batch.len();
        }
        Outcome::Missed(done, all)
    }

    /// The next tests of one program.
    fn batch<'b>(&self, tests: &'b [usize]) -> &'b [usize] {
        let program = self.tests[tests[0]].program;
        let mut seconds = 0.0;
        let fits = |&&at: &&usize| {
            seconds += self.tests[at].seconds;
            self.tests[at].program == program && seconds < BATCH
        };
        let count = tests.iter().take_while(fits).count().max(1);
        &tests[..count]
    }
}
