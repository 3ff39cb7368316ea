//! A gate as JUnit XML, which continuous integration shows as tests: a failed rule is a failure, an undecided one an
//! error.

use super::{headline, name, reason};
use crate::style::plain;
use anechoic_analyze::gate::{Gate, Outcome};
use std::fmt::Write;

/// Writes every rule as a test case.
#[must_use]
pub fn gate_junit(gate: &Gate) -> String {
    let number = |outcome| gate.rules.iter().filter(|rule| rule.outcome == outcome).count();
    let (failures, errors) = (number(Outcome::Fail), number(Outcome::Undecided));
    let counts =
        format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", gate.rules.len());
    let first = gate.recordings.first();
    let host = first.map_or("", |recording| &recording.host);
    let start = first
        .map_or("", |recording| recording.start_utc.split(['.', 'Z']).next().unwrap_or_default());
    let seconds =
        gate.recordings.iter().map(|recording| recording.wall_ns as f64 / 1e9).sum::<f64>();
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    // Writing to a string does not fail.
    let _ = writeln!(xml, "<testsuites name=\"anechoic gate\" {counts} time=\"{seconds:.3}\">");
    let _ = writeln!(
        xml,
        "  <testsuite name=\"anechoic gate\" {counts} skipped=\"0\" timestamp=\"{}\" hostname=\"{}\" time=\"{seconds:.3}\">",
        escaped(start),
        escaped(host)
    );
    for rule in &gate.rules {
        let reason = escaped(&reason(rule, gate));
        let result = match rule.outcome {
            Outcome::Pass => format!("<system-out>{reason}</system-out>"),
            Outcome::Fail => format!("<failure type=\"exceeded\" message=\"{reason}\"/>"),
            Outcome::Undecided => format!("<error type=\"undecided\" message=\"{reason}\"/>"),
        };
        let _ = writeln!(
            xml,
            "    <testcase classname=\"anechoic.gate\" name=\"{}\" time=\"0\">{result}</testcase>",
            escaped(&name(rule))
        );
    }
    let unread: Vec<String> = gate.unread.iter().map(|why| format!("not judged: {why}")).collect();
    let out = std::iter::once(headline(gate)).chain(unread).collect::<Vec<_>>().join("\n");
    let _ = writeln!(
        xml,
        "    <system-out>{}</system-out>",
        out.lines().map(escaped).collect::<Vec<_>>().join("\n")
    );
    xml + "  </testsuite>\n</testsuites>\n"
}

/// Writes a text as XML may have it, in an element or in a quoted attribute.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in plain(text).chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\u{fffe}' | '\u{ffff}' => escaped.push('?'), // not allowed in XML 1.0
            _ => escaped.push(letter),
        }
    }
    escaped
}
