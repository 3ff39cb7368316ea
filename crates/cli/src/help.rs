//! The first screen of the command: its commands in groups, a line each, and the first steps.

use clap::Command;
use std::fmt::Write;

/// What a command is for, in one line.
type Line = (&'static str, &'static str);

/// The commands by what one wants to do.
const GROUPS: [(&str, &[Line]); 6] = [
    (
        "Measure",
        &[
            ("check", "what can be measured here, and what would enable the rest"),
            ("run", "every CPU's noise, and what took the time"),
            ("record", "what interrupts a program of yours, and what that takes"),
            ("top", "every CPU's noise, live"),
            ("monitor", "a service: the seconds before something unusual, saved"),
            ("measure", "how long the same work takes, or how much fits into equal times"),
            ("suite", "all experiments of a paper, beside its published numbers"),
            ("minimal", "a kernel without services, with anechoic as its only process"),
            ("inject", "noise of known kind, rate and duration, for tests"),
        ],
    ),
    (
        "Read",
        &[
            ("list", "the recordings of a directory, the newest last"),
            ("summary", "one recording: its noise, what took the time, how certain that is"),
            ("sources", "every source: what it took, who caused it, how to reduce it"),
            ("longest", "what happened in the longest detours"),
            ("report", "an HTML page with every detour over time, and figures"),
            ("attribute", "name the causes again, from the stored kernel events"),
        ],
    ),
    (
        "Compare",
        &[
            ("compare", "did the noise change between two sets of runs?"),
            ("ab", "which of two settings has less noise? Measures both in turn"),
            ("try", "does a setting of the kernel help? Measures with and without it"),
            ("gate", "does the noise stay within limits? Pass, fail or undecided"),
            ("certify", "was the machine quiet enough for a benchmark?"),
            ("history", "how much do runs of this host differ?"),
            ("merge", "many hosts: their ranking, and those unlike the others"),
            ("rank", "kernels, settings or machines, by their noise"),
            ("sweep", "measurements of several sizes or rates in one curve"),
        ],
    ),
    (
        "Predict",
        &[
            ("predict", "what noise costs where it was not measured: a job at scale"),
            ("simulate", "a parallel job under recorded noise, message by message"),
        ],
    ),
    (
        "Exchange",
        &[
            ("export", "files that other tools read"),
            ("import", "a recording from what another tool or the bare image measured"),
        ],
    ),
    (
        "Set up",
        &[
            ("completions", "completions for a shell"),
            ("man", "manual pages, one for each command"),
            ("help", "this text, or that of a command"),
        ],
    ),
];

/// What the command shows if nothing is asked of it.
pub(crate) const FIRST_STEPS: &str =
    "anechoic measures the time that your CPUs do not give to your program, and
names what takes it.

First steps:
  anechoic check                   what can be measured here, and what would enable the rest
  anechoic run                     ten seconds on every CPU: how noisy it is, and why
  anechoic record -- ./my-program  what interrupts a program of yours

anechoic --help lists all commands.
";

/// Has `--help` show the commands in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut text = String::from("{about}\n\n{usage-heading} {usage}\n");
    for (heading, lines) in GROUPS {
        let _ = writeln!(text, "\n{header}{heading}:{header:#}");
        for (name, about) in lines {
            let _ = writeln!(text, "  {literal}{name:<11}{literal:#}  {about}");
        }
    }
    let _ = write!(text, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    command.help_template(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_one_line_of_at_most_80_columns() {
        let command = crate::command_line();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        known.push("help");
        known.sort_unstable();
        let lines = || GROUPS.iter().flat_map(|(_, lines)| *lines);
        let mut listed: Vec<&str> = lines().map(|(name, _)| *name).collect();
        listed.sort_unstable();
        assert_eq!(listed, known);
        for (name, about) in lines() {
            assert!(about.len() <= 65 && name.len() <= 11, "{name}: {about}");
        }
    }
}
