//! The timed loops are the same instructions in the image and in a program for Linux.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::BTreeMap;
use std::path::Path;

/// The code of a function, and where it begins.
pub(crate) type Code<'f> = (&'f [u8], u64);

/// Reads a number of `N` bytes.
fn number<const N: usize>(file: &[u8], at: usize) -> usize {
    file[at..at + N].iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
}

/// Finds the functions of this project in an ELF file, by their names without the hash at the end.
pub(crate) fn functions(file: &[u8]) -> BTreeMap<String, Code<'_>> {
    let headers = number::<8>(file, 40);
    let header = |index: usize| &file[headers + index * 64..][..64];
    let sections = || (0..number::<2>(file, 60)).map(header);
    let symbols =
        sections().find(|section| number::<4>(section, 4) == 2).expect("a table of symbols");
    let names = number::<8>(header(number::<4>(symbols, 40)), 24);
    let (at, bytes) = (number::<8>(symbols, 24), number::<8>(symbols, 32));
    let mut found = BTreeMap::new();
    for symbol in file[at..at + bytes].chunks(24) {
        let name = &file[names + number::<4>(symbol, 0)..];
        let end = name.iter().position(|byte| *byte == 0).expect("names end with 0");
        let name = String::from_utf8_lossy(&name[..end]);
        let (address, size) = (number::<8>(symbol, 8), number::<8>(symbol, 16));
        let holds = |section: &&[u8]| {
            let start = number::<8>(section, 16);
            (start..start + number::<8>(section, 32)).contains(&address)
        };
        if !name.contains("anechoic") || symbol[4] & 15 != 2 {
            continue;
        }
        let section = sections().find(holds).expect("code lies in a section");
        let offset = number::<8>(section, 24) + address - number::<8>(section, 16);
        let name = name.rsplit_once("17h").map_or(&*name, |(name, _)| name);
        found.insert(name.to_owned(), (&file[offset..offset + size], address as u64));
    }
    found
}

/// Writes an instruction without addresses that depend on where the program was linked.
fn normal(instruction: &Instruction, begin: u64) -> String {
    let mut text = format!("{:?}", instruction.code());
    if instruction.flow_control() != FlowControl::Next && instruction.near_branch_target() != 0 {
        let target = instruction.near_branch_target().wrapping_sub(begin);
        let own = instruction.flow_control() != FlowControl::Call;
        text += &if own { format!(" to {target}") } else { " a function".to_owned() };
        return text;
    }
    for (at, kind) in instruction.op_kinds().enumerate() {
        text += &match kind {
            OpKind::Register => format!(" {:?}", instruction.op_register(at as u32)),
            OpKind::Memory if instruction.memory_base() == Register::RIP => " data".to_owned(),
            OpKind::Memory => format!(
                " [{:?} + {:?} * {} + {}]",
                instruction.memory_base(),
                instruction.memory_index(),
                instruction.memory_index_scale(),
                instruction.memory_displacement64().cast_signed(),
            ),
            _ => format!(" {:#x}", instruction.immediate(at as u32)),
        };
    }
    text
}

/// Returns a function's instructions. Trailing ones only fill the space up to the next function.
fn instructions((bytes, address): Code<'_>) -> Vec<String> {
    let decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    decoder.into_iter().map(|instruction| normal(&instruction, address)).collect()
}

/// Functions whose code is a timed loop.
const LOOPS: [&str; 20] = [
    "6intadd15run_independent",
    "6intadd9run_chain",
    "6intmul15run_independent",
    "6intmul9run_chain",
    "6x86_6415run_independent",
    "6x86_649run_chain",
    "6l1load3run",
    "7counter10run_memory",
    "7counter12run_register",
    "3sum10run_memory",
    "3sum12run_register",
    "9fibonacci10run_memory",
    "9fibonacci12run_register",
    "4call10run_memory",
    "4call12run_register",
    "10sequential10read_lines",
    "10sequential11write_lines",
    "6random4read",
    "6random5write",
    "4code10last_lines",
];

/// Returns the first function whose name contains this, with its name.
pub(crate) fn find<'f, 'a>(all: &'a BTreeMap<String, Code<'f>>, part: &str) -> (&'a str, Code<'f>) {
    let found = all.iter().find(|known| known.0.contains(part));
    found
        .map(|known| (&**known.0, *known.1))
        .unwrap_or_else(|| panic!("{part} is not in {:?}", all.keys()))
}

/// Returns the bytes from a loop's first instruction to the branch that goes back to it.
fn loop_of((bytes, address): Code<'_>) -> &[u8] {
    let all = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).into_iter();
    let back = |at: &Instruction| (address..at.ip()).contains(&at.near_branch_target());
    let branches: Vec<_> = { all }.filter(|at| at.is_jcc_short_or_near() && back(at)).collect();
    let branch = branches.last().expect("a loop");
    &bytes[(branch.near_branch_target() - address) as usize..(branch.next_ip() - address) as usize]
}

/// Returns the kinds of the instructions that follow each read of the counter in `code`.
fn after_reads(code: &[u8]) -> impl Iterator<Item = Vec<Mnemonic>> {
    let reads = code.windows(2).enumerate().filter(|(_, bytes)| *bytes == [0x0f, 0x31]);
    reads.map(|(at, _)| {
        let decoder = Decoder::with_ip(64, &code[at..], 0, DecoderOptions::NONE);
        decoder.into_iter().take(13).map(|instruction| instruction.mnemonic()).collect()
    })
}

#[test]
fn the_timed_loops_are_the_same_instructions_as_on_linux() {
    let image = std::fs::read(env!("CARGO_BIN_EXE_anechoic-bare")).expect("the image");
    let this = std::env::current_exe().expect("this program");
    let linux = std::fs::read(this).expect("this program");
    // Or they were not part of this program.
    assert!(anechoic_kernels::work::KERNELS.len() + anechoic_kernels::memory::KERNELS.len() > 20);
    let (image, linux) = (functions(&image), functions(&linux));
    for part in LOOPS {
        let (image, linux) = (find(&image, part), find(&linux, part));
        assert_eq!(image.0, linux.0);
        assert_eq!(instructions(image.1), instructions(linux.1), "{part}");
        assert!(instructions(image.1).len() > 4, "{part}");
    }
}

#[test]
fn the_command_contains_the_loops_of_the_image() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/anechoic");
    let Ok(command) = std::fs::read(&path) else {
        println!("skipped: {} is not built", path.display());
        return;
    };
    let image = std::fs::read(env!("CARGO_BIN_EXE_anechoic-bare")).expect("the image");
    let image = functions(&image);
    // A call within a loop has a distance that depends on the program. The code kernel is no loop.
    for part in LOOPS.iter().filter(|part| !part.contains("4call") && !part.contains("4code")) {
        let body = loop_of(find(&image, part).1);
        let starts = command.windows(8.min(body.len())).enumerate();
        let found = starts.filter(|(_, start)| body.starts_with(start)).map(|(at, _)| at);
        assert!({ found }.any(|at| command[at..].starts_with(body)), "{part}");
    }
    // The loop that watches the counter is part of a larger function, so its registers may be others.
    let watch = find(&image, "5timed5watch").1.0;
    let watch = after_reads(watch).find(|kinds| kinds.contains(&Mnemonic::Cmovb)).expect("a loop");
    assert_eq!(watch.last(), Some(&Mnemonic::Jb), "{watch:?}");
    assert!(after_reads(&command).any(|kinds| kinds == watch), "{watch:?}");
}
