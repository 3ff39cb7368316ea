use super::*;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

const NO_PAUSES: Pauses = Pauses { after_interrupt: 0, after_softirq: 0 };

/// What a CPU did from one change to the next.
struct Stretch {
    from: u64,
    to: u64,
    own: bool,
    interrupted: bool,
    waits: bool,
}

impl Stretch {
    fn is_lost(&self) -> bool {
        if self.own { self.interrupted } else { self.waits }
    }
}

/// Changes at random, and what is counted beside the sums over the stretches in between.
#[test]
fn time_is_executed_interrupted_or_lost() {
    let mut random = Pcg64Mcg::seed_from_u64(51);
    for trial in 0..500 {
        let (mut cpu, mut at) = (CpuState::since(100), 100);
        let (mut own, mut interrupted) = (false, false);
        let (mut found, mut stretches) = (vec![], vec![]);
        for _ in 0..30 {
            let from = at;
            at += random.random_range(0..9);
            let waits = cpu.waiting > 0;
            stretches.push(Stretch { from, to: at, own, interrupted, waits });
            match random.random_range(0..4) {
                0 => own = !own,
                1 => cpu.waiting = random.random_range(0..3),
                _ if interrupted => {
                    cpu.exit(Handler::Irq, at);
                    interrupted = false;
                }
                _ => {
                    cpu.enter(Handler::Irq, at, NO_PAUSES);
                    interrupted = true;
                }
            }
            assert_eq!(cpu.is_interrupted(), interrupted);
            found.extend(cpu.settle(at, own, 0));
            let counted = |wanted: fn(&Stretch) -> bool| {
                let which = stretches.iter().filter(|stretch| wanted(stretch));
                which.map(|stretch| stretch.to - stretch.from).sum::<u64>()
            };
            let later = random.random_range(0..5);
            let more = |goes_on: bool| if goes_on { later } else { 0 };
            let ran = counted(|stretch| stretch.own && !stretch.interrupted);
            let on_top = counted(|stretch| stretch.own && stretch.interrupted);
            let counts = Counts {
                executed: (ran + more(own && !interrupted)).cast_signed(),
                interrupted: (on_top + more(own && interrupted)).cast_signed(),
            };
            assert_eq!(cpu.counted(at + later), counts, "{trial} at {at}");
            assert_eq!(cpu.executed_until(at + later), ran + more(own && !interrupted));
        }
        // Nothing wants it any more: all lost time is over.
        stretches.push(Stretch { from: at, to: at + 1, own, interrupted, waits: cpu.waiting > 0 });
        cpu.exit_all();
        cpu.waiting = 0;
        found.extend(cpu.settle(at + 1, false, 0));
        found.extend(cpu.held());
        let mut lost: Vec<Span> = vec![];
        for stretch in
            stretches.iter().filter(|stretch| stretch.is_lost() && stretch.from < stretch.to)
        {
            match lost.last_mut() {
                Some(last) if last.1 == stretch.from => last.1 = stretch.to,
                _ => lost.push((stretch.from, stretch.to)),
            }
        }
        assert_eq!(found, lost, "{trial}");
        assert_eq!(
            cpu.used,
            stretches.iter().any(|stretch| stretch.own || stretch.waits),
            "{trial}"
        );
    }
}

/// A CPU that executes the program from 100 on and is interrupted from 150 to 160.
fn interrupted() -> CpuState {
    let mut cpu = CpuState::since(0);
    assert_eq!(cpu.settle(100, true, 0), None);
    cpu.enter(Handler::Irq, 150, NO_PAUSES);
    assert_eq!(cpu.settle(150, true, 0), None);
    assert_eq!(cpu.lost_since(), Some(150), "it goes on");
    cpu.exit(Handler::Irq, 160);
    assert_eq!(cpu.settle(160, true, 0), None);
    assert_eq!(
        (cpu.held(), cpu.lost_since()),
        (Some((150, 160)), Some(150)),
        "something may follow"
    );
    cpu
}

#[test]
fn what_follows_within_the_pause_is_part_of_the_detour() {
    let pauses = Pauses { after_interrupt: 5, after_softirq: 20 };
    for (softirq, pause, follows) in [(164, 5, true), (165, 5, false)] {
        let mut cpu = interrupted();
        assert_eq!(cpu.follows_interrupt(softirq, pauses), follows, "{softirq}");
        assert_eq!(cpu.enter(Handler::Softirq, softirq, pauses), follows, "{softirq}");
        cpu.settle(softirq, true, pause);
        cpu.exit(Handler::Softirq, 170);
        cpu.settle(170, true, 0);
        let (held, ran) = if follows { ((150, 170), 50) } else { ((150, 160), 50) };
        assert_eq!(cpu.held(), Some(held), "{softirq}");
        assert_eq!(cpu.executed.ran, ran, "{softirq}: up to the first interrupt");
        let on_top = if follows { 20 } else { 10 };
        assert_eq!(cpu.counted(170).interrupted, on_top, "{softirq}");
        assert_eq!(cpu.counted(180).executed, if follows { 60 } else { 70 }, "{softirq}");
        // A further softirq after one that the interrupt led to may come later.
        assert_eq!(cpu.enter(Handler::Softirq, 189, pauses), follows, "{softirq}");
    }
    let mut cpu = interrupted();
    cpu.enter(Handler::Irq, 170, pauses);
    assert_eq!(cpu.settle(170, true, 10), None);
    assert_eq!(cpu.held(), Some((150, 160)), "ten ticks later it is another one");
    assert_eq!(cpu.executed.ran, 60);
}

