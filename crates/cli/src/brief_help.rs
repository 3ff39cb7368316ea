//! What `-h` shows: a line for each option, without those that few need. `--help` shows all of each.

use clap::{Arg, Command};

/// Widest line of help, in columns.
const WIDTH: usize = 80;
/// Columns before the name of an option, for its short name, and those between name and text.
const BESIDE: usize = 8;
/// Options that only `--help` shows.
const RARE: [&str; 6] =
    ["color", "rank_from_env", "patience", "allow_variant_tsc", "bucket", "buckets"];

/// How texts begin that have no short beginning, and what stands for them.
const SHORT: [(&str, &str); 48] = [
    ("A thread that a timer released", "A release later than this is late"),
    ("Also record the calls in which", "Show where in its code it lost a CPU"),
    ("Append the result to this file as Markdown", "Append the result to a Markdown file"),
    ("Count in an iteration what all", "Count what all threads lose"),
    ("Duration of the work of one rate", "Duration of the work of one rate"),
    ("End the measurement at the first wake-up", "End at the first later wake-up: 'wakeup>100us'"),
    ("End the recording at the first detour", "End at 'detour>1ms', 'wait>1ms' or 'lost>5%'"),
    ("End the run at the first detour", "End at 'detour>100us' or 'detours>=100000'"),
    ("End a series once its accumulated mean", "End a series once its mean is steady"),
    ("How much of the time in which the command", "Part of its time that others may take"),
    ("The smallest slowdown that as many runs", "The slowdown that must be shown"),
    ("Judge the newest recording if it ended", "An older recording is not judged"),
    ("Print one line for a program that watches", "Print one line for a health check"),
    ("Four sizes of the matrix", "Four sizes of the matrix instead of nine"),
    ("Keep the sets that are complete", "Measure only the sets that are not complete"),
    ("Keep the whole measurement", "Keep the whole measurement in this directory"),
    ("Largest increase of the noise", "Largest increase of the noise"),
    ("Largest number of detours", "Most detours of a CPU per time"),
    ("Largest number of steps", "Largest number of steps of the recursion"),
    ("Largest share of detours", "Largest loss of detours or events"),
    ("Largest share of kernel events", "Most kernel events outside detours"),
    ("Measure N times", "Measure N times; mean and deviation"),
    ("Measure at the same time, and compare", "Compare what was asked with what was seen"),
    ("Measure nothing; show", "Show what was measured into this directory"),
    ("Measure the CPUs one after the other", "Measure the CPUs one after the other"),
    ("Numbers of copies of the work", "Numbers of copies of the work"),
    ("Predict the cost for a job", "Number of ranks of the job to predict"),
    ("Record these running processes", "Record these running processes: 12,34"),
    ("Recordings of `measure wakeup` and of cyclictest: largest", "Largest share of late wake-ups"),
    ("Recordings of `measure wakeup` and of cyclictest: longest", "Longest wake-up"),
    ("Recordings of a program: longest time from", "Longest release latency of a thread"),
    ("Recordings of a program: longest time that", "Longest wait of a thread"),
    ("Serial port to which", "Serial port to which the recording is sent"),
    ("Minimum measured time of each CPU", "Shortest time watched for a verdict"),
    ("The same, with each text", "The same by texts in the trace_marker"),
    ("The same, with each write", "The same by writes to a descriptor"),
    ("Time for the expiries", "Time for one interval and one kind of idle"),
    ("Time for the repetitions", "Time for one experiment on one working set"),
    ("Time for the samples of one ring", "Time for the samples of one ring"),
    ("Total time of the phases", "Total time of the phases of one grain"),
    ("Undisturbed time between", "Undisturbed time between synchronisations"),
    ("Use random", "Use exponentially distributed times"),
    ("With --poisson or --phase random: seed", "With random times: their seed"),
    ("With --policy fifo: measure every", "With --policy fifo: measure every CPU"),
    ("With --stop-on: keep only", "With --stop-on: keep only this much time"),
    ("With --verify: show the result", "With --verify: keep no recordings"),
    ("Write to this file instead of", "Write to this file"),
    ("Write the result to this file as JUnit", "Write the result as JUnit XML"),
];

