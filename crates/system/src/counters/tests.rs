//! Tests with texts of several machines, hostile texts, and the files of this machine.

use super::*;
use std::collections::BTreeMap;

const X86: &str = "           CPU0       CPU1       
  1:          0          9  IR-IO-APIC   1-edge      i8042
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
 27:          5          6  IO-APIC  16-fasteoi   ehci_hcd:usb1, ata_piix
 36:          0      58207 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 40:          3          4  IO-APIC   7-edge    
NMI:          0          2   Non-maskable interrupts
LOC:      50401      50619   Local timer interrupts
ERR:         11
MIS:          0
PIN:          0          0   Posted-interrupt notification event
";

const ARM: &str = "           CPU0       CPU2       
 11:       5000       6000     GICv3  30 Level     arch_timer
 14:          0          7     GICv3  23 Level     arm-pmu
 15:          1          0     GICv3  99 Edge      DMA channel 3: tx
IPI0:        21         22       Rescheduling interrupts
Err:          0
";

fn cells(text: &str) -> BTreeMap<(String, u32), u64> {
    interrupts::rows(text).map(|(key, cpu, value)| ((key.to_owned(), cpu), value)).collect()
}

#[test]
fn cells_of_several_machines() {
    let wide_header: String = (0..256).map(|cpu| format!(" CPU{cpu}")).collect();
    let wide_row: String = (0..256).map(|cpu| format!(" {}", cpu * 2)).collect();
    let wide = format!("{wide_header}\nLOC:{wide_row}   Local timer interrupts\n");
    let cases: &[(&str, &str, &str, u32, Option<u64>)] = &[
        ("x86, numbered", X86, "36", 1, Some(58207)),
        ("x86, named", X86, "LOC", 0, Some(50401)),
        ("total", X86, "ERR", 0, None),
        ("arm, column of an offline CPU is missing", ARM, "11", 2, Some(6000)),
        ("arm, offline CPU", ARM, "11", 1, None),
        ("arm, IPI", ARM, "IPI0", 2, Some(22)),
        ("arm, total", ARM, "Err", 0, None),
        ("256 CPUs", &wide, "LOC", 255, Some(510)),
        ("softirqs", "   CPU0   CPU1\n  HI:  0 1\n RCU: 7 8\n", "RCU", 1, Some(8)),
        ("total on one CPU", " CPU0\nERR: 5\nLOC: 6 x\n", "ERR", 0, None),
        ("row cut short", " CPU0 CPU1\nLOC: 6", "LOC", 0, None),
        ("largest", " CPU0\nLOC: 18446744073709551615", "LOC", 0, Some(u64::MAX)),
        ("too large", " CPU0\nLOC: 18446744073709551616", "LOC", 0, None),
        ("negative", " CPU0\nLOC: -1", "LOC", 0, None),
        ("no header", "LOC: 5\n", "LOC", 0, None),
        ("bad header", " CPU0 CPUx\nLOC: 5 6\n", "LOC", 0, None),
        ("no key", " CPU0\n: 5\n", "", 0, None),
        ("empty", "", "LOC", 0, None),
    ];
    for (case, text, key, cpu, expected) in cases {
        let got = cells(text).get(&((*key).to_owned(), *cpu)).copied();
        assert_eq!(got, *expected, "case: {case}");
    }
}

#[test]
fn interrupts_are_named() {
    let x86: Vec<_> = interrupts::names(X86).collect();
    let expected =
        [(1, "i8042"), (24, "ACPI:Ged"), (27, "ehci_hcd:usb1, ata_piix"), (36, "virtio1-req.0")];
    assert_eq!(x86, expected.map(|(number, name)| (number, name.to_owned())));
    let arm: Vec<_> = interrupts::names(ARM).collect();
    let expected = [(11, "arch_timer"), (14, "arm-pmu"), (15, "DMA channel 3: tx")];
    assert_eq!(arm, expected.map(|(number, name)| (number, name.to_owned())));
    assert_eq!(interrupts::names(" CPU0\n 7: 1\n 8:\n 9: x  y\n").count(), 0);
}

#[test]
fn lines_of_cpus() {
    let delay =
        |text: &str| run_delays(text).map(|(_, cpu, value)| (cpu, value)).collect::<Vec<_>>();
    let body =
        "timestamp 4\ncpu0 0 0 0 0 0 0 11 22 33\ndomain0 MC 3 0 0\ncpu1 0 0 0 0 0 0 44 55 66\n";
    type Case<'a> = (&'a str, &'a str, &'a [(u32, u64)]);
    let cases: &[Case] = &[
        ("15", "version 15\n", &[(0, 22), (1, 55)]),
        ("17", "version 17\n", &[(0, 22), (1, 55)]),
        ("unknown layout", "version 99\n", &[]),
        ("old, in jiffies", "version 10\n", &[]),
        ("no version", "", &[]),
    ];
    for (case, header, expected) in cases {
        assert_eq!(delay(&format!("{header}{body}")), *expected, "case: {case}");
    }
    let stat = "cpu  9 9 9 9 9 9 9 99 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2 3\ncpu2 1 2 3 4 5 6 7 18446744073709551615\nintr 5\n";
    let stolen: Vec<_> = steal(stat, 100).map(|(_, cpu, value)| (cpu, value)).collect();
    assert_eq!(stolen, [(0, 80_000_000)]);
}

#[test]
fn this_machine_counts() {
    let cpus = crate::cpus::allowed();
    let take = || Snapshot::take(&cpus, || 7);
    let before = take();
    std::thread::sleep(std::time::Duration::from_millis(50));
    let after = take();
    let sum = |snapshot: &Snapshot, name: &str| -> Option<u64> {
        let rows = snapshot.counters.iter().filter(|row| row.name == name);
        rows.map(|row| row.value).reduce(|a, b| a + b)
    };
    for name in ["softirqs/TIMER", "stat/steal_ns"] {
        assert!(sum(&before, name).is_some() && sum(&after, name) >= sum(&before, name), "{name}");
    }
    assert!(sum(&after, "softirqs/SCHED") > Some(0), "it ran before");
    assert!(after.counters.iter().all(|row| cpus.contains(&row.cpu) && row.ticks == 7));
    let mut keys: Vec<_> = after.counters.iter().map(|row| (&row.name, row.cpu)).collect();
    keys.sort_unstable();
    let all = keys.len();
    keys.dedup();
    assert_eq!(keys.len(), all, "one row for each counter and CPU");
}

#[test]
fn no_files_no_rows() {
    let directory = tempfile::tempdir().unwrap();
    let snapshot = Snapshot::take_in(directory.path(), &[0], || 0);
    assert!(snapshot.counters.is_empty() && snapshot.names.is_empty());
}

#[test]
fn time_in_the_run_queue() {
    let cases: &[(&str, &str, Option<u64>)] = &[
        ("plain", "800694 44056 3\n", Some(44_056)),
        ("cut short", "800694", None),
        ("no number", "1 x 3", None),
        ("empty", "", None),
    ];
    for (name, text, expected) in cases {
        assert_eq!(run_delay(text), *expected, "case: {name}");
    }
}
