//! The activities that each sequence of events becomes.

use crate::stage::*;
use anechoic_recording::{EventKind::*, KernelEvent};

/// A detour from 100 to `end`, its events, and the expected rows.
type Case = (&'static str, u64, Vec<KernelEvent>, Vec<&'static str>);

fn check(policy: &str, cases: Vec<Case>) {
    for (name, end, events, expected) in cases {
        let mut play = Play::new(vec![detour(100, end)], events);
        play.run.policy = policy.into();
        let (_, rows) = play.attribute();
        let found: Vec<String> = rows.iter().map(words).collect();
        assert_eq!(found, expected, "case: {name}");
        let sum: u64 = rows.iter().map(|row| row.self_ticks).sum();
        assert_eq!(sum, end - 100 - SHORTEST, "sum of case: {name}");
    }
}

fn tick(from: u64) -> Vec<KernelEvent> {
    vec![
        ev(from, LocalTimerEntry, [236, 0, 0]),
        ev(from + 5, HrtimerEntry, [0xa, TICK, 0]),
        ev(from + 25, HrtimerExit, [0xa, 0, 0]),
        ev(from + 27, HrtimerStart, [0xa, TICK, 0]),
        ev(from + 30, LocalTimerExit, [236, 0, 0]),
    ]
}

#[test]
fn interrupts() {
    let softirq =
        |from, vec| [ev(from, SoftirqEntry, [vec, 0, 0]), ev(from + 20, SoftirqExit, [vec, 0, 0])];
    check(
        "other",
        vec![
            (
                "tick",
                200,
                tick(140),
                vec![
                    "entry gap: timer-tick | 100..140 = 35",
                    "timer-tick | 140..170 = 10",
                    "timer-tick | 145..165 = 20 | in 1 | tick_nohz_handler",
                    "exit gap: timer-tick | 170..200 = 25",
                ],
            ),
            (
                "tick, then a softirq on the way out",
                250,
                [tick(140), softirq(175, 9).to_vec()].concat(),
                vec![
                    "entry gap: timer-tick | 100..140 = 36",
                    "timer-tick | 140..170 = 10",
                    "timer-tick | 145..165 = 20 | in 1 | tick_nohz_handler",
                    "inner gap: timer-tick | 170..175 = 5",
                    "softirq RCU | 175..195 = 20",
                    "exit gap: softirq RCU | 195..250 = 49",
                ],
            ),
            (
                "another timer than the tick",
                200,
                vec![
                    far(50, 42, HrtimerStart, [0xb, PERF, 0]),
                    ev(140, LocalTimerEntry, [236, 0, 0]),
                    ev(145, HrtimerEntry, [0xb, PERF, 0]),
                    ev(155, HrtimerExit, [0xb, 0, 0]),
                    // Rearming itself does not make it its own sender.
                    ev(156, HrtimerStart, [0xb, PERF, 0]),
                    ev(160, LocalTimerExit, [236, 0, 0]),
                ],
                vec![
                    "entry gap: timer perf_swevent_hrtimer | 100..140 = 35",
                    "timer perf_swevent_hrtimer | 140..160 = 10",
                    "timer perf_swevent_hrtimer | 145..155 = 10 | in 1 | perf_swevent_hrtimer | by 0 bash",
                    "exit gap: timer perf_swevent_hrtimer | 160..200 = 35",
                ],
            ),
            (
                "armed before the loop began, by an interrupt that was not followed: by nobody",
                200,
                vec![
                    ev(50, HrtimerStart, [0xb, PERF, 0]),
                    ev(140, LocalTimerEntry, [236, 0, 0]),
                    ev(145, HrtimerEntry, [0xb, PERF, 0]),
                    ev(155, HrtimerExit, [0xb, 0, 0]),
                    ev(160, LocalTimerExit, [236, 0, 0]),
                ],
                vec![
                    "entry gap: timer perf_swevent_hrtimer | 100..140 = 35",
                    "timer perf_swevent_hrtimer | 140..160 = 10",
                    "timer perf_swevent_hrtimer | 145..155 = 10 | in 1 | perf_swevent_hrtimer",
                    "exit gap: timer perf_swevent_hrtimer | 160..200 = 35",
                ],
            ),
            (
                "armed by a thread that ran on this CPU before",
                300,
                vec![
                    switch(120, VICTIM, 0, 42, 120),
                    on(130, 42, HrtimerStart, [0xb, PERF, 0]),
                    switch(200, 42, 1, VICTIM, 120),
                    ev(220, LocalTimerEntry, [236, 0, 0]),
                    ev(230, HrtimerEntry, [0xb, PERF, 0]),
                    ev(250, HrtimerExit, [0xb, 0, 0]),
                    ev(260, LocalTimerExit, [236, 0, 0]),
                ],
                vec![
                    "entry gap: thread bash | 100..120 = 17",
                    "off: thread bash | 120..200 = 80 | runnable",
                    "inner gap: thread bash | 200..220 = 20",
                    "timer perf_swevent_hrtimer | 220..260 = 20",
                    "timer perf_swevent_hrtimer | 230..250 = 20 | in 3 | perf_swevent_hrtimer | by 1 bash",
                    "exit gap: timer perf_swevent_hrtimer | 260..300 = 33",
                ],
            ),
            (
                "another timer before the tick in one interrupt is the tick's interrupt",
                200,
                vec![
                    ev(140, LocalTimerEntry, [236, 0, 0]),
                    ev(142, HrtimerEntry, [0xb, PERF, 0]),
                    ev(144, HrtimerExit, [0xb, 0, 0]),
                    ev(145, HrtimerEntry, [0xa, TICK, 0]),
                    ev(155, HrtimerExit, [0xa, 0, 0]),
                    ev(160, LocalTimerExit, [236, 0, 0]),
                ],
                vec![
                    "entry gap: timer-tick | 100..140 = 35",
                    "timer-tick | 140..160 = 8",
                    "timer perf_swevent_hrtimer | 142..144 = 2 | in 1 | perf_swevent_hrtimer",
                    "timer-tick | 145..155 = 10 | in 1 | tick_nohz_handler",
                    "exit gap: timer-tick | 160..200 = 35",
                ],
            ),
            (
                "timer interrupt in which nothing expired",
                200,
                vec![ev(140, LocalTimerEntry, [236, 0, 0]), ev(160, LocalTimerExit, [236, 0, 0])],
                vec![
                    "entry gap: timer nothing expired | 100..140 = 35",
                    "timer nothing expired | 140..160 = 20",
                    "exit gap: timer nothing expired | 160..200 = 35",
                ],
            ),
            (
                "wheel timer inside a softirq, armed by the timer's own function",
                200,
                vec![
                    ev(120, SoftirqEntry, [1, 0, 0]),
                    ev(130, TimerEntry, [0xc, VMSTAT, 0]),
                    ev(135, TimerStart, [0xc, VMSTAT, 0]),
                    ev(140, TimerExit, [0xc, 0, 0]),
                    ev(150, SoftirqExit, [1, 0, 0]),
                ],
                vec![
                    "entry gap: softirq TIMER | 100..120 = 18",
                    "softirq TIMER | 120..150 = 20",
                    "timer vmstat_update | 130..140 = 10 | in 1 | vmstat_update",
                    "exit gap: softirq TIMER | 150..200 = 42",
                ],
            ),
            (
                "device interrupt inside a softirq",
                200,
                vec![
                    ev(120, SoftirqEntry, [3, 0, 0]),
                    ev(130, IrqEntry, [24, 0, 0]),
                    ev(145, IrqExit, [24, 1, 0]),
                    ev(150, SoftirqExit, [3, 0, 0]),
                ],
                vec![
                    "entry gap: softirq NET_RX | 100..120 = 18",
                    "softirq NET_RX | 120..150 = 15",
                    "device-irq virtio0 | 130..145 = 15 | in 1",
                    "exit gap: softirq NET_RX | 150..200 = 42",
                ],
            ),
            (
                "function call from another CPU",
                200,
                vec![
                    far(105, 42, CsdQueue, [1, FLUSH, 0xd]),
                    far(106, 42, IpiSendCpu, [1, 0xe, FLUSH]),
                    ev(120, CallFunctionSingleEntry, [251, 0, 0]),
                    ev(125, CsdEntry, [FLUSH, 0xd, 0]),
                    ev(140, CsdExit, [FLUSH, 0xd, 0]),
                    ev(150, CallFunctionSingleExit, [251, 0, 0]),
                ],
                vec![
                    "entry gap: ipi call function single | 100..120 = 18",
                    "ipi call function single | 120..150 = 15 | flush_tlb_func | by 0 bash",
                    "ipi call function single | 125..140 = 15 | in 1 | flush_tlb_func | by 0 bash",
                    "exit gap: ipi call function single | 150..200 = 42",
                ],
            ),
            (
                "function call whose request is not reported",
                200,
                vec![
                    far(105, 42, IpiSendCpu, [1, 0xe, FLUSH]),
                    ev(120, CallFunctionEntry, [252, 0, 0]),
                    ev(150, CallFunctionExit, [252, 0, 0]),
                ],
                vec![
                    "entry gap: ipi call function | 100..120 = 18",
                    "ipi call function | 120..150 = 30 | flush_tlb_func | by 0 bash",
                    "exit gap: ipi call function | 150..200 = 42",
                ],
            ),
            (
                "reschedule interrupt from another CPU; a later one has no sender",
                200,
                vec![
                    far(105, 43, IpiSendCpu, [1, 0xe, 0]),
                    far(106, 42, IpiSendCpu, [0, 0xe, 0]),
                    ev(120, RescheduleEntry, [253, 0, 0]),
                    ev(130, RescheduleExit, [253, 0, 0]),
                    ev(140, RescheduleEntry, [253, 0, 0]),
                    ev(150, RescheduleExit, [253, 0, 0]),
                ],
                vec![
                    "entry gap: ipi reschedule | 100..120 = 18",
                    "ipi reschedule | 120..130 = 10 | by 0 stress",
                    "inner gap: ipi reschedule | 130..140 = 10",
                    "ipi reschedule | 140..150 = 10",
                    "exit gap: ipi reschedule | 150..200 = 42",
                ],
            ),
            (
                "thermal interrupt",
                200,
                vec![ev(120, ThermalEntry, [250, 0, 0]), ev(130, ThermalExit, [250, 0, 0])],
                vec![
                    "entry gap: platform-irq thermal | 100..120 = 18",
                    "platform-irq thermal | 120..130 = 10",
                    "exit gap: platform-irq thermal | 130..200 = 62",
                ],
            ),
            (
                "NMI is carved from what it interrupted",
                200,
                vec![
                    ev(120, IrqEntry, [24, 0, 0]),
                    ev(150, Nmi, [PERF, 20, 1]),
                    ev(160, IrqExit, [24, 1, 0]),
                ],
                vec![
                    "entry gap: device-irq virtio0 | 100..120 = 17",
                    "device-irq virtio0 | 120..160 = 20",
                    "nmi | 130..150 = 20 | in 1 | perf_swevent_hrtimer",
                    "exit gap: device-irq virtio0 | 160..200 = 33",
                ],
            ),
            (
                "NMI longer than the time since the last boundary",
                200,
                vec![
                    ev(120, IrqEntry, [24, 0, 0]),
                    ev(150, Nmi, [PERF, u64::MAX, 1]),
                    ev(160, IrqExit, [24, 1, 0]),
                ],
                vec![
                    "entry gap: device-irq virtio0 | 100..120 = 17",
                    "device-irq virtio0 | 120..160 = 10",
                    "nmi | 120..150 = 30 | in 1 | perf_swevent_hrtimer",
                    "exit gap: device-irq virtio0 | 160..200 = 33",
                ],
            ),
            (
                "page fault lasts until the detour ends",
                200,
                vec![
                    ev(120, PageFaultUser, [0x1000, 0x2000, 4]),
                    ev(130, IrqEntry, [24, 0, 0]),
                    ev(140, IrqExit, [24, 1, 0]),
                ],
                vec![
                    "entry gap: page-fault user | 100..120 = 10",
                    "page-fault user | 120..200 = 70",
                    "device-irq virtio0 | 130..140 = 10 | in 1",
                ],
            ),
        ],
    );
}

