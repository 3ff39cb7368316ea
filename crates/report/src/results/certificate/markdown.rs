//! A certificate as Markdown, for the summary of a job.

use super::{headline, lost, name, others, reason, slow_first, smallest};
use crate::results::gate::cell;
use crate::units::share;
use anechoic_analyze::certificate::{Certificate, Fitness};
use std::fmt::Write;

/// Writes the verdict, the checks and the largest sources.
#[must_use]
pub fn certificate_markdown(found: &Certificate) -> String {
    let mut text = format!("### Noise certificate\n\n{}\n\n", cell(&headline(found)));
    for check in others(found) {
        let sign = match check.outcome {
            Fitness::Fit => "✅",
            Fitness::Undecided => "⚠️",
            Fitness::Unfit => "❌",
        };
        let _ = writeln!(text, "- {sign} {}", cell(&reason(check, found)));
    }
    let mut rows = vec![("lost".to_owned(), lost(found))];
    let sources = found.sources.iter();
    rows.extend(sources.map(|source| (format!("by {}", name(source)), share(source.share))));
    rows.extend(found.effect.as_ref().map(|effect| ("smallest effect".into(), smallest(effect))));
    rows.extend(found.slow_first.as_ref().map(|slow| ("first run".into(), slow_first(slow))));
    rows.push(("machine".into(), format!("{}, {}", found.run.host, found.run.model)));
    text.push_str("\n| | |\n| --- | --- |\n");
    for (what, value) in rows {
        let _ = writeln!(text, "| {} | {} |", cell(&what), cell(&value));
    }
    text.push('\n');
    text
}
