//! Which functions of a file contain places in it.

use super::{
    CHOSEN_AT_START, EXECUTED, Elf, FUNCTION, LOADED, SYMBOLS, damaged, half, long, mangled, word,
};
use anechoic_recording::Problem;
use std::fs::File;
use std::io;

/// The function that fits an address best so far.
#[derive(Clone)]
struct Candidate<'a> {
    /// Whether its size is known, so that it surely contains the address.
    is_sized: bool,
    at: u64,
    name: &'a str,
}

/// Returns the name, for people, of the function that contains the code at each of these offsets of a file; `None` where the
/// file names none.
///
/// # Errors
/// Fails if the file is no program of this machine, or if it is damaged.
pub fn names_at(file: &File, offsets: &[u64]) -> Result<Vec<Option<String>>, Problem> {
    let elf = Elf::open(file)?;
    elf.names_at(offsets).map_err(|error| damaged(&error))
}

impl Elf<'_> {
    fn names_at(&self, offsets: &[u64]) -> io::Result<Vec<Option<String>>> {
        let segments = self.headers(0x20, 0x36, 0x38)?;
        let code = |it: &&Vec<u8>| word(it, 0) == LOADED && word(it, 4) & EXECUTED != 0;
        let code: Vec<_> = segments.iter().filter(code).collect();
        let address = |offset: u64| {
            let within = |it: &&&Vec<u8>| {
                offset.checked_sub(long(it, 8)).is_some_and(|by| by < long(it, 0x20))
            };
            let segment = code.iter().find(within)?;
            long(segment, 0x10).checked_add(offset - long(segment, 8))
        };
        let mut wanted: Vec<(u64, usize)> = offsets
            .iter()
            .zip(0..)
            .filter_map(|(&offset, at)| Some((address(offset)?, at)))
            .collect();
        wanted.sort_unstable();
        let sections = self.headers(0x28, 0x3a, 0x3c)?;
        let mut names = vec![None; offsets.len()];
        for kind in SYMBOLS {
            let sections_of_kind = sections.iter().filter(|section| word(section, 4) == kind);
            for section in sections_of_kind {
                let Some(texts) = sections.get(word(section, 0x28) as usize) else { continue };
                let texts = self.read(long(texts, 0x18), long(texts, 0x20))?;
                let symbols = self.read(long(section, 0x18), long(section, 0x20))?;
                for ((_, at), name) in wanted.iter().zip(best(&wanted, &symbols, &texts)) {
                    names[*at] = names[*at].take().or(name);
                }
            }
        }
        Ok(names)
    }
}

/// Returns the name of the function that contains each of these addresses, which rise.
fn best(wanted: &[(u64, usize)], symbols: &[u8], texts: &[u8]) -> Vec<Option<String>> {
    let mut found: Vec<Option<Candidate<'_>>> = vec![None; wanted.len()];
    for symbol in symbols.chunks_exact(24) {
        let (kind, at, size) = (symbol[4] & 0xf, long(symbol, 8), long(symbol, 16));
        if !matches!(kind, FUNCTION | CHOSEN_AT_START) || half(symbol, 6) == 0 {
            continue;
        }
        let first = wanted.partition_point(|&(address, _)| address < at);
        let end = wanted.partition_point(|&(address, _)| address < at.saturating_add(size.max(1)));
        // Of a function without a size, only its first instruction is known.
        for slot in &mut found[first..end] {
            let text = texts.get(word(symbol, 0) as usize..).unwrap_or_default();
            let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
            let Ok(name) = std::str::from_utf8(text) else { continue };
            let new = Candidate { is_sized: size > 0, at, name };
            if slot.as_ref().is_none_or(|old| new.rank() < old.rank()) {
                *slot = Some(new);
            }
        }
    }
    found.into_iter().map(|it| it.map(|it| shown(it.name))).collect()
}

impl Candidate<'_> {
    /// Of several functions, the nearest is taken, and of its names the plainest.
    fn rank(&self) -> (bool, std::cmp::Reverse<u64>, usize, usize, &str) {
        let underscores = self.name.len() - self.name.trim_start_matches('_').len();
        (!self.is_sized, std::cmp::Reverse(self.at), underscores, self.name.len(), self.name)
    }
}

fn shown(name: &str) -> String {
    mangled::path(name).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_this_test_are_found_at_their_offsets() {
        let own = File::open("/proc/self/exe").expect("this program");
        let known = super::super::find(&own, "functions_of_this_test_are_found_at_their_offsets");
        let known = known.expect("it has symbols");
        let found =
            names_at(&own, &[known.offset + 3, 0, known.offset, u64::MAX]).expect("it has symbols");
        assert_eq!(found, [Some(known.name.clone()), None, Some(known.name), None]);
    }

    #[test]
    fn the_plainest_name_of_the_nearest_function_is_taken() {
        let texts = b"\0__write\0write\0outer\0data\0absent\0";
        let symbol = |name: &str, kind: u8, section: u16, at: u64, size: u64| {
            let place = texts
                .windows(name.len() + 2)
                .position(|it| it == [b"\0", name.as_bytes(), b"\0"].concat());
            let place = place.expect("it is there") as u32 + 1;
            let (place, section) = (place.to_le_bytes(), section.to_le_bytes());
            [&place[..], &[kind, 0], &section, &at.to_le_bytes(), &size.to_le_bytes()].concat()
        };
        let symbols = [
            symbol("outer", 2, 1, 0x100, 0x100),
            symbol("__write", 2, 1, 0x140, 0x10),
            symbol("write", 2, 1, 0x140, 0x10),
            symbol("data", 1, 1, 0x140, 0x20),
            symbol("absent", 2, 0, 0x140, 0x20),
        ];
        let wanted = [0xff, 0x100, 0x145, 0x150, 0x200].map(|address| (address, 0));
        let found = best(&wanted, &symbols.concat(), texts);
        let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, [None, Some("outer"), Some("write"), Some("outer"), None]);
    }
}
