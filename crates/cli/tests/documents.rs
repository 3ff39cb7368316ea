//! The README's commands do what it says.

use crate::tool;
use std::process::Command;

/// Every subcommand there is.
const SUBCOMMANDS: &[&[&str]] = &[
    &["run"],
    &["check"],
    &["summary"],
    &["sources"],
    &["report"],
    &["attribute"],
    &["merge"],
    &["measure"],
    &["measure", "fwq"],
    &["measure", "ftq"],
    &["measure", "tick"],
    &["measure", "loops"],
    &["measure", "kernels"],
    &["measure", "interference"],
    &["measure", "serial"],
    &["inject"],
    &["suite"],
    &["suite", "cmt"],
    &["suite", "loops"],
    &["predict"],
    &["predict", "ticks"],
    &["predict", "phases"],
];

/// Each line of the README's console block runs, in order, in an empty directory.
#[test]
fn the_commands_of_the_readme_run() {
    let readme = include_str!("../../../README.md");
    let block = readme.split("```console\n").nth(1).expect("a console block");
    let block = block.split("```").next().expect("it ends");
    let dir = tempfile::tempdir().expect("a directory");
    let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(commands.len() >= 5, "{commands:?}");
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        assert_eq!(words[0], "anechoic", "{command}");
        let traces = !matches!(words[1], "sources" | "attribute") || tool::may_trace();
        if !traces {
            continue;
        }
        let done = Command::new(tool::ANECHOIC).args(&words[1..]).current_dir(dir.path()).output();
        let done = done.expect("it runs");
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{command}: {err}");
        assert!(!done.stdout.is_empty(), "{command} says nothing");
    }
}

/// Every option that a document names in a command exists.
#[test]
fn documented_options_exist() {
    let help: String = SUBCOMMANDS
        .iter()
        .map(|subcommand| tool::anechoic(&[*subcommand, &["--help"]].concat()).out)
        .collect();
    for (name, text) in [
        ("README.md", include_str!("../../../README.md")),
        ("docs/methodology.md", include_str!("../../../docs/methodology.md")),
        ("docs/limits.md", include_str!("../../../docs/limits.md")),
    ] {
        for quoted in text.split('`').skip(1).step_by(2).filter(|q| q.starts_with("anechoic ")) {
            for option in quoted.split_whitespace().filter(|word| word.starts_with("--")) {
                assert!(help.contains(option), "{name} names {option} in `{quoted}`");
            }
        }
    }
}

/// Every subcommand's help has an example.
#[test]
fn every_help_has_an_example() {
    for subcommand in SUBCOMMANDS {
        let done = tool::anechoic(&[*subcommand, &["--help"]].concat());
        assert_eq!(done.code, Some(0));
        assert!(done.out.contains("Example"), "{subcommand:?}: {}", done.out);
    }
}