/// Returns the command with a line for each option, as `-h` shows it.
pub(crate) fn brief(command: Command) -> Command {
    let shown = |arg: &&Arg| !arg.is_hide_set() && !RARE.contains(&arg.get_id().as_str());
    let widest = command.get_arguments().filter(shown).map(columns);
    let room = WIDTH.saturating_sub(widest.max().unwrap_or(0) + BESIDE);
    command
        .mut_args(|arg| match RARE.contains(&arg.get_id().as_str()) {
            true => arg.hide_short_help(true),
            false => in_one_line(arg, room),
        })
        .mut_subcommands(brief)
}

/// Returns the width of an option's name with its values, or of an argument.
fn columns(arg: &Arg) -> usize {
    let id = arg.get_id().as_str().len() + 3;
    let names = arg.get_value_names();
    let values = names.map_or(id, |names| names.iter().map(|name| name.len() + 3).sum::<usize>());
    match arg.get_long() {
        Some(long) if arg.get_action().takes_values() => long.len() + 2 + values,
        Some(long) => long.len() + 2,
        None => values + 2,
    }
}

/// Shortens the text of an option to this many columns; its default value stays if it fits.
fn in_one_line(arg: Arg, room: usize) -> Arg {
    let Some(help) = arg.get_help().map(ToString::to_string) else { return arg };
    let short = SHORT.iter().find(|(beginning, _)| help.starts_with(beginning));
    let text = match short.filter(|_| help.chars().count() > room) {
        Some((_, short)) => (*short).to_owned(),
        None => fitting(&help, room).to_owned(),
    };
    let values: Vec<String> = match arg.get_action().takes_values()
        && !arg.is_hide_default_value_set()
    {
        true => {
            arg.get_default_values().iter().map(|value| value.to_string_lossy().into()).collect()
        }
        false => vec![],
    };
    let with_default = format!("{text} [default: {}]", values.join(" "));
    let fits = !values.is_empty() && with_default.chars().count() <= room;
    let line = if fits { with_default } else { text };
    arg.help(line).long_help(help).hide_default_value(true).hide_possible_values(true)
}

/// Returns the longest beginning of a text that fits and ends where a sentence or one of its parts does, or all of it if
/// there is none.
fn fitting(text: &str, room: usize) -> &str {
    let fits = |end: &usize| text[..*end].chars().count() <= room;
    let ends = std::iter::once(text.len()).chain(ends(text)).filter(fits);
    ends.max().map_or(text, |end| &text[..end])
}

/// Returns where the parts of a text end, outside of brackets.
fn ends(text: &str) -> impl Iterator<Item = usize> {
    let mut depth = 0_u32;
    text.char_indices().filter_map(move |(at, letter)| {
        let outside = depth == 0;
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let next = &text[at + letter.len_utf8()..];
        let part = match letter {
            ' ' => next.starts_with(['(', '[']),
            ':' if text.starts_with("With ") => false, // it is only the condition
            ',' | ';' | ':' | '.' => next.starts_with(' '),
            _ => false,
        };
        (outside && part).then_some(at)
    })
}

/// Returns the command with examples of at most 80 columns: what is said about a longer one stands below it.
pub(crate) fn with_narrow_examples(command: Command) -> Command {
    let examples = command.get_after_help().map(|text| narrow(&text.to_string()));
    let command = match examples {
        Some(examples) => command.after_help(examples),
        None => command,
    };
    command.mut_subcommands(with_narrow_examples)
}

