//! Writes schedules.

use super::COOKIE;
use crate::schedule::{ANY_RANK, ANY_TAG, Kind, ON_START, Schedule, Shape};
use std::io::{self, Write};

/// Writes a schedule as text.
///
/// # Errors
/// The output cannot be written.
pub fn write_text(schedule: &Schedule, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "num_ranks {}", schedule.ranks())?;
    for rank in 0..schedule.ranks() {
        writeln!(out, "\nrank {rank} {{")?;
        for number in 0..schedule.count(rank) {
            let operation = schedule.operation(rank, number);
            let (peer, shape) = (operation.peer, schedule.whole_shape(operation));
            write!(out, "l{}: ", number + 1)?;
            match shape.kind {
                Kind::Send => write!(out, "send {}b to {peer}", shape.size)?,
                Kind::Receive => {
                    write!(out, "recv {}b from {}", shape.size, or_any(peer, ANY_RANK))?
                }
                Kind::Compute => write!(out, "calc {}", shape.size)?,
            }
            write_places(&shape, out)?;
        }
        for number in 0..schedule.count(rank) {
            for edge in schedule.dependants(rank, number) {
                let word = if edge & ON_START == 0 { "requires" } else { "irequires" };
                let dependant = (edge & !ON_START) + 1;
                writeln!(out, "l{dependant} {word} l{}", number + 1)?;
            }
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}

/// Writes tag, CPU and network interface where they are not 0.
fn write_places(shape: &Shape, out: &mut impl Write) -> io::Result<()> {
    if shape.tag != 0 {
        write!(out, " tag {}", or_any(shape.tag, ANY_TAG))?;
    }
    if shape.cpu != 0 {
        write!(out, " cpu {}", shape.cpu)?;
    }
    if shape.nic != 0 {
        write!(out, " nic {}", shape.nic)?;
    }
    writeln!(out)
}

fn or_any(number: u32, any: u32) -> i64 {
    if number == any { -1 } else { i64::from(number) }
}

/// Writes a schedule in the binary form.
///
/// # Errors
/// The output cannot be written.
pub fn write_binary(schedule: &Schedule, out: &mut impl Write) -> io::Result<()> {
    let mut waits = vec![];
    schedule.each_wait(|_, count| waits.push(count));
    out.write_all(&COOKIE.to_le_bytes())?;
    out.write_all(&schedule.ranks().to_le_bytes())?;
    out.write_all(&[(schedule.cpus() - 1) as u8, (schedule.nics() - 1) as u8])?;
    let mut place = 6 + 16 * u64::from(schedule.ranks());
    for rank in 0..schedule.ranks() {
        let (mut length, mut edges) = (8_u64, 0);
        for operation in 0..schedule.count(rank) {
            let is_root = waits[schedule.number(rank, operation)] == 0;
            length += 39 + if is_root { 4 } else { 0 };
            edges += schedule.dependants(rank, operation).len() as u64;
        }
        out.write_all(&place.to_le_bytes())?;
        place += length + 4 * edges;
        out.write_all(&place.to_le_bytes())?;
    }
    (0..schedule.ranks()).try_for_each(|rank| write_rank(schedule, rank, &waits, out))
}

fn write_rank(
    schedule: &Schedule,
    rank: u32,
    waits: &[u32],
    out: &mut impl Write,
) -> io::Result<()> {
    let count = schedule.count(rank);
    let waits = &waits[schedule.number(rank, 0)..][..count as usize];
    let roots = (0..count).filter(|&operation| waits[operation as usize] == 0);
    out.write_all(&count.to_le_bytes())?;
    out.write_all(&(roots.clone().count() as u32).to_le_bytes())?;
    for root in roots {
        out.write_all(&root.to_le_bytes())?;
    }
    let mut appendix = vec![];
    for number in 0..count {
        let operation = schedule.operation(rank, number);
        let shape = schedule.whole_shape(operation);
        let (kind, peer) = match shape.kind {
            Kind::Send => (1, operation.peer),
            Kind::Receive => (2, operation.peer),
            Kind::Compute => (3, 0),
        };
        out.write_all(&waits[number as usize].to_le_bytes())?;
        out.write_all(&[kind])?;
        out.write_all(&peer.to_le_bytes())?;
        out.write_all(&shape.size.to_le_bytes())?;
        out.write_all(&shape.tag.to_le_bytes())?;
        out.write_all(&[shape.cpu, shape.nic])?;
        // In the file those that wait for the end come first.
        for on in [0, ON_START] {
            let begin = appendix.len() as u32;
            let edges = schedule.dependants(rank, number).iter();
            appendix
                .extend(edges.filter(|&&edge| edge & ON_START == on).map(|edge| edge & !ON_START));
            out.write_all(&(appendix.len() as u32 - begin).to_le_bytes())?;
            out.write_all(&begin.to_le_bytes())?;
        }
    }
    appendix.iter().try_for_each(|dependant| out.write_all(&dependant.to_le_bytes()))
}
