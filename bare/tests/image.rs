//! The image in a virtual machine. Where QEMU is missing, the tests say so and do nothing.

use crate::loops::{find, functions};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The ELF file, which boots by PVH.
pub(crate) const IMAGE: &str = env!("CARGO_BIN_EXE_anechoic-bare");
/// Exit codes of QEMU's exit device for what the image reports.
pub(crate) const DONE: i32 = 33;
const REFUSED: i32 = 35;
const FAILED: i32 = 37;

/// Boots the image with these parameters, one line each, on this number of CPUs, in a machine whose time is the number of
/// instructions that it has executed: one nanosecond each. Returns the exit code and what it sent over the serial port.
pub(crate) fn boot_on(cpus: u32, parameters: &str) -> Option<(i32, String)> {
    boot_image(IMAGE, "max", cpus, parameters)
}

/// Boots the image on one CPU.
pub(crate) fn boot(parameters: &str) -> Option<(i32, String)> {
    boot_on(1, parameters)
}

/// Boots an image on CPUs of this model.
pub(crate) fn boot_image(
    image: &str,
    model: &str,
    cpus: u32,
    parameters: &str,
) -> Option<(i32, String)> {
    boot_with(image, model, cpus, 160, parameters)
}

/// Boots an image in a machine with this many MiB of memory.
fn boot_with(
    image: &str,
    model: &str,
    cpus: u32,
    mib: u32,
    parameters: &str,
) -> Option<(i32, String)> {
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args(["-M", "q35", "-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]);
    qemu.args(["-cpu", model, "-smp", &cpus.to_string()]);
    qemu.args(["-m", &mib.to_string(), "-nodefaults", "-display", "none", "-no-reboot"]);
    qemu.args(["-serial", "stdio", "-monitor", "none"]);
    qemu.args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4"]);
    qemu.args(["-kernel", image, "-append", &parameters.replace('\n', ";")]);
    run(qemu)
}

/// Runs an emulator to its end. Returns its exit code and what the machine sent over the serial port; none without an
/// emulator.
pub(crate) fn run(mut qemu: Command) -> Option<(i32, String)> {
    let Ok(mut child) = qemu.stdin(Stdio::null()).stdout(Stdio::piped()).spawn() else {
        println!("skipped: no qemu-system-x86_64 (package qemu-system-x86)");
        return None;
    };
    let pid = child.id();
    // A machine that hangs is ended, so that the test fails instead.
    let (ended, wait) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        if wait.recv_timeout(Duration::from_secs(300)).is_err() {
            let _ = Command::new("kill").arg(pid.to_string()).status();
        }
    });
    let mut output = child.stdout.take().expect("its output is piped");
    let text = std::io::read_to_string(&mut output).expect("it sends text");
    let code = child.wait().expect("it ends").code();
    let _ = ended.send(());
    guard.join().expect("the guard ends");
    Some((code.unwrap_or(-1), text.replace('\r', "")))
}

/// Returns the value of a field `name=value`.
pub(crate) fn field<'l>(line: &'l str, name: &str) -> &'l str {
    let fields = line.split(' ').filter_map(|field| field.split_once('='));
    fields.filter(|field| field.0 == name).map(|field| field.1).next().unwrap_or("")
}

#[test]
fn without_an_operating_system_nothing_disturbs_the_loops() {
    let parameters = "run --duration 20ms\nfwq --grain 100us --repetitions 200\n\
                      tick --kernel intadd,intdiv --repetition 100us --repetitions 20\n\
                      loops --variants all --grain 50us --samples 20\n\
                      ftq --window 100us --duration 2ms\n\
                      memory --experiments bandwidth-* --sizes 4k-16k --quick --point-time 1ms";
    let Some((code, text)) = boot(parameters) else { return };
    assert_eq!(code, DONE, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.contains(&"state complete"), "{text}");
    assert!(lines.contains(&"emulated"), "{text}");
    // An interrupt was pending during a loop, was not delivered in it, and was delivered after it.
    assert!(lines.contains(&"held 1 0 1"), "{text}");
    let series = check_series(&lines, true);
    assert_eq!(series, 1 + 1 + 2 + 8 + 1 + 10 * 3, "{text}");
}

