//! A gate as JUnit XML, which continuous integration shows as tests: a failed rule is a failure, an undecided one an
//! error.

use super::{headline, name, reason};
use crate::style::plain;
use anechoic_analyze::gate::{Gate, Outcome};
use std::fmt::Write;

/// Writes every rule as a test case.
#[must_use]
pub fn gate_junit(of: &Gate) -> String {
    let number = |outcome| of.rules.iter().filter(|rule| rule.outcome == outcome).count();
    let (failures, errors) = (number(Outcome::Fail), number(Outcome::Undecided));
    let counts =
        format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", of.rules.len());
    let first = of.recordings.first();
    let host = first.map_or("", |of| &of.host);
    let start = first.map_or("", |of| of.start_utc.split(['.', 'Z']).next().unwrap_or_default());
    let seconds = of.recordings.iter().map(|of| of.wall_ns as f64 / 1e9).sum::<f64>();
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    // Writing to a string does not fail.
    let _ = writeln!(xml, "<testsuites name=\"anechoic gate\" {counts} time=\"{seconds:.3}\">");
    let _ = writeln!(
        xml,
        "  <testsuite name=\"anechoic gate\" {counts} skipped=\"0\" timestamp=\"{}\" hostname=\"{}\" time=\"{seconds:.3}\">",
        escaped(start),
        escaped(host)
    );
    for rule in &of.rules {
        let reason = escaped(&reason(rule, of));
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
    let unread: Vec<String> = of.unread.iter().map(|of| format!("not judged: {of}")).collect();
    let out = std::iter::once(headline(of)).chain(unread).collect::<Vec<_>>().join("\n");
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