/// A thread of the program that is switched in now has waited since some time.
#[test]
fn waiting_that_no_event_showed_is_lost_since_it_began() {
    let cases = [
        ("nobody wanted it", false, 130, Some((130, 200)), None),
        ("since before it was followed", false, 50, Some((100, 200)), None),
        ("it executed", true, 130, None, None),
    ];
    for (name, own, since, held, returned) in cases {
        let mut cpu = CpuState::since(100);
        cpu.settle(100, own, 0);
        assert_eq!(cpu.waited(since, 200), returned, "case: {name}");
        assert_eq!(cpu.held(), held, "case: {name}");
    }
    // It executed the program up to 150 and something else since then.
    let lost_from = |since: u64| {
        let mut cpu = CpuState::since(100);
        cpu.settle(100, true, 0);
        cpu.settle(150, false, 0);
        cpu.waiting = 1;
        cpu.settle(180, false, 0);
        assert_eq!(cpu.waited(since, 200), None);
        cpu.lost_since()
    };
    assert_eq!([120, 150, 160, 190].map(lost_from), [150, 150, 160, 180].map(Some));
}

#[test]
fn an_interrupt_without_a_start_ends_now() {
    let mut cpu = CpuState::since(0);
    assert_eq!(cpu.interrupted(50, 10), None, "nobody wants it");
    cpu.settle(100, true, 0);
    assert_eq!(cpu.interrupted(100, 10), None, "it has just begun");
    assert_eq!((cpu.executed, cpu.held()), (Executed::default(), None));
    assert_eq!(cpu.interrupted(150, 10), None);
    assert_eq!(cpu.held(), Some((140, 150)));
    assert_eq!(cpu.interrupted(160, 30), None, "it began with the program's own time");
    assert_eq!(cpu.held(), Some((140, 160)));
    assert_eq!(cpu.interrupted(190, 10), Some((140, 160)));
    assert_eq!((cpu.executed.ran, cpu.executed.interrupted), (60, 30));
    assert_eq!(cpu.executed_until(200), 70);
}

#[test]
fn what_was_before_a_beginning_or_a_loss_does_not_count() {
    let mut cpu = interrupted();
    cpu.begin(200);
    assert_eq!((cpu.held(), cpu.executed, cpu.used), (None, Executed::default(), true));
    assert_eq!(cpu.counted(210), Counts { executed: 10, interrupted: 0 });
    let mut cpu = interrupted();
    assert_eq!(cpu.forget_until(300), Some((150, 160)));
    assert_eq!(cpu.settle(250, false, 0), None);
    assert_eq!((cpu.executed.ran, cpu.counted_from), (50, 300), "nothing since the interrupt");
    let mut unused = CpuState::since(5);
    unused.begin(10);
    assert!(!unused.used);
    // From the waking to the switch, if none came between, and only what counts.
    for (woken, ticks, expected) in
        [(Some(320), 350, 30), (Some(290), 350, 0), (Some(300), 310, 10), (None, 400, 0)]
    {
        let mut cpu = interrupted();
        cpu.forget_until(300);
        cpu.switch(ticks, woken);
        assert_eq!(cpu.executed.waking, expected, "{woken:?} to {ticks}");
    }
}

#[test]
fn counts_are_added_and_subtracted() {
    let [a, b] = [(7, 5), (2, 3)].map(|(executed, interrupted)| Counts { executed, interrupted });
    assert_eq!(a.plus(b), Counts { executed: 9, interrupted: 8 });
    assert_eq!(a.minus(b), Counts { executed: 5, interrupted: 2 });
}

/// A softirq in a system call of the program is its own work; what interrupts it is not.
#[test]
fn what_the_program_runs_itself_is_no_interrupt() {
    let pauses = Pauses { after_interrupt: 50, after_softirq: 50 };
    let executing = || {
        let mut cpu = CpuState::since(0);
        assert!(!cpu.used);
        cpu.settle(100, true, 0);
        assert!(cpu.used);
        cpu
    };
    let mut cpu = executing();
    cpu.enter(Handler::Hrtimer, 150, pauses);
    assert!(cpu.is_interrupted(), "a timer whose interrupt has no events");
    let mut cpu = executing();
    cpu.enter(Handler::Softirq, 150, pauses);
    cpu.enter(Handler::Hrtimer, 151, pauses);
    assert!(!cpu.is_interrupted(), "a timer inside its own softirq");
    cpu.enter(Handler::Irq, 152, pauses);
    assert!(cpu.is_interrupted());
    cpu.exit(Handler::Irq, 153);
    assert!(!cpu.follows_interrupt(154, pauses), "the softirq goes on");
    // The exit of the first one was not seen.
    let mut cpu = executing();
    for (handler, ticks) in [(Handler::Irq, 150), (Handler::Softirq, 151), (Handler::Irq, 160)] {
        cpu.enter(handler, ticks, pauses);
        cpu.settle(ticks, true, 0);
    }
    cpu.exit(Handler::Irq, 170);
    assert!(!cpu.is_interrupted() && cpu.follows_interrupt(171, pauses));
}
