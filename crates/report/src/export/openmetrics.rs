//! The same metrics in the OpenMetrics text format 1.0.

use super::prometheus::{Family, Kind, OPTIONS, families, samples};
use super::{Format, Holds, Recorded};
use std::io::{self, Write};

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "openmetrics",
    title: "metrics in the OpenMetrics text format 1.0",
    details: "Prometheus reads it from a web server. node_exporter's textfile collector does not: \
              export prometheus for it. The metrics are those of `anechoic export prometheus`, each with its unit.",
    extension: "om",
    binary: false,
    holds: Holds::Summary,
    takes: &[Recorded::Loops, Recorded::Program, Recorded::WakeUps],
    options: OPTIONS,
    examples: "  anechoic export openmetrics before --per-cpu -o before.om",
    write: |export, out| Ok(text(&families(export)?, out)?),
};

/// Units in which names of metrics end.
const UNITS: &[&str] = &["seconds", "ratio"];

fn text(families: &[Family], out: &mut dyn Write) -> io::Result<()> {
    for family in families {
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Summary => "summary",
            Kind::Info => "info",
        };
        let name = family.name;
        writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}", family.help)?;
        if let Some(unit) = UNITS.iter().find(|unit| name.ends_with(&format!("_{unit}"))) {
            writeln!(out, "# UNIT {name} {unit}")?;
        }
        samples(family, out)?;
    }
    writeln!(out, "# EOF")
}
