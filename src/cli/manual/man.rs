//! Man pages.

use std::io::Write;

use clap::Command;
use clap_mangen::{
    Man,
    roff::{Inline, Roff, bold, italic, roman},
};

use super::sections::Section;
use super::{ENVIRONMENT, Manual, sections};

/// Writes the man page of a command that is built; `name` is its full name, such as
/// `fg-record-cargo`.
///
/// # Errors
/// The error of `out`.
pub fn write(command: &Command, name: &str, out: &mut dyn Write) -> std::io::Result<()> {
    let manual = Manual::of(name);
    let sections = sections::of(command);
    let plain = command.clone().after_help("").after_long_help("");
    // A page names the program and its subcommand in one word, the usage in two.
    let plain = plain.display_name(name);
    let version = format!("fg-tools {}", env!("CARGO_PKG_VERSION"));
    // Without a date: the same program writes the same page. roff's writer leaves empty words out.
    let title = name.to_uppercase().replace('-', "\\-");
    writeln!(
        out,
        ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH \"{title}\" \"1\" \"\" \"{version}\" \"fg\\-tools\""
    )?;
    let usage = plain.clone().render_usage().to_string();
    let man = Man::new(plain);
    man.render_name_section(out)?;
    write_synopsis(&usage, out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if command.get_subcommands().any(|task| !task.is_hide_set()) {
        man.render_subcommands_section(out)?;
    }
    let mut roff = Roff::default();
    for section in &sections {
        write_section(section, &mut roff);
    }
    let environment: Vec<_> = manual.environment.iter().chain(ENVIRONMENT).collect();
    write_list("ENVIRONMENT", &environment, &mut roff);
    write_list("FILES", &manual.files.iter().collect::<Vec<_>>(), &mut roff);
    write_see_also(manual.see_also, &mut roff);
    roff.to_writer(out)
}

fn write_synopsis(usage: &str, out: &mut dyn Write) -> std::io::Result<()> {
    let mut roff = Roff::default();
    roff.control("SH", ["SYNOPSIS"]);
    roff.control("nf", []);
    for line in usage.trim_start_matches("Usage:").lines() {
        roff.text([roman(line.trim())]);
    }
    roff.control("fi", []);
    roff.to_writer(out)
}

fn write_section(section: &Section, roff: &mut Roff) {
    roff.control("SH", [section.heading.to_uppercase().as_str()]);
    if !section.is_commands() {
        for (n, paragraph) in section.text.split("\n\n").enumerate() {
            if n > 0 {
                roff.control("PP", []);
            }
            roff.text([roman(capitalized(&paragraph.replace('\n', " ")))]);
        }
        return;
    }
    // A remark stands before its command, or behind it in the same line.
    let lines = section.text.lines().map(str::trim).filter(|line| !line.is_empty());
    for (n, line) in lines.enumerate() {
        if n > 0 {
            roff.control("PP", []);
        }
        match line.strip_prefix("# ") {
            Some(remark) => roff.text([roman(format!("{}:", capitalized(remark)))]),
            None => {
                roff.control("RS", ["4"]);
                roff.control("nf", []);
                roff.text([bold(line)]);
                roff.control("fi", []);
                roff.control("RE", [])
            }
        };
    }
}

/// A text with a capital letter at its beginning.
fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

fn write_list(heading: &str, rows: &[&(&str, &str)], roff: &mut Roff) {
    if rows.is_empty() {
        return;
    }
    roff.control("SH", [heading]);
    for (name, text) in rows {
        roff.control("TP", []);
        roff.text([italic(*name)]);
        roff.text([roman(*text)]);
    }
}

fn write_see_also(pages: &[&str], roff: &mut Roff) {
    if pages.is_empty() {
        return;
    }
    roff.control("SH", ["SEE ALSO"]);
    let mut line: Vec<Inline> = Vec::new();
    for (n, page) in pages.iter().enumerate() {
        let (name, section) = page.split_once('(').unwrap_or((page, "1)"));
        line.push(bold(name));
        line.push(roman(format!("({section}{}", if n + 1 < pages.len() { ", " } else { "" })));
    }
    roff.text(line);
}
