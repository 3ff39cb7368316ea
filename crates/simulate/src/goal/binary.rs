//! The binary form of a schedule. All numbers are little-endian, and offsets count from the end of the cookie.

use crate::schedule::{Action, Builder, Schedule, bad};
use anechoic_recording::{Problem, ProblemKind};
use std::io::{Read, Seek, SeekFrom};

/// Bytes of an operation.
const OPERATION: usize = 39;
/// What to do about a file that cannot be right.
const AGAIN: &str = "make it again with txt2bin, or give the text";

/// Reads a schedule of `length` bytes whose cookie was read.
pub(super) fn read(mut input: impl Read + Seek, length: u64) -> Result<Schedule, Problem> {
    let head = bytes(&mut input, 6)?;
    let ranks = u32_at(&head, 0);
    let table = 16 * u64::from(ranks);
    if 14 + table > length {
        return Err(bad(format!("it is too short for {ranks} ranks"), AGAIN));
    }
    let table = bytes(&mut input, table as usize)?;
    let mut builder = Builder::new(ranks);
    for (rank, place) in table.chunks_exact(16).enumerate() {
        let (begin, end) = (u64_at(place, 0), u64_at(place, 8));
        let inside = begin.checked_add(8).zip(end.checked_add(8));
        let (begin, end) =
            inside.filter(|(begin, end)| begin <= end && *end <= length).ok_or_else(|| {
                bad("it lies outside the file: it is not whole", AGAIN)
                    .about(format_args!("rank {rank}"))
            })?;
        input.seek(SeekFrom::Start(begin)).map_err(failed)?;
        let block = bytes(&mut input, (end - begin) as usize)?;
        read_rank(&mut builder, &block)
            .map_err(|problem| problem.about(format_args!("rank {rank}")))?;
    }
    builder.finish()
}

/// Reads the operations of a rank.
fn read_rank(builder: &mut Builder, block: &[u8]) -> Result<(), Problem> {
    let cut_off = || bad("it is cut off", AGAIN);
    let (head, rest) = block.split_at_checked(8).ok_or_else(cut_off)?;
    let (count, roots) = (u32_at(head, 0) as usize, u32_at(head, 4) as usize);
    let (_, rest) = rest.split_at_checked(4 * roots).ok_or_else(cut_off)?;
    let (operations, appendix) = count
        .checked_mul(OPERATION)
        .and_then(|length| rest.split_at_checked(length))
        .ok_or_else(cut_off)?;
    if appendix.len() % 4 != 0 {
        return Err(bad("the list of dependencies has half a number", AGAIN));
    }
    let mut waits = vec![0_u32; count];
    for (number, operation) in operations.chunks_exact(OPERATION).enumerate() {
        let (action, cpu, nic) = action(operation)?;
        builder.add_on(action, cpu, nic)?;
        for (count_at, is_start) in [(23, false), (31, true)] {
            let (count, begin) = (u32_at(operation, count_at), u32_at(operation, count_at + 4));
            if count == 0 {
                continue;
            }
            let range = 4 * begin as usize..4 * (begin as usize + count as usize);
            let list = appendix.get(range).ok_or_else(cut_off)?;
            for dependant in list.chunks_exact(4).map(|place| u32_at(place, 0)) {
                let Some(waiting) = waits.get_mut(dependant as usize) else {
                    return Err(bad(format!("there is no operation {dependant}"), AGAIN));
                };
                *waiting += 1;
                match is_start {
                    true => builder.after_start(dependant, number as u32),
                    false => builder.after(dependant, number as u32),
                }
            }
        }
    }
    let stated = operations.chunks_exact(OPERATION).map(|operation| u32_at(operation, 0));
    if let Some(number) = waits.iter().zip(stated).position(|(counted, stated)| *counted != stated)
    {
        let why = format!("operation {number} does not wait for as many as it states");
        return Err(bad(why, AGAIN));
    }
    builder.end_rank()
}

/// Returns what an operation does, and where.
fn action(operation: &[u8]) -> Result<(Action, u8, u8), Problem> {
    let (peer, tag) = (u32_at(operation, 5), u32_at(operation, 17));
    let size = u64_at(operation, 9);
    let action = match operation[4] {
        1 => Action::Send { to: peer, bytes: size, tag },
        2 => Action::Receive { from: peer, bytes: size, tag },
        3 => Action::Compute { ns: size },
        other => return Err(bad(format!("there is no operation of type {other}"), AGAIN)),
    };
    Ok((action, operation[21], operation[22]))
}

fn failed(error: std::io::Error) -> Problem {
    ProblemKind::NoInput.problem(format!("cannot read: {error}"), "name a GOAL file")
}

/// Reads this many bytes.
fn bytes(input: &mut impl Read, count: usize) -> Result<Vec<u8>, Problem> {
    let mut read = vec![];
    input.take(count as u64).read_to_end(&mut read).map_err(failed)?;
    match read.len() == count {
        true => Ok(read),
        false => Err(bad("it is cut off", AGAIN)),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
