//! The text of netgauge's selfish pattern.

use super::importer::CPU;
use super::lines::{time_ns, wrong};
use super::{Imported, Importer, Lines, Read};
use crate::options::Answers;
use crate::problem::Problem;

/// The row of the format.
pub(super) static IMPORTER: Importer = Importer {
    id: "netgauge",
    title: "netgauge's selfish text",
    details: "It is what `netgauge -x noise --method selfish` writes and LogGOPSim replays: the start of a detour and its \
              duration in nanoseconds, separated by a tab. The loop's iteration is taken from the comment that has the minimal \
              cycle length.",
    options: &[CPU],
    examples: "  anechoic import netgauge ng.out.0 -o selfish",
    read: Read::Detours(read),
};

fn read(lines: &mut Lines, answers: &Answers, imported: &mut Imported) -> Result<(), Problem> {
    let cpu = u32::try_from(answers.one::<u64>("cpu")?).unwrap_or(u32::MAX);
    lines.each(|line| match line.strip_prefix('#') {
        Some(comment) => match comment.trim().strip_prefix("Minimal cycle length [ns]:") {
            Some(length) => time_ns(length.trim(), 1).map(|ns| imported.iteration(ns)),
            None => Ok(()),
        },
        None => {
            let mut fields = line.split_whitespace();
            let (Some(start), Some(duration), None) = (fields.next(), fields.next(), fields.next())
            else {
                return Err(wrong("a line has a start and a duration"));
            };
            imported.add(cpu, time_ns(start, 1)?, time_ns(duration, 1)?)
        }
    })
}