#[test]
fn what_is_missing_is_survived() {
    check(
        "other",
        vec![
            ("no event", 200, vec![], vec!["unexplained: vm-or-hardware | 100..200 = 90"]),
            (
                "events, but none that begins or ends: the victim's own kernel work",
                200,
                vec![ev(120, Signal, [100, 10, 0]), ev(150, Waking, [42, 0, 0])],
                vec![
                    "entry gap: victim-kernel | 100..120 = 18",
                    "victim-kernel | 120..150 = 30",
                    "exit gap: victim-kernel | 150..200 = 42",
                ],
            ),
            (
                "entry without exit",
                200,
                vec![
                    ev(120, SoftirqEntry, [3, 0, 0]),
                    ev(130, IrqEntry, [24, 0, 0]),
                    ev(150, SoftirqExit, [3, 0, 0]),
                ],
                vec![
                    "entry gap: softirq NET_RX | 100..120 = 18",
                    "softirq NET_RX | 120..150 = 10",
                    "device-irq virtio0 | 130..150 = 20 | in 1",
                    "exit gap: softirq NET_RX | 150..200 = 42",
                ],
            ),
            (
                "entry without anything after it",
                200,
                vec![ev(120, IrqEntry, [24, 0, 0])],
                vec![
                    "entry gap: device-irq virtio0 | 100..120 = 10",
                    "device-irq virtio0 | 120..200 = 80",
                ],
            ),
            (
                "exit without entry, first: the time before is that interrupt's",
                200,
                vec![ev(150, IrqExit, [24, 1, 0])],
                vec![
                    "entry gap: device-irq virtio0 | 100..150 = 45",
                    "device-irq virtio0 | 150..150 = 0",
                    "exit gap: device-irq virtio0 | 150..200 = 45",
                ],
            ),
            (
                "exit without entry, later",
                200,
                vec![
                    ev(120, IrqEntry, [24, 0, 0]),
                    ev(130, SoftirqExit, [3, 0, 0]),
                    ev(140, IrqExit, [24, 1, 0]),
                ],
                vec![
                    "entry gap: device-irq virtio0 | 100..120 = 18",
                    "device-irq virtio0 | 120..140 = 20",
                    "exit gap: device-irq virtio0 | 140..200 = 52",
                ],
            ),
            (
                "event within the time of one iteration: what it began loses nothing",
                200,
                vec![ev(105, IrqEntry, [24, 0, 0]), ev(120, IrqExit, [24, 1, 0])],
                vec![
                    "entry gap: device-irq virtio0 | 100..105 = 5",
                    "device-irq virtio0 | 105..120 = 15",
                    "exit gap: device-irq virtio0 | 120..200 = 70",
                ],
            ),
            (
                "events a counter step outside",
                200,
                vec![ev(95, IrqEntry, [24, 0, 0]), ev(205, IrqExit, [24, 1, 0])],
                vec!["device-irq virtio0 | 100..200 = 90"],
            ),
            (
                "the victim comes back without having left: the time before is that thread's",
                200,
                vec![switch(150, 43, 1, VICTIM, 120)],
                vec![
                    "entry gap: thread stress | 100..150 = 45",
                    "off: thread stress | 150..150 = 0 | runnable",
                    "exit gap: thread stress | 150..200 = 45",
                ],
            ),
            (
                "a switch between others was hidden: nobody knows until when the first one ran",
                300,
                vec![
                    switch(120, VICTIM, 0, 42, 120),
                    on(130, 42, SoftirqEntry, [9, 0, 0]),
                    on(140, 42, SoftirqExit, [9, 0, 0]),
                    on(200, 43, IrqEntry, [24, 0, 0]),
                    on(210, 43, IrqExit, [24, 1, 0]),
                    switch(220, 43, 0, VICTIM, 120),
                ],
                vec![
                    "entry gap: thread bash | 100..120 = 18",
                    "off: thread bash | 120..140 = 10 | runnable",
                    "softirq RCU | 130..140 = 10 | in 1 | runnable",
                    "dark: not-attributable unseen switch | 140..200 = 60 | runnable",
                    "off: thread stress | 200..220 = 10 | runnable",
                    "device-irq virtio0 | 200..210 = 10 | in 4 | runnable",
                    "exit gap: thread stress | 220..300 = 72",
                ],
            ),
            (
                "the switch back to the victim was hidden",
                300,
                vec![
                    switch(120, VICTIM, 0, 42, 120),
                    ev(200, LocalTimerEntry, [236, 0, 0]),
                    ev(220, LocalTimerExit, [236, 0, 0]),
                ],
                vec![
                    "entry gap: thread bash | 100..120 = 18",
                    "off: thread bash | 120..200 = 80 | runnable",
                    "timer nothing expired | 200..220 = 20",
                    "exit gap: timer nothing expired | 220..300 = 72",
                ],
            ),
            (
                "others switch while the victim was taken for current",
                200,
                vec![switch(120, 42, 1, 43, 120), switch(150, 43, 1, VICTIM, 120)],
                vec![
                    "entry gap: thread bash | 100..120 = 18",
                    "off: thread bash | 120..120 = 0 | runnable",
                    "off: thread stress | 120..150 = 30 | runnable",
                    "exit gap: thread stress | 150..200 = 42",
                ],
            ),
        ],
    );
}

