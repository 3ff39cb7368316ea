//! Lines that are read, and those that are refused.

use super::*;
extern crate std;
use std::string::{String, ToString};
use std::vec::Vec;

fn read(text: &str) -> Result<Vec<Request<'_>>, String> {
    let mut faults = Vec::new();
    let read = Parameters::parse(text, |fault| faults.push(fault.to_string()));
    match read {
        Ok(read) => Ok(read.requests().copied().collect()),
        Err(count) => {
            assert_eq!(count, faults.len());
            Err(faults.join("\n"))
        }
    }
}

#[test]
fn lines_are_read_as_on_the_command_line() {
    let text = "# nothing\n\nhost lab-1 # named\nat-end reboot\nserial-port off\r\n\
                fwq --work intdiv,intadd --grain 250us --repetitions 40 --pure\n\
                memory --experiments bandwidth-read-random-dirty --sizes 4k-1m --quick\n\
                tick --repetition 1s --iterations 6000/500";
    let all = Parameters::parse(text, |fault| panic!("{fault}")).unwrap();
    assert_eq!((all.host, all.serial, all.at_end), ("lab-1", false, AtEnd::Reboot));
    let [fwq, memory, tick] = [0, 1, 2].map(|at| *all.requests().nth(at).unwrap());
    assert_eq!(fwq.kernels().map(|kernel| kernel.id).collect::<Vec<_>>(), ["intdiv", "intadd"]);
    assert_eq!((fwq.grain_ns, fwq.samples, fwq.pure), (250_000, Some(40), true));
    assert_eq!((memory.sizes, memory.quick), ((4096, Some(1 << 20)), true));
    assert!(memory.has_experiment("bandwidth-read-random-dirty"));
    assert!(!memory.has_experiment("bandwidth-read-random-warm"));
    assert_eq!((tick.samples, tick.iterations), (Some(100), Some((6000, 500))));
    assert_eq!(read(DEFAULT).unwrap().len(), 5);
    let bodies = work::KERNELS.iter().filter(|kernel| kernel.family == Family::DoNothing);
    let variants = read("loops --variants all").unwrap();
    assert_eq!(variants[0].kernels().count(), bodies.count());
}

#[test]
fn a_wrong_line_is_refused_with_its_number_word_and_reason() {
    let cases = [
        ("", ""),
        ("fqw", "line 1: 'fqw': no such method"),
        ("\nfwq --grian 1ms", "line 2: '--grian': this method has no such option"),
        ("fwq --grain", "line 1: '--grain': its value is missing"),
        ("fwq --grain 1", "'1': not a time"),
        ("fwq --grain 0ms", "'0ms': must be at least 1"),
        ("fwq --grain 99999999999999999s", "too large"),
        ("fwq --work intsub", "'intsub': no such work kernel"),
        ("fwq --work trap", "'trap': a system call needs an operating system"),
        ("loops --variants intadd", "'intadd': not the body of a do-nothing loop"),
        ("fwq grain 1ms", "'grain': an option begins with --"),
        ("fwq --repetitions -3", "'-3': not a whole number"),
        ("ftq --window 1s --duration 1ms", "shorter than one window"),
        ("memory --sizes 1m-4k", "ends before it begins"),
        ("memory --experiments migration-read-random-l3", "not an experiment"),
        ("memory --experiments bandwidth-*,migration-*", "'migration-*': not an experiment"),
        ("memory --experiments bandwidth-read", "'bandwidth-read': not an experiment"),
        ("fwq --iterations 10/3", "'10/3': a sample is not a number of whole steps"),
        ("run\nrun", "line 2: 'run': there is one run at most"),
        ("at-end explode\nrun", "'explode': not a value of this setting"),
        ("host a b", "'b': one word too many"),
        ("cpus 0,two\nrun", "line 1: '0,two': not 'all' or a list"),
        ("cpus 3-1\nrun", "'3-1': not 'all' or a list"),
        ("cpus\nrun", "'cpus': no such method, or a setting without its value"),
        ("together maybe\nrun", "'maybe': not a value of this setting"),
        ("paging --pages thp-2m", "'thp-2m': not base, huge-2m or huge-1g"),
        ("paging --blocks 1", "at least 2 blocks"),
        ("caches none\nrun", "'none': not a value of this setting"),
    ];
    for (text, expected) in cases {
        let why = read(text).unwrap_err();
        assert!(why.contains(expected), "{text}: {why}");
    }
    assert_eq!(read("fwq --grain 1\nfoo\nfwq").unwrap_err().lines().count(), 2);
    assert!(read(&"fwq\n".repeat(65)).unwrap_err().contains("line 65"));
}

#[test]
fn experiments_are_those_of_the_paper_without_migrations_and_two_more() {
    let count = |text: &'static str| {
        let request = read(text).unwrap()[0];
        assert_eq!((request.duration_ns, request.quick), (300_000_000, false));
        experiments().filter(|entry| request.has_experiment(entry.id)).count()
    };
    assert_eq!(count("memory"), 8 + 32 + 2);
    assert_eq!(count("memory --experiments *"), 8 + 32 + 2);
    assert_eq!(count("memory --experiments preemption-*"), 32);
    assert_eq!(count("memory --experiments preemption-*-write-long"), 4);
    assert_eq!(count("memory --experiments *-read-random-warm,*-code-short"), 1 + 4);
}

#[test]
fn cpus_are_all_or_those_of_a_list() {
    let chosen = |text: &'static str, count| {
        let all = Parameters::parse(text, |fault| panic!("{fault}")).unwrap();
        let cpus = all.cpus(count).map(|cpus| cpus.collect::<Vec<_>>());
        cpus.map_err(|fault| fault.to_string())
    };
    assert_eq!(chosen("run", 3).unwrap(), [0, 1, 2]);
    assert_eq!(chosen("cpus all\nrun", 2).unwrap(), [0, 1]);
    assert_eq!(chosen("cpus 3,0-1\ntogether yes\nrun", 4).unwrap(), [0, 1, 3]);
    let why = chosen("run\ncpus 0,4", 4).unwrap_err();
    assert_eq!(why, "parameters, line 2: '0,4': this machine has fewer CPUs");
}
