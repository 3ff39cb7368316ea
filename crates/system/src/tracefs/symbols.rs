//! Names of kernel code addresses, from `/proc/kallsyms`.

use anechoic_recording::trace::{resolve_from, split_symbol, unreadable};
use anechoic_recording::{Name, Problem};
use std::io::BufRead;
use std::path::Path;
use std::{fs, io};

/// The timer tick's function before and since Linux 6.8. The older name is tried first, because older
/// kernels use the newer name for something else.
pub(crate) const TICK_FUNCTIONS: [&str; 2] = ["tick_sched_timer", "tick_nohz_handler"];

/// Returns the address of a function, if `/proc/kallsyms` shows it to this process.
pub fn function_address(name: &str) -> Option<u64> {
    address_in(io::BufReader::new(fs::File::open("/proc/kallsyms").ok()?), name)
}

/// Finds the address of a function. All addresses are 0 for processes that may not see them.
fn address_in(table: impl BufRead, name: &str) -> Option<u64> {
    table.lines().map_while(Result::ok).find_map(|line| {
        let (address, _, symbol) = split_symbol(line.as_bytes())?;
        (symbol == name && address != 0).then_some(address)
    })
}

/// Names each of `addresses` by the function that contains it.
///
/// An address below the first symbol, or in data, gets no name. The name is only that of the function,
/// without offset and module.
///
/// # Errors
/// Fails if the kernel's table cannot be read or contains only zeros.
pub(crate) fn resolve(addresses: impl IntoIterator<Item = u64>) -> Result<Vec<Name>, Problem> {
    let file = fs::File::open(Path::new("/proc/kallsyms")).map_err(unreadable)?;
    resolve_from(io::BufReader::with_capacity(1 << 16, file), addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_by_whole_name() {
        let text = "ffffffff81000000 T tick_nohz_handler_setup\n\nnothing\n\
                    ffffffff814352e0 t tick_nohz_handler\n\
                    0000000000000000 t hidden\nzz t broken\nffffffffc0000010 t late\t[module]\n";
        let cases = [
            ("tick_nohz_handler", Some(0xffff_ffff_8143_52e0)),
            ("late", Some(0xffff_ffff_c000_0010)),
            ("hidden", None),
            ("broken", None),
            ("tick_nohz", None),
        ];
        for (name, expected) in cases {
            assert_eq!(address_in(text.as_bytes(), name), expected, "case: {name}");
        }
    }
}