/// Returns an example in lines of at most 80 columns if it can be broken before an option or an operator, with the
/// backslash after which a shell reads on.
fn broken(line: &str) -> String {
    let mut quoted = false;
    let mut at = None;
    for (end, letter) in line.char_indices().take(WIDTH - 1) {
        quoted ^= letter == '\'';
        let rest = &line[end..];
        if !quoted && [" -", " && ", " | ", " '"].iter().any(|next| rest.starts_with(next)) {
            at = Some(end);
        }
    }
    match at.filter(|_| line.chars().count() > WIDTH) {
        Some(at) => {
            format!("{} \\\n{}", &line[..at], broken(&format!("{INDENT}{}", line[at..].trim())))
        }
        None => line.to_owned(),
    }
}

/// Columns before what is said about an example.
const INDENT: &str = "      ";

fn narrow(examples: &str) -> String {
    let mut lines: Vec<String> = vec![];
    let mut below = false;
    for line in examples.lines() {
        let text = line.trim_start();
        let continued = line.len() - text.len() > INDENT.len();
        let long = line.starts_with("  ") && line.chars().count() > WIDTH;
        below = long || (below && continued);
        match text.split_once("  ").filter(|_| long && !continued) {
            _ if !below => lines.push(line.to_owned()),
            Some((example, about)) => {
                lines.push(broken(&format!("  {example}")));
                lines.push(format!("{INDENT}{}", about.trim_start().trim_start_matches("# ")));
            }
            None if continued => lines.push(format!("{INDENT}{text}")),
            None if text.contains("anechoic ") => lines.push(broken(line)),
            None => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `see` with each command and the words that name it.
    fn walk(command: &Command, name: &str, see: &mut impl FnMut(&Command, &str)) {
        see(command, name);
        let subcommands = command.get_subcommands().filter(|sub| sub.get_name() != "help");
        subcommands.for_each(|sub| walk(sub, &format!("{name} {}", sub.get_name()), see));
    }

    #[test]
    fn every_option_has_one_line() {
        let mut wide = vec![];
        let mut command = brief(crate::command_line());
        command.build();
        walk(&command, "anechoic", &mut |command, name| {
            let shown = |arg: &&Arg| !arg.is_hide_set() && !arg.is_hide_short_help_set();
            let options = || command.get_arguments().filter(shown);
            let widest = options().map(columns).max().unwrap_or(0);
            for option in options() {
                let help = option.get_help().map(ToString::to_string).unwrap_or_default();
                if widest + BESIDE + help.chars().count() > WIDTH {
                    wide.push(format!("{name} {}: {help}", option.get_id()));
                }
            }
        });
        assert!(wide.is_empty(), "\n{}", wide.join("\n"));
    }

    #[test]
    fn what_is_said_about_a_long_example_stands_below_it() {
        let long = "x".repeat(70);
        let text =
            format!("Examples:\n  short  this\n  {long}    # what it\n{:30}does\n\nEnd.", "");
        let expected =
            format!("Examples:\n  short  this\n  {long}\n      what it\n      does\n\nEnd.");
        assert_eq!(narrow(&text), expected);
    }

    #[test]
    fn a_long_example_is_broken_before_an_option() {
        let (name, value) = ("n".repeat(40), "v".repeat(40));
        let line = format!("  anechoic {name} --is 'a -b {value}'");
        assert_eq!(broken(&line), format!("  anechoic {name} --is \\\n      'a -b {value}'"));
        assert_eq!(broken(&line[..70]), line[..70]);
        let whole = format!("  {name}{value}");
        assert_eq!(broken(&whole), whole);
    }

    #[test]
    fn a_text_is_cut_where_a_part_of_it_ends() {
        for (room, expected) in [
            (99, "How long (1h, say), or 10s; more"),
            (30, "How long (1h, say), or 10s"),
            (20, "How long (1h, say)"),
            (10, "How long"),
            (3, "How long (1h, say), or 10s; more"),
        ] {
            assert_eq!(fitting("How long (1h, say), or 10s; more", room), expected);
        }
    }
}