#[test]
fn threads_and_the_victims_state() {
    check(
        "other",
        vec![
            (
                "softirq inside a thread, interrupt inside the softirq: each charged once",
                300,
                vec![
                    far(60, 43, Waking, [42, 1, 0]),
                    switch(120, VICTIM, 0x100, 42, 120),
                    on(130, 42, SoftirqEntry, [7, 0, 0]),
                    on(140, 42, IrqEntry, [24, 0, 0]),
                    on(150, 42, IrqExit, [24, 1, 0]),
                    on(170, 42, SoftirqExit, [7, 0, 0]),
                    switch(200, 42, 1, VICTIM, 120),
                ],
                vec![
                    "entry gap: thread bash | 100..120 = 19",
                    "off: thread bash | 120..200 = 40 | by 0 stress | runnable",
                    "softirq SCHED | 130..170 = 30 | in 1 | runnable",
                    "device-irq virtio0 | 140..150 = 10 | in 2 | runnable",
                    "exit gap: thread bash | 200..300 = 91",
                ],
            ),
            (
                "kworker with its longest work and who queued that",
                300,
                vec![
                    far(50, 42, WorkQueue, [0xa1, VMSTAT, 1]),
                    far(51, 43, WorkQueue, [0xa2, SHORT_WORK, 1]),
                    switch(120, VICTIM, 0, 7, 120),
                    on(130, 7, WorkStart, [0xa1, VMSTAT, 0]),
                    on(160, 7, WorkEnd, [0xa1, VMSTAT, 0]),
                    on(165, 7, WorkStart, [0xa2, SHORT_WORK, 0]),
                    on(170, 7, WorkEnd, [0xa2, SHORT_WORK, 0]),
                    switch(200, 7, 0x80, VICTIM, 120),
                ],
                vec![
                    "entry gap: thread kworker/1:1 | 100..120 = 19",
                    "off: thread kworker/1:1 | 120..200 = 45 | vmstat_update | by 0 bash | runnable",
                    "thread kworker/1:1 | 130..160 = 30 | in 1 | vmstat_update | by 0 bash | runnable",
                    "thread kworker/1:1 | 165..170 = 5 | in 1 | wb_workfn | by 0 stress | runnable",
                    "exit gap: thread kworker/1:1 | 200..300 = 91",
                ],
            ),
            (
                "work queued by a timer: whoever armed the timer",
                400,
                vec![
                    far(50, 42, TimerStart, [0xc, VMSTAT, 0]),
                    ev(110, TimerEntry, [0xc, VMSTAT, 0]),
                    ev(112, WorkQueue, [0xa1, VMSTAT, 1]),
                    ev(115, TimerExit, [0xc, 0, 0]),
                    switch(120, VICTIM, 0, 7, 120),
                    on(130, 7, WorkStart, [0xa1, VMSTAT, 0]),
                    on(160, 7, WorkEnd, [0xa1, VMSTAT, 0]),
                    switch(200, 7, 0x80, VICTIM, 120),
                ],
                vec![
                    "entry gap: timer vmstat_update | 100..110 = 10",
                    "timer vmstat_update | 110..115 = 5 | vmstat_update | by 0 bash",
                    "inner gap: timer vmstat_update | 115..120 = 5",
                    "off: thread kworker/1:1 | 120..200 = 50 | vmstat_update | by 0 bash | runnable",
                    "thread kworker/1:1 | 130..160 = 30 | in 3 | vmstat_update | by 0 bash | runnable",
                    "exit gap: thread kworker/1:1 | 200..400 = 190",
                ],
            ),
            (
                "thread woken by an interrupt, not by the thread that it interrupted",
                300,
                vec![
                    ev(112, IrqEntry, [24, 0, 0]),
                    ev(114, Waking, [42, 1, 0]),
                    ev(116, IrqExit, [24, 1, 0]),
                    switch(120, VICTIM, 0, 42, 120),
                    switch(200, 42, 1, VICTIM, 120),
                ],
                vec![
                    "entry gap: device-irq virtio0 | 100..112 = 11",
                    "device-irq virtio0 | 112..116 = 4",
                    "inner gap: device-irq virtio0 | 116..120 = 4",
                    "off: thread bash | 120..200 = 80 | by 1 (device-irq virtio0) | runnable",
                    "exit gap: thread bash | 200..300 = 91",
                ],
            ),
            (
                "work that another thread interrupts goes on afterwards",
                300,
                vec![
                    switch(120, VICTIM, 0, 7, 120),
                    on(130, 7, WorkStart, [0xa1, VMSTAT, 0]),
                    switch(140, 7, 0, 43, 120),
                    switch(160, 43, 1, 7, 120),
                    on(190, 7, WorkEnd, [0xa1, VMSTAT, 0]),
                    switch(200, 7, 0x80, VICTIM, 120),
                ],
                vec![
                    "entry gap: thread kworker/1:1 | 100..120 = 19",
                    "off: thread kworker/1:1 | 120..140 = 10 | vmstat_update | runnable",
                    "thread kworker/1:1 | 130..140 = 10 | in 1 | vmstat_update | runnable",
                    "off: thread stress | 140..160 = 20 | runnable",
                    "off: thread kworker/1:1 | 160..200 = 10 | vmstat_update | runnable",
                    "thread kworker/1:1 | 160..190 = 30 | in 4 | vmstat_update | runnable",
                    "exit gap: thread kworker/1:1 | 200..300 = 91",
                ],
            ),
            (
                "the tool's own thread",
                300,
                vec![switch(120, VICTIM, 0, 91, 120), switch(200, 91, 1, VICTIM, 120)],
                vec![
                    "entry gap: anechoic writer | 100..120 = 19",
                    "off: anechoic writer | 120..200 = 80 | runnable",
                    "exit gap: anechoic writer | 200..300 = 91",
                ],
            ),
            (
                "idle although it could run",
                300,
                vec![switch(120, VICTIM, 0, 0, 120), switch(200, 0, 0, VICTIM, 120)],
                vec![
                    "entry gap: cpu-quota | 100..120 = 19",
                    "off: cpu-quota | 120..200 = 80 | runnable",
                    "exit gap: cpu-quota | 200..300 = 91",
                ],
            ),
            (
                "stopped for 2.5 s while others run; continued, it waits for the thread that has the CPU",
                2_600_000_000,
                vec![
                    far(90, 42, Signal, [90, 19, 0]),
                    ev(115, RescheduleEntry, [253, 0, 0]),
                    ev(117, RescheduleExit, [253, 0, 0]),
                    switch(120, VICTIM, 4, 43, 120),
                    on(1_000, 43, LocalTimerEntry, [236, 0, 0]),
                    on(2_000, 43, LocalTimerExit, [236, 0, 0]),
                    switch(500_000_000, 43, 1, 0, 120),
                    switch(600_000_000, 0, 0, 43, 120),
                    far(2_500_000_000, 42, Signal, [90, 18, 0]),
                    far(2_500_000_000, 42, Waking, [100, 1, 0]),
                    on(2_500_000_100, 43, SoftirqEntry, [9, 0, 0]),
                    on(2_500_000_200, 43, SoftirqExit, [9, 0, 0]),
                    switch(2_500_001_000, 43, 0, VICTIM, 120),
                ],
                vec![
                    "entry gap: ipi reschedule | 100..115 = 15",
                    "ipi reschedule | 115..117 = 2",
                    "inner gap: ipi reschedule | 117..120 = 3",
                    "off: stopped SIGSTOP | 120..2500000000 = 2499999880 | by 0 bash | stopped",
                    "off: thread stress | 2500000000..2500001000 = 900 | runnable",
                    "softirq RCU | 2500000100..2500000200 = 100 | in 4 | runnable",
                    "exit gap: thread stress | 2500001000..2600000000 = 99998990",
                ],
            ),
            (
                "stopped on an idle CPU: waking up is the stop's",
                1_000,
                vec![
                    switch(120, VICTIM, 4, 0, 120),
                    on(800, 0, RescheduleEntry, [253, 0, 0]),
                    on(801, 0, Waking, [100, 1, 0]),
                    on(802, 0, RescheduleExit, [253, 0, 0]),
                    switch(900, 0, 0, VICTIM, 120),
                ],
                vec![
                    "entry gap: stopped by a signal | 100..120 = 19",
                    "off: stopped by a signal | 120..900 = 780 | stopped",
                    "exit gap: stopped by a signal | 900..1000 = 91",
                ],
            ),
            (
                "woken inside an interrupt of the thread that runs",
                1_000,
                vec![
                    switch(120, VICTIM, 8, 43, 120),
                    on(800, 43, IrqEntry, [24, 0, 0]),
                    on(810, 43, Waking, [100, 1, 0]),
                    on(830, 43, IrqExit, [24, 1, 0]),
                    switch(900, 43, 0, VICTIM, 120),
                ],
                vec![
                    "entry gap: stopped by a debugger | 100..120 = 19",
                    "off: stopped by a debugger | 120..810 = 690 | stopped",
                    "off: thread stress | 810..900 = 70 | runnable",
                    "device-irq virtio0 | 810..830 = 20 | in 2 | runnable",
                    "exit gap: thread stress | 900..1000 = 91",
                ],
            ),
            (
                "waits for a page",
                1_000,
                vec![
                    ev(120, PageFaultUser, [0x1000, 0x2000, 4]),
                    switch(150, VICTIM, 2, 43, 120),
                    on(500, 43, PageFaultUser, [0x1000, 0x2000, 4]), // another thread's
                    on(800, 0, Waking, [100, 1, 0]),
                    switch(900, 43, 0, VICTIM, 120),
                ],
                vec![
                    "entry gap: page-fault user | 100..120 = 10",
                    "page-fault user | 120..1000 = 130",
                    "off: page-fault user | 150..800 = 650 | in 1 | blocked",
                    "off: thread stress | 800..900 = 100 | in 1 | runnable",
                ],
            ),
            (
                "sleeps for another reason",
                1_000,
                vec![switch(150, VICTIM, 1, 43, 120), switch(900, 43, 0, VICTIM, 120)],
                vec![
                    "entry gap: blocked | 100..150 = 47",
                    "off: blocked | 150..900 = 750 | blocked",
                    "exit gap: blocked | 900..1000 = 93",
                ],
            ),
        ],
    );
}

