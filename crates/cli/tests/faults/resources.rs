//! Too little of everything: disk, files, descriptors, threads, memory.

use super::{Place, codes, possible};
use crate::tool;

#[test]
fn limits_of_every_size() {
    if !possible() {
        return;
    }
    let _alone = tool::alone();
    let place = Place::new();
    place.run("anechoic run -q -d 300ms -o known");
    let run = |limit: &str| {
        place.run(&format!(
            "rm -rf r; chmod 777 .; anechoic() {{ timeout -k 5 60 {limit} {} \"$@\"; echo \"code $?\" >&2; }}; \
             anechoic run -q -d 200ms -o r >&-; [ -e r/run.json ] && anechoic summary r >&-; \
             anechoic measure bsp -q -d 200ms -o b{} >&-; anechoic report known -o page.html --force >&-; true",
            tool::ANECHOIC,
            limit.bytes().map(usize::from).sum::<usize>()
        ))
    };
    for files in [3, 5, 8, 11, 14, 18, 25, 40] {
        run(&format!("prlimit --nofile={files}"));
    }
    for threads in [1, 2, 3, 4, 6, 9] {
        // Root has no limit on threads, so this is nobody.
        run(&format!(
            "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all prlimit --nproc={threads}"
        ));
    }
    for mib in [150, 300, 500, 1_000] {
        run(&format!("prlimit --as={}", mib << 20));
    }
    for locked in [0, 65_536] {
        run(&format!("prlimit --memlock={locked}"));
    }
    place.leave();
}

#[test]
fn limits_that_the_kernel_enforces_by_signals_are_named() {
    let Some(cpu) = tool::noisy() else { return };
    let _alone = tool::alone();
    let place = Place::new();
    for bytes in [20_000, 400_000, 1_300_000, 4_000_000] {
        let done = place.run(&format!(
            "rm -rf r; timeout -k 5 60 prlimit --fsize={bytes} {tool} measure fwq -q --work empty \
             --repetitions 30000000 --no-trace --cpus {cpu} -o r >out; \
             echo \"code $?\" >&2; cat out; timeout -k 5 60 {tool} summary r; echo \"code $?\" >&2",
            tool = tool::ANECHOIC
        ));
        assert_ne!(codes(&done), [0, 0], "{bytes}: {}", done.out);
        let all = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(format!("{all} {}", done.err).contains("ulimit -f"), "{bytes}: {all} {}", done.err);
    }
    let done = place.run(&format!(
        "timeout -k 5 60 prlimit --rttime=100000:200000 {} run -q --fifo -d 2s --cpus {cpu} -o f; echo \"code $?\" >&2",
        tool::ANECHOIC
    ));
    assert_eq!(codes(&done), [69], "{}", done.err);
    assert!(done.err.contains("RLIMIT_RTTIME"), "{}", done.err);
    place.leave();
}

/// A trial that fails has its own reason.
#[test]
fn trials_that_cannot_be_saved_were_not_ended_by_a_signal() {
    let Some(cpu) = tool::noisy() else { return };
    let _alone = tool::alone();
    let place = Place::new();
    let trials = format!("ab -q true true -t 100ns --settle 1ms -d 2s --pairs 2 --cpus {cpu}");
    let disk = |size: &str| {
        format!(
            "mkdir -p disk; unshare -m bash -c 'mount -t tmpfs -o size={size} none disk || exit; \
             timeout -k 5 60 {} {trials} -o disk/x; echo \"code $?\" >&2'",
            tool::ANECHOIC
        )
    };
    let few = format!("(ulimit -n 17; anechoic {trials} -o few)");
    for script in [disk("300k"), disk("700k"), few] {
        let done = place.run(&script);
        assert!(!done.err.contains("by a signal"), "{script}: {}", done.err);
    }
    place.leave();
}

/// On a full disk a result says what was lost; it never looks like a quiet machine.
#[test]
fn disks_of_every_size() {
    if !possible() {
        return;
    }
    let _alone = tool::alone();
    let place = Place::new();
    let sizes = ["500k", "1300k", "2m", "6m"].map(|size| format!("size={size}"));
    let files = [2, 6, 9, 12, 16, 20].map(|files| format!("size=64m,nr_inodes={files}"));
    for options in sizes.into_iter().chain(files) {
        for measure in [
            "run -d 1s -t 100ns",
            "measure fwq --work empty --repetitions 30000000 --no-trace --cpus 1",
        ] {
            let done = place.run(&format!(
                "mkdir -p disk; unshare -m bash -c 'mount -t tmpfs -o {options} none disk || exit; \
                 timeout -k 5 60 {tool} {measure} -q -o disk/r >out; echo \"code $?\" >&2; \
                 [ -e disk/r/run.json ] && {{ timeout -k 5 60 {tool} summary disk/r >shown; echo \"code $?\" >&2; cat shown; }}; true'",
                tool = tool::ANECHOIC
            ));
            if codes(&done).iter().any(|&code| code != 0) && !done.out.is_empty() {
                let says = ["could not be saved", "no space left", "at least", "lost", "missing"];
                assert!(
                    says.iter().any(|says| done.out.contains(says)),
                    "{options} {measure}: {}",
                    done.out
                );
            }
        }
    }
    place.leave();
}
