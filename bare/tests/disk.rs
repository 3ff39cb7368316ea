//! The image by UEFI, on disks that take the result and on such that do not. Where QEMU or its firmware (OVMF) is missing, the
//! tests say so and do nothing.

use crate::fat::{self, CLUSTER, Fat};
use crate::image::{IMAGE, run};
use anechoic_bare::text::crc;
use std::path::Path;
use std::process::Command;

const FIRMWARE: &str = "/usr/share/ovmf/OVMF.fd";
const RESULT: &[u8; 11] = b"RESULT-1TXT";
/// Of its samples, of which there are about 8 KiB.
const PARAMETERS: &str =
    "at-end poweroff\nfwq --grain 20us --repetitions 2000\nrun --duration 10ms\n";

/// Returns the bytes that UEFI loads: what the linker placed, as `objcopy -O binary` does it.
fn program() -> Vec<u8> {
    let elf = std::fs::read(IMAGE).expect("the image");
    let number = |at: usize, bytes: usize| {
        elf[at..at + bytes].iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
    };
    let headers = (0..number(56, 2)).map(|index| number(32, 8) + 56 * index);
    let loaded: Vec<usize> = headers.filter(|header| number(*header, 4) == 1).collect();
    let base =
        loaded.iter().map(|header| number(header + 16, 8)).min().expect("something is loaded");
    let mut program = vec![];
    for header in loaded {
        let [offset, address, bytes] = [8, 16, 32].map(|at| number(header + at, 8));
        program.resize(address - base, 0);
        program.extend(&elf[offset..offset + bytes]);
    }
    program
}

/// Starts the image from a disk with these parameters and this number of free clusters. Returns what the serial port sent, the
/// last result in it, and the file of the result on the disk.
fn start(name: &str, parameters: &str, free: usize, drive: &str) -> Option<[String; 3]> {
    if !Path::new(FIRMWARE).exists() {
        println!("skipped: no {FIRMWARE} (package ovmf)");
        return None;
    }
    let mut disk = Fat::new();
    disk.bootable(&program());
    disk.file(b"ANECHOICTXT", parameters.as_bytes());
    disk.fill(free);
    let file = std::env::temp_dir().join(format!("anechoic-disk-{name}-{}", std::process::id()));
    std::fs::write(&file, disk.bytes()).expect("a temporary file");
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args([
        "-M",
        "q35",
        "-accel",
        "tcg",
        "-cpu",
        "max",
        "-m",
        "256",
        "-nodefaults",
        "-no-reboot",
    ]);
    qemu.args(["-display", "none", "-serial", "stdio", "-monitor", "none", "-bios", FIRMWARE]);
    qemu.args(["-drive", &format!("format=raw,file={}{drive}", file.display())]);
    let ended = run(qemu);
    let after = std::fs::read(&file).expect("the disk");
    std::fs::remove_file(&file).expect("a temporary file");
    let (code, text) = ended?;
    assert_eq!(code, 0, "{text}");
    let begin = text.rfind("anechoic-bare 2 ").unwrap_or(text.len());
    let result = text[begin..].to_owned();
    let saved = fat::read(&after, RESULT).unwrap_or_default();
    Some([text, result, String::from_utf8(saved).expect("text")])
}

/// Checks that a result is whole: its last line is the checksum of the others.
fn check_whole(result: &str) {
    let (lines, end) = result.trim_end().rsplit_once('\n').expect("lines");
    let sum = !crc(!0, format!("{lines}\n").as_bytes());
    assert_eq!(end, format!("end {} {sum:08x}", lines.lines().count()), "{result}");
    assert!(lines.ends_with("state complete") && lines.contains("method=detours"), "{lines}");
}

#[test]
fn a_disk_with_room_gets_the_same_result_as_the_serial_port() {
    let Some([text, result, saved]) = start("room", PARAMETERS, 200, "") else { return };
    check_whole(&result);
    assert_eq!(saved, result, "{text}");
    assert!(text.contains("the result goes to result-1.txt; 100 KiB are free"), "{text}");
}

#[test]
fn a_disk_that_becomes_full_is_reported_and_the_serial_port_gets_all() {
    for free in [0, 8] {
        let Some([text, result, saved]) = start("full", PARAMETERS, free, "") else { return };
        let why =
            "the result's file is cut off, because the disk is full\nthe serial port gets all";
        assert!(text.contains(why), "{text}");
        check_whole(&result);
        assert!(saved.len() <= free * CLUSTER && result.starts_with(&saved), "{saved}");
        assert_eq!(saved.is_empty(), free == 0, "what fits is kept: {saved}");
    }
}

#[test]
fn a_write_protected_disk_is_reported_and_the_serial_port_gets_all() {
    let protected = ",if=virtio,readonly=on";
    let Some([text, result, saved]) = start("locked", PARAMETERS, 200, protected) else { return };
    let why = "no file can be created for the result, because the disk is write protected\n\
               the serial port gets all";
    assert!(text.contains(why), "{text}");
    check_whole(&result);
    assert_eq!(saved, "");
}

#[test]
fn without_a_disk_and_a_serial_port_for_the_result_nothing_is_measured() {
    let parameters = format!("serial-port off\n{PARAMETERS}");
    // The firmware's own screen is the serial port here.
    let Some([text, ..]) = start("nowhere", &parameters, 0, "") else { return };
    assert!(text.contains("there is no serial port for it either"), "{text}");
    assert!(text.contains("nothing is measured: nothing would get the result"), "{text}");
    assert!(!text.contains("measuring:"), "{text}");
    // The first measurement finds no room for its samples.
    let Some([text, ..]) = start("nowhere", &parameters, 8, "") else { return };
    assert!(text.contains("nothing more is measured: nothing would get the result"), "{text}");
    assert!(text.contains("measuring: fwq") && !text.contains("measuring: detours"), "{text}");
}
