//! The table of `anechoic check`: what can be measured on this machine.

use crate::screen::{Fact, Screen};
use crate::style::{Tone, View, clip, plain, width};
use anechoic_recording::check::{Check, Finding, Verdict};

/// Widest column of what was checked.
const WHAT_COLUMNS: usize = 24;

/// Shows what can be measured on a machine, and what would enable the rest.
#[must_use]
pub fn check(check: &Check, _view: &View<'_>) -> Screen {
    let machine = &check.machine;
    let release = machine.kernel.split_whitespace().next().unwrap_or("unknown kernel");
    let mut screen = Screen::default();
    let (host, model) = (&machine.host, &machine.model);
    screen.heading(&format!("what can be measured on {host} · {model} · Linux {release}"));
    screen.gap();
    let widest = check.findings.iter().map(|finding| width(&finding.what)).max().unwrap_or(0);
    let columns = widest.min(WHAT_COLUMNS);
    screen.list(columns + 4, check.findings.iter().map(|found| fact(found, columns)).collect());
    screen.gap();
    let count = |verdict| check.findings.iter().filter(|f| f.verdict == verdict).count();
    screen.note(&match (count(Verdict::Limited), count(Verdict::Missing)) {
        (0, 0) => "everything can be measured here".to_owned(),
        (limited, missing) => {
            format!("{limited} limited, {missing} missing; the arrows show what would change that")
        }
    });
    screen
}

fn fact(found: &Finding, columns: usize) -> Fact {
    let (mark, tone) = match found.verdict {
        Verdict::Good => ("✓ ", Tone::Good),
        Verdict::Limited => ("~ ", Tone::Warning),
        Verdict::Missing => ("✗ ", Tone::Bad),
        Verdict::Fact => ("· ", Tone::Quiet),
    };
    Fact {
        mark,
        remedy: found.remedy.clone(),
        ..Fact::new(clip(&plain(&found.what), columns), tone, &*found.found)
    }
}
