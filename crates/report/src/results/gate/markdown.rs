//! A gate as Markdown, for the summary of a job.

use super::{headline, name, outcome, reason, scope};
use crate::style::plain;
use anechoic_analyze::gate::{Gate, Outcome, RuleOutcome};
use std::fmt::Write;

/// Writes the outcome of every rule as a Markdown table.
#[must_use]
pub fn gate_markdown(gate: &Gate) -> String {
    let mut text = format!("### anechoic gate\n\n**{}** {}\n\n", headline(gate), scope(gate));
    text += "| outcome | rule | reason |\n| --- | --- | --- |\n";
    for rule in &gate.rules {
        let row =
            format!("| {} | {} | {} |", marked(rule), code(&name(rule)), cell(&reason(rule, gate)));
        let _ = writeln!(text, "{row}"); // a string takes all
    }
    for unread in &gate.unread {
        let _ = write!(text, "\nNot judged: {}\n", cell(unread));
    }
    text + "\n"
}

fn marked(rule: &RuleOutcome) -> String {
    let sign = match rule.outcome {
        Outcome::Pass => "✅",
        Outcome::Undecided => "⚠️",
        Outcome::Fail => "❌",
    };
    format!("{sign} {}", outcome(rule.outcome))
}

/// Writes a text without anything that Markdown or HTML would interpret.
pub(in crate::results) fn cell(text: &str) -> String {
    let mut escaped = String::new();
    for letter in plain(text).chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '~' => escaped.extend(['\\', letter]),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Writes a text as code. HTML has it instead of backticks, because a rule may contain these.
fn code(text: &str) -> String {
    format!("<code>{}</code>", cell(text))
}
