//! Names of kernel code addresses, from the text of `/proc/kallsyms`.

use crate::event::NameKind;
use crate::problem::{Problem, ProblemKind};
use crate::rows::Name;
use std::io::{self, BufRead};

/// The best symbol so far for an address.
#[derive(Clone)]
struct Candidate {
    address: u64,
    /// The name, or `None` if something other than a function begins there.
    function: Option<String>,
}

/// Names each of `addresses` by the function that contains it, from a text in the format of `/proc/kallsyms`. Other
/// lines are skipped.
///
/// An address below the first symbol, or in data, gets no name. The name is only that of the function,
/// without offset and module.
///
/// # Errors
/// Fails if the table cannot be read or contains only zeros.
pub fn resolve_from(
    mut table: impl BufRead,
    addresses: impl IntoIterator<Item = u64>,
) -> Result<Vec<Name>, Problem> {
    let mut wanted: Vec<u64> = addresses.into_iter().filter(|&address| address != 0).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut found: Vec<Option<Candidate>> = vec![None; wanted.len()];
    let (mut line, mut any) = (Vec::new(), false);
    while {
        line.clear();
        table.read_until(b'\n', &mut line).map_err(unreadable)?
    } > 0
    {
        let Some((address, kind, name)) = split_symbol(&line) else { continue };
        any |= address != 0;
        // The table is sorted per module only. A symbol first matters to the lowest address at or above it;
        // higher addresses inherit it below, if no closer symbol follows.
        let slot = wanted.partition_point(|&w| w < address);
        if let Some(best) = found.get_mut(slot) {
            improve(best, address, kind, name);
        }
    }
    if !any {
        let why = "/proc/kallsyms shows no addresses to this process";
        let remedy = "run as root, or with: sysctl kernel.kptr_restrict=0";
        return Err(ProblemKind::Unavailable.problem(why, remedy));
    }
    Ok(inherit(&wanted, found))
}

/// Returns the problem that the kernel's table of symbols cannot be read.
pub fn unreadable(error: io::Error) -> Problem {
    let why = format!("cannot read /proc/kallsyms ({error})");
    ProblemKind::Unavailable.problem(why, "kernel functions are then shown as addresses")
}

fn improve(best: &mut Option<Candidate>, address: u64, kind: u8, name: &str) {
    let function = matches!(kind, b't' | b'T' | b'w' | b'W').then_some(name);
    let better = best.as_ref().is_none_or(|old| {
        // If an address has several names, the first function's counts.
        address > old.address
            || address == old.address && old.function.is_none() && function.is_some()
    });
    if better {
        *best = Some(Candidate { address, function: function.map(str::to_owned) });
    }
}

fn inherit(wanted: &[u64], found: Vec<Option<Candidate>>) -> Vec<Name> {
    let (mut names, mut nearest) = (Vec::new(), None);
    for (&key, candidate) in wanted.iter().zip(found) {
        nearest = candidate.or(nearest);
        if let Some(Candidate { function: Some(name), .. }) = &nearest {
            names.push(Name { kind: NameKind::Symbol, key, ticks: 0, name: name.clone() });
        }
    }
    names
}

/// Splits `ffffffff81435690 t name [module]` into address, kind and name. The padding in front of functions (`__pfx_name`) does not count
/// as a function.
#[must_use]
pub fn split_symbol(line: &[u8]) -> Option<(u64, u8, &str)> {
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let kind = words.next()?.bytes().next()?;
    let name = words.next().filter(|name| !name.starts_with("__pfx_"))?;
    Some((address, kind, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "1000 T _text\n1000 t first\n1010 t __pfx_second\n1020 t second\n1100 D data\n1100 t shared\n2000 d only_data\nc000 t late\t[module]\nb000 t low\t[module]\nrubbish\n1200 t\n";

    #[test]
    fn the_function_at_or_below_is_found() {
        let cases = [
            ("exact", 0x1020, Some("second")),
            ("inside", 0x1024, Some("second")),
            ("padding belongs to what is before", 0x1015, Some("_text")),
            ("first of two functions", 0x1000, Some("_text")),
            ("function before data of one address", 0x1100, Some("shared")),
            ("data", 0x2010, None),
            ("below all", 0xfff, None),
            ("null", 0, None),
            ("module, suffix dropped", 0xc010, Some("late")),
            ("unsorted table", 0xb010, Some("low")),
            ("top", u64::MAX, Some("late")),
        ];
        for (name, address, expected) in cases {
            let names = resolve_from(TABLE.as_bytes(), [address]).unwrap();
            assert_eq!(names.first().map(|n| n.name.as_str()), expected, "case: {name}");
        }
        let all = resolve_from(TABLE.as_bytes(), cases.map(|case| case.1)).unwrap();
        let expected: Vec<_> = {
            let mut known: Vec<_> = cases.iter().filter_map(|c| Some((c.1, c.2?))).collect();
            known.sort_unstable();
            known
        };
        let got: Vec<_> = all.iter().map(|n| (n.key, n.name.as_str())).collect();
        assert_eq!(got, expected, "all at once give the same as one by one");
    }

    #[test]
    fn hidden_addresses_are_an_error_with_its_remedy() {
        for text in ["", "0000000000000000 T _text\n0000000000000000 t x\n"] {
            let error = resolve_from(text.as_bytes(), [1]).unwrap_err().to_string();
            assert!(error.contains("kptr_restrict"), "{error}");
        }
    }
}