#[test]
fn fifo_artefacts() {
    check(
        "fifo 50",
        vec![
            (
                "throttled",
                300,
                vec![switch(120, VICTIM, 0, 0, 120), switch(200, 0, 0, VICTIM, 49)],
                vec![
                    "entry gap: rt-throttling | 100..120 = 19",
                    "off: rt-throttling | 120..200 = 80 | runnable",
                    "exit gap: rt-throttling | 200..300 = 91",
                ],
            ),
            (
                "a fair thread runs",
                300,
                vec![switch(120, VICTIM, 0, 43, 120), switch(200, 43, 0, VICTIM, 49)],
                vec![
                    "entry gap: fair-server stress | 100..120 = 19",
                    "off: fair-server stress | 120..200 = 80 | runnable",
                    "exit gap: fair-server stress | 200..300 = 91",
                ],
            ),
            (
                "a thread of higher priority runs",
                300,
                vec![switch(120, VICTIM, 0, 42, 0), switch(200, 42, 1, VICTIM, 49)],
                vec![
                    "entry gap: thread bash | 100..120 = 19",
                    "off: thread bash | 120..200 = 80 | runnable",
                    "exit gap: thread bash | 200..300 = 91",
                ],
            ),
            (
                "a thread that was switched in unseen is taken for a fair one",
                300,
                vec![
                    on(120, 43, IrqEntry, [24, 0, 0]),
                    on(130, 43, IrqExit, [24, 1, 0]),
                    switch(200, 43, 0, VICTIM, 49),
                ],
                vec![
                    "entry gap: fair-server stress | 100..120 = 19",
                    "off: fair-server stress | 120..200 = 70 | runnable",
                    "device-irq virtio0 | 120..130 = 10 | in 1 | runnable",
                    "exit gap: fair-server stress | 200..300 = 91",
                ],
            ),
            (
                "a deadline thread runs",
                300,
                vec![switch(120, VICTIM, 0, 42, -1_i64 as u64), switch(200, 42, 1, VICTIM, 49)],
                vec![
                    "entry gap: thread bash | 100..120 = 19",
                    "off: thread bash | 120..200 = 80 | runnable",
                    "exit gap: thread bash | 200..300 = 91",
                ],
            ),
        ],
    );
}

/// What had the CPU instead of a thread that has become real-time is seen when that is switched in: of priority 99, not of 100.
#[test]
fn a_thread_that_became_real_time_is_known_by_its_priority() {
    for (priority, source) in [(99, "fair-server stress"), (100, "thread stress")] {
        let events = vec![switch(120, VICTIM, 0, 43, 120), switch(200, 43, 0, VICTIM, priority)];
        let (_, rows) = Play::new(vec![detour(100, 300)], events).attribute();
        assert_eq!(words(&rows[1]), format!("off: {source} | 120..200 = 80 | runnable"));
    }
}
