//! The image in a virtual machine. Where QEMU is missing, the tests say so and do nothing.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The ELF file, which boots by PVH.
const IMAGE: &str = env!("CARGO_BIN_EXE_anechoic-bare");
/// Exit codes of QEMU's exit device for what the image reports.
const DONE: i32 = 33;
const REFUSED: i32 = 35;

/// Boots the image with these parameters, one line each, in a machine whose time is the number of instructions that it
/// has executed: one nanosecond each. Returns the exit code and what it sent over the serial port.
fn boot(parameters: &str) -> Option<(i32, String)> {
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args(["-M", "q35", "-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]);
    qemu.args(["-cpu", "max", "-m", "160", "-nodefaults", "-display", "none", "-no-reboot"]);
    qemu.args(["-serial", "stdio", "-monitor", "none"]);
    qemu.args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4"]);
    qemu.args(["-kernel", IMAGE, "-append", &parameters.replace('\n', ";")]);
    let Ok(mut child) = qemu.stdin(Stdio::null()).stdout(Stdio::piped()).spawn() else {
        println!("skipped: no qemu-system-x86_64 (package qemu-system-x86)");
        return None;
    };
    let pid = child.id();
    // A machine that hangs is ended, so that the test fails instead.
    let (ended, wait) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        if wait.recv_timeout(Duration::from_secs(120)).is_err() {
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
fn field<'l>(line: &'l str, name: &str) -> &'l str {
    let fields = line.split(' ').filter_map(|field| field.split_once('='));
    fields.filter(|field| field.0 == name).map(|field| field.1).next().unwrap_or("")
}

#[test]
fn without_an_operating_system_nothing_disturbs_the_loops() {
    let parameters = "run --duration 20ms\nfwq --grain 100us --repetitions 200\n\
                      tick --kernel intadd,intdiv --repetition 100us --repetitions 20\n\
                      loops --variants all --grain 50us --samples 20\n\
                      ftq --window 100us --duration 2ms\n\
                      memory --sizes 4k-16k --quick --point-time 1ms";
    let Some((code, text)) = boot(parameters) else { return };
    assert_eq!(code, DONE, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.contains(&"state complete"), "{text}");
    assert!(lines.contains(&"emulated"), "{text}");
    // An interrupt was pending during a loop, was not delivered in it, and was delivered after it.
    assert!(lines.contains(&"held 1 0 1"), "{text}");
    let (mut series, mut samples, mut method) = (0, vec![], "");
    let check = |samples: &[u64], method: &str| {
        let all_equal = samples.iter().all(|sample| *sample == samples[0]);
        assert!(all_equal, "{method}: {samples:?}");
    };
    for line in &lines {
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
                samples
                    .extend(line.split(' ').skip(1).map(|number| number.parse::<u64>().unwrap()));
            }
            "g" => panic!("{method}: a detour: {line}"),
            _ => {}
        }
    }
    check(&samples, method);
    assert_eq!(series, 1 + 1 + 2 + 8 + 1 + 10 * 3, "{text}");
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