/// Checks that nothing disturbed any series, and returns their number. Without `alone` CPUs took turns.
pub(crate) fn check_series(lines: &[&str], alone: bool) -> usize {
    let (mut series, mut samples, mut method) = (0, vec![], "");
    let check = |samples: &[u64], method: &str| {
        let all_equal = !alone || samples.iter().all(|sample| *sample == samples[0]);
        assert!(all_equal, "{method}: {samples:?}");
    };
    for line in lines {
        match line.split(' ').next().unwrap_or("") {
            "series" => {
                check(&std::mem::take(&mut samples), method);
                method = field(line, "method");
                series += 1;
            }
            "ran" => {
                for name in ["wrong", "lost", "lost-gaps", "enabled", "interrupts", "nmis"] {
                    assert_eq!(field(line, name), "0", "{name}: {line}");
                }
            }
            "s" => {
                samples.extend(
                    line.split(' ').skip(1).map(|number| number.parse::<u64>().expect("a number")),
                );
            }
            "g" if alone => panic!("{method}: a detour: {line}"),
            _ => {}
        }
    }
    check(&samples, method);
    series
}

/// Returns the series as their methods, CPUs and rounds, and how many samples each took.
fn series_of<'t>(lines: &[&'t str]) -> Vec<(&'t str, &'t str, &'t str, &'t str)> {
    let starting = |word: &'static str| lines.iter().filter(move |line| line.starts_with(word));
    let series = starting("series ").zip(starting("ran "));
    series
        .map(|(series, ran)| {
            let [method, cpu, round] = ["method", "cpu", "round"].map(|name| field(series, name));
            (method, cpu, round, field(ran, "taken"))
        })
        .collect()
}

