//! Which functions of a file contain places in it.

use super::damaged;
use super::elf::{Elf, SYMBOLS};
use super::names::shown;
use anechoic_recording::Problem;
use std::fs::File;
use std::io;

/// The function that fits an address best so far.
#[derive(Debug, Clone)]
struct Candidate {
    /// Whether its size is known, so that it surely contains the address.
    is_sized: bool,
    at: u64,
    name: String,
}

/// Returns the name, for people, of the function that contains the code at each of these offsets of a file; `None` where the
/// file names none.
///
/// # Errors
/// Fails if the file is no program of this machine, or if it is damaged.
pub(crate) fn names_at(file: &File, offsets: &[u64]) -> Result<Vec<Option<String>>, Problem> {
    let elf = Elf::open(file)?;
    elf.names_at(offsets).map_err(|error| damaged(&error))
}

/// Returns where code at this offset of a file lies in memory. Of each part of the code, `code` has its start in the file, in
/// memory, and its length.
fn in_memory(code: &[[u64; 3]], offset: u64) -> Option<u64> {
    let part = code
        .iter()
        .find(|[file, _, length]| (*file..file.saturating_add(*length)).contains(&offset))?;
    part[1].checked_add(offset - part[0])
}

impl Elf<'_> {
    fn names_at(&self, offsets: &[u64]) -> io::Result<Vec<Option<String>>> {
        let code = self.code()?;
        let mut wanted: Vec<(u64, usize)> = offsets
            .iter()
            .zip(0..)
            .filter_map(|(&offset, at)| Some((in_memory(&code, offset)?, at)))
            .collect();
        wanted.sort_unstable();
        let sections = self.sections()?;
        let mut names = vec![None; offsets.len()];
        for kind in SYMBOLS {
            let mut best = Best::new(wanted.iter().map(|(address, _)| *address).collect());
            self.functions(&sections, kind, &mut |function| match function.is_elsewhere {
                true => Ok(()),
                false => best.add(function.at, function.size, &mut || function.name()),
            })?;
            for ((_, at), name) in wanted.iter().zip(best.names()) {
                names[*at] = names[*at].take().or(name);
            }
        }
        Ok(names)
    }
}

/// The functions that contain addresses.
struct Best {
    /// The addresses, which rise.
    wanted: Vec<u64>,
    found: Vec<Option<Candidate>>,
}

impl Best {
    fn new(wanted: Vec<u64>) -> Self {
        Self { found: vec![None; wanted.len()], wanted }
    }

    /// Adds a function that begins at an address.
    fn add(
        &mut self,
        at: u64,
        size: u64,
        name: &mut dyn FnMut() -> io::Result<Option<String>>,
    ) -> io::Result<()> {
        let first = self.wanted.partition_point(|&address| address < at);
        // Of a function without a size, only its first instruction is known.
        let end = self.wanted.partition_point(|&address| address < at.saturating_add(size.max(1)));
        if first == end {
            return Ok(());
        }
        let Some(name) = name()? else { return Ok(()) };
        let new = Candidate { is_sized: size > 0, at, name };
        for slot in &mut self.found[first..end] {
            if slot.as_ref().is_none_or(|old| new.rank() < old.rank()) {
                *slot = Some(new.clone());
            }
        }
        Ok(())
    }

    /// Returns the name of the function that contains each address.
    fn names(self) -> impl Iterator<Item = Option<String>> {
        self.found.into_iter().map(|it| it.map(|it| shown(&it.name)))
    }
}

impl Candidate {
    /// Of several functions, the nearest is taken, and of its names the plainest.
    fn rank(&self) -> (bool, std::cmp::Reverse<u64>, usize, usize, &str) {
        let underscores = self.name.len() - self.name.trim_start_matches('_').len();
        (!self.is_sized, std::cmp::Reverse(self.at), underscores, self.name.len(), &self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_at_its_offsets() {
        let (_dir, program) = super::super::tests::built();
        let own = File::open(program).expect("it was built");
        let known = super::super::find(&own, "a_function_of_this_test").expect("it has symbols");
        let found =
            names_at(&own, &[known.offset + 3, 0, known.offset, u64::MAX]).expect("it has symbols");
        assert_eq!(found, [Some(known.name.clone()), None, Some(known.name), None]);
    }

    #[test]
    fn the_plainest_name_of_the_nearest_function_is_taken() {
        let mut best = Best::new(vec![0xff, 0x100, 0x145, 0x150, 0x200]);
        for (name, at, size) in
            [("outer", 0x100, 0x100), ("__write", 0x140, 0x10), ("write", 0x140, 0x10)]
        {
            best.add(at, size, &mut || Ok(Some(name.to_owned()))).expect("a name");
        }
        let found: Vec<Option<String>> = best.names().collect();
        let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, [None, Some("outer"), Some("write"), Some("outer"), None]);
    }
}
