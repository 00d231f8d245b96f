//! Options of cargo-flamegraph that have another form here: each is answered by the name of ours.

use clap::Args;

/// Hidden options, for users of other recorders.
#[derive(Args, Debug, Default)]
pub struct ForeignArgs {
    /// Another command line for perf.
    #[arg(long, value_name = "CMD", hide = true, value_parser = cmd)]
    pub cmd: Option<String>,

    /// A filter between the recorder and the picture.
    #[arg(long, value_name = "CMD", hide = true, value_parser = post_process)]
    pub post_process: Option<String>,

    /// A recording to draw.
    #[arg(long, value_name = "FILE", hide = true, value_parser = perfdata)]
    pub perfdata: Option<String>,

    /// Compare runs that end with an exit status other than 0, too; recordings of them are kept anyway
    #[arg(long, help_heading = "Runs")]
    pub ignore_status: bool,
}

fn cmd(_: &str) -> Result<String, String> {
    Err("options for perf go behind --with perf --backend-args 'ARGS'; a palette is --colors".to_owned())
}

fn post_process(command: &str) -> Result<String, String> {
    Err(format!("use a pipe: fg-record -- COMMAND | {command} | fg-render -o out.svg"))
}

fn perfdata(file: &str) -> Result<String, String> {
    Err(format!("fg-render draws a recording: fg-render {file} -o out.svg"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::Record;

    fn refusal(words: &str) -> String {
        let words = words.split_whitespace();
        Record::try_parse_from(words).expect_err("it is refused").to_string()
    }

    #[test]
    fn options_of_cargo_flamegraph_name_ours() {
        for tool in ["fg-record", "fg-record cargo"] {
            for (option, ours) in [
                ("-c record", "--with perf --backend-args"),
                ("--cmd record", "--with perf --backend-args"),
                ("--post-process tac", "| tac | fg-render"),
                ("--perfdata x.data", "fg-render x.data"),
            ] {
                let said = refusal(&format!("{tool} {option} -- ./app"));
                assert!(said.contains(ours), "{said}");
            }
        }
    }

    #[test]
    fn options_of_cargo_flamegraph_are_accepted() {
        let options = "--flamechart --palette java --notes x --min-width 0.5 --image-width 900 --inverted \
                       --reverse --deterministic --skip-after main --ignore-status --no-inline --root -F 99 \
                       -o out.svg --verbose";
        for tool in ["fg-record", "fg-record cargo"] {
            let line = format!("{tool} {options} -- ./app");
            let record = Record::try_parse_from(line.split_whitespace()).expect("they are known");
            let how = match record.task {
                Some(super::super::Task::Cargo(cargo)) => cargo.how,
                _ => record.how,
            };
            assert!(how.results.picture.stacks.reverse && how.results.picture.size.width == Some(900));
            assert_eq!(how.sampling.skip_after, ["main"]);
        }
    }
}