#[test]
fn every_cpu_measures_alone_while_the_others_are_halted() {
    let parameters = "run --duration 2ms\nfwq --grain 50us --repetitions 20\n\
                      memory --experiments bandwidth-read-random-warm --sizes 4k-4k --quick --point-time 1ms";
    let Some((code, text)) = boot_on(4, parameters) else { return };
    assert_eq!(code, DONE, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(check_series(&lines, true), 3 * 4, "{text}");
    let series = series_of(&lines);
    for (method, all) in ["detours", "fwq", "memory"].iter().zip(series.chunks(4)) {
        for (cpu, (name, number, ..)) in all.iter().enumerate() {
            assert_eq!((name, *number), (method, &*cpu.to_string()), "{series:?}");
        }
    }
    // All did the same work, calibrated once; the counters of an emulator agree within what can be measured.
    let iterations: Vec<&str> = { lines.iter() }
        .filter(|line| line.contains("method=fwq"))
        .map(|line| field(line, "iterations"))
        .collect();
    assert!(iterations.iter().all(|count| *count == iterations[0]), "{iterations:?}");
    let skews = lines.iter().filter(|line| line.starts_with("skew "));
    let within = |line: &&&str| {
        let words: Vec<i64> = line.split(' ').skip(1).map(|word| word.parse().unwrap()).collect();
        words[1].abs() <= words[2]
    };
    assert_eq!(skews.filter(within).count(), 4, "{text}");
}

#[test]
fn chosen_cpus_measure_at_the_same_time() {
    let parameters = "cpus 0,2-3\ntogether yes\nfwq --grain 50us --repetitions 20\nftq --window 50us --duration 1ms";
    let Some((code, text)) = boot_on(4, parameters) else { return };
    assert_eq!(code, DONE, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(check_series(&lines, false), 2 * 3, "{text}");
    let expected = |(method, round)| ["0", "2", "3"].map(|cpu| (method, cpu, round, "20"));
    let expected: Vec<_> = [("fwq", "0"), ("ftq", "1")].into_iter().flat_map(expected).collect();
    assert_eq!(series_of(&lines), expected);
    assert!(!text.contains("cpu 1 "), "{text}");
    // Each of a group stays busy until the last of them has ended.
    let ran: Vec<&str> = lines.iter().copied().filter(|line| line.starts_with("ran ")).collect();
    for group in ran.chunks(3) {
        let tick = |line, name| field(line, name).parse::<u64>().expect("a number");
        let last = group.iter().map(|line| tick(line, "end")).max();
        assert!(group.iter().all(|line| Some(tick(line, "until")) >= last), "{group:?}");
    }
    let Some((code, text)) = boot_on(2, "run\ncpus 0,2") else { return };
    assert_eq!(code, REFUSED, "{text}");
    assert!(text.contains("line 2: '0,2': this machine has fewer CPUs"), "{text}");
}

#[test]
fn interrupt_controllers_by_registers_start_cpus_too() {
    let parameters = "fwq --grain 50us --repetitions 3";
    let Some((code, text)) = boot_image(IMAGE, "max,+x2apic", 2, parameters) else { return };
    assert_eq!(code, DONE, "{text}");
    if !text.contains("controller x2apic") {
        println!("skipped: this QEMU does not emulate x2APIC");
    }
    assert!(text.contains("held 1 0 1"), "{text}");
    assert_eq!(series_of(&text.lines().collect::<Vec<_>>()).len(), 2, "{text}");
}

#[test]
fn a_matrix_is_walked_on_pages_of_each_size() {
    let parameters = "paging --quick --blocks 2 --point-time 1ms --pages base,huge-2m";
    let Some((code, text)) = boot_with(IMAGE, "max", 1, 40, parameters) else { return };
    assert_eq!(code, DONE, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let mut walks = std::collections::BTreeMap::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("series ")) {
        let [bytes, page, on_pages] = ["bytes", "page", "on-pages"].map(|name| field(line, name));
        let size = if field(line, "experiment") == "base" { "4096" } else { "2097152" };
        assert_eq!((page, on_pages), (size, bytes), "{line}");
        assert_eq!(field(lines[at + 1], "wrong"), "0", "{line}");
        let durations = lines[at + 2].strip_prefix("s ").expect("its passes");
        let walk = (field(line, "kernel"), bytes);
        walks.entry(walk).or_insert_with(Vec::new).extend(durations.split(' '));
    }
    // Instructions are the same on all pages: one tick each. Three sizes fit, in two builds.
    assert_eq!(walks.len(), 2 * 3, "{walks:?}");
    for (walk, passes) in &walks {
        assert!(
            passes.len() >= 4 && passes.iter().all(|pass| *pass == passes[0]),
            "{walk:?} {passes:?}"
        );
    }
    assert!(text.contains("impossible paging matrix: working sets of 33554432 bytes"), "{text}");
    // Pages of 1 GiB do not fit into this machine.
    let Some((_, text)) = boot_with(IMAGE, "max", 1, 40, "paging --pages huge-1g") else { return };
    assert!(text.contains("absent huge-1g the image's memory holds no whole page"), "{text}");
}

#[test]
fn a_fault_is_reported_and_ends_the_machine() {
    let mut image = std::fs::read(IMAGE).expect("the image");
    let begin = {
        let functions = functions(&image);
        let (code, _) = find(&functions, "6x86_6415run_independent").1;
        code.as_ptr().addr() - image.as_ptr().addr()
    };
    image[begin..begin + 2].copy_from_slice(&[0x0f, 0x0b]); // an instruction that does not exist
    let file = std::env::temp_dir().join(format!("anechoic-bare-{}", std::process::id()));
    std::fs::write(&file, &image).expect("a temporary file");
    for (cpus, on_another) in [("0", false), ("1", true)] {
        let parameters = format!("cpus {cpus}\nfwq --work intdiv");
        let booted = boot_image(&file.display().to_string(), "max", 2, &parameters);
        let Some((code, text)) = booted else { break };
        assert_eq!(code, FAILED, "{text}");
        assert!(text.contains("anechoic-bare failed") && text.contains("exception 6"), "{text}");
        assert_eq!(text.contains("on another CPU"), on_another, "{text}");
    }
    std::fs::remove_file(&file).expect("a temporary file");
}

#[test]
fn wrong_parameters_are_refused_with_their_lines_and_reasons() {
    let begin = Instant::now();
    let Some((code, text)) = boot("run --duration 1s\nfwq --grian 1ms\ntick --kernel intsub")
    else {
        return;
    };
    assert_eq!(code, REFUSED, "{text}");
    assert!(text.contains("line 2: '--grian': this method has no such option"), "{text}");
    assert!(text.contains("line 3: 'intsub': no such work kernel"), "{text}");
    assert!(!text.contains("anechoic-bare 1"), "nothing is measured: {text}");
    println!("booted and refused in {:?}", begin.elapsed());
}

#[test]
fn a_grain_that_is_too_short_is_named_and_the_rest_is_measured() {
    let Some((code, text)) = boot("fwq --grain 1ns\nfwq --grain 50us --repetitions 3") else {
        return;
    };
    assert_eq!(code, DONE, "{text}");
    assert!(text.contains("impossible fwq intadd-chain: the grain is too short"), "{text}");
    assert!(text.contains("state interrupted") && text.contains("taken=3 "), "{text}");
}

/// Three experiments whose larger working sets do not fit: the first is named, the others are counted, and what fits is
/// measured.
#[test]
fn working_sets_that_do_not_fit_are_named_and_the_rest_is_measured() {
    let parameters =
        "memory --experiments bandwidth-read-*-warm --sizes 4k-64m --quick --point-time 1ms";
    let Some((code, text)) = boot_with(IMAGE, "max", 1, 40, parameters) else { return };
    assert_eq!(code, DONE, "{text}");
    let line = text.lines().find(|line| line.starts_with("impossible memory ")).expect(&text);
    assert!(
        line.contains(
            "bytes and more do not fit into memory; nor do the largest of 2 other experiments"
        ),
        "{line}"
    );
    assert!(text.contains("state interrupted") && text.contains("bytes=4096 "), "{text}");
}
