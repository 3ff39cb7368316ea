//! Interrupts, and what they lead to.

use super::*;

#[test]
fn interrupts_take_the_cpu() {
    let run = |inner: &[KernelEvent]| {
        let mut events = vec![switch(MS, IDLE, RUNNABLE, A)];
        events.extend_from_slice(inner);
        events.push(switch(9 * MS, A, SLEEPS, IDLE));
        events
    };
    let nmi = event(5 * MS, EventKind::Nmi, A, [0, 300, 1]);
    let [entry, _] = tick(2 * MS, A, 0);
    verify(vec![
        ("one", run(&tick(2 * MS, A, 100)), &[(0, 2 * MS, 2 * MS + 100)], &[(0, 8 * MS - 100)]),
        (
            "two, between which the program goes on",
            run(&[tick(2 * MS, A, 100), tick(4 * MS, A, 100)].concat()),
            &[(0, 2 * MS, 2 * MS + 100), (0, 4 * MS, 4 * MS + 100)],
            &[(0, 8 * MS - 200)],
        ),
        (
            "with its softirq",
            run(&[tick(2 * MS, A, 100), softirq(2 * MS + 400, A, 600)].concat()),
            &[(0, 2 * MS, 2 * MS + 1_000)],
            &[(0, 8 * MS - 1_000)],
        ),
        (
            "with two softirqs",
            run(&[
                tick(2 * MS, A, 100),
                softirq(2 * MS + 400, A, 600),
                softirq(2 * MS + 1_200, A, 300),
            ]
            .concat()),
            &[(0, 2 * MS, 2 * MS + 1_500)],
            &[(0, 8 * MS - 1_500)],
        ),
        (
            "and a softirq of a system call later, which is the program's own work",
            run(&[tick(2 * MS, A, 100), softirq(3 * MS, A, 600)].concat()),
            &[(0, 2 * MS, 2 * MS + 100)],
            &[(0, 8 * MS - 100)],
        ),
        (
            "and one soon after the softirq to which it led",
            run(&[
                tick(2 * MS, A, 100),
                softirq(2 * MS + 400, A, 600),
                softirq(2 * MS + 9_000, A, 600),
            ]
            .concat()),
            &[(0, 2 * MS, 2 * MS + 1_000)],
            &[(0, 8 * MS - 1_000)],
        ),
        (
            "inside the program's own softirq",
            run(&[
                event(2 * MS, EventKind::SoftirqEntry, A, [1, 0, 0]),
                tick(2 * MS + 100, A, 100)[0],
                tick(2 * MS + 100, A, 100)[1],
                event(2 * MS + 900, EventKind::SoftirqExit, A, [1, 0, 0]),
            ]),
            &[(0, 2 * MS + 100, 2 * MS + 200)],
            &[(0, 8 * MS - 100)],
        ),
        (
            "softirqs that the program raises itself, with a tasklet and a timer inside",
            run(&[
                softirq(2 * MS, A, 600)[0],
                event(2 * MS + 100, EventKind::TaskletEntry, A, [7, 0, 0]),
                event(2 * MS + 200, EventKind::TaskletExit, A, [7, 0, 0]),
                event(2 * MS + 300, EventKind::TimerEntry, A, [7, 0, 0]),
                event(2 * MS + 400, EventKind::TimerExit, A, [7, 0, 0]),
                softirq(2 * MS, A, 600)[1],
            ]),
            &[],
            &[(0, 8 * MS)],
        ),
        ("one without an entry", run(&[nmi]), &[(0, 5 * MS - 300, 5 * MS)], &[(0, 8 * MS - 300)]),
        (
            "whose exit was not seen, until the program is in user mode",
            run(&[entry, event(3 * MS, EventKind::PageFaultUser, A, [0; 3])]),
            &[(0, 2 * MS, 3 * MS)],
            &[(0, 7 * MS)],
        ),
        (
            "and a switch follows from it",
            run(&[
                tick(2 * MS, A, 100)[0],
                tick(2 * MS, A, 100)[1],
                switch(2 * MS + 500, A, RUNNABLE, OTHER),
                switch(3 * MS, OTHER, SLEEPS, A),
            ]),
            &[(0, 2 * MS, 3 * MS)],
            &[(0, 7 * MS)],
        ),
        (
            "on an idle CPU",
            vec![
                switch(MS, IDLE, RUNNABLE, A),
                switch(2 * MS, A, SLEEPS, IDLE),
                tick(3 * MS, IDLE, 100)[0],
                tick(3 * MS, IDLE, 100)[1],
            ],
            &[],
            &[(0, MS)],
        ),
    ]);
}
