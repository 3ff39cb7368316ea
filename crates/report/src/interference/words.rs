//! What the matrix means for somebody who has a job to place.

use crate::style::{capital, listed, plain};
use crate::units::{micros, micros_up};
use anechoic_analyze::Interference;
use anechoic_analyze::interference::{ClassCost, Cost, Proximity};

/// A cost under this part of what the CPU pays that takes the interrupt decides no placement.
const SMALL: f64 = 0.02;

/// What a cost is, where it differs from 0; else what it is less than; nothing where that is not known.
pub(crate) fn cost(cost: &Cost) -> Option<String> {
    let interval = cost.interval?;
    Some(if cost.differs {
        micros(cost.per_interrupt_ns)
    } else {
        format!("<{}", micros_up(interval.high))
    })
}

/// How near two CPUs are, in a table.
pub(super) fn place(place: Proximity) -> &'static str {
    match place {
        Proximity::SameThread => "same CPU",
        Proximity::SmtSibling => "SMT sibling",
        Proximity::SharedL2 => "shared L2",
        Proximity::SharedL3 => "shared L3",
        Proximity::SameSocket => "same socket",
        Proximity::OtherSocket => "other socket",
        Proximity::Unknown => "not known",
    }
}

/// The same in a sentence: who feels the interrupts of a CPU.
fn who(place: Proximity) -> &'static str {
    match place {
        Proximity::SameThread => "the CPU itself",
        Proximity::SmtSibling => "its SMT siblings",
        Proximity::SharedL2 => "CPUs that share its L2 cache",
        Proximity::SharedL3 => "CPUs that share its L3 cache",
        Proximity::SameSocket => "other CPUs of its socket",
        Proximity::OtherSocket => "CPUs of other sockets",
        Proximity::Unknown => "CPUs whose place is not known",
    }
}

/// Who feels what, and where to put a job.
pub(crate) fn sentences(found: &Interference) -> String {
    if found.classes.is_empty() {
        return "What an interrupt costs another CPU cannot be said from this recording.".into();
    }
    let places = || Proximity::ALL.into_iter().filter(|&place| of(found, place).next().is_some());
    let own = of(found, Proximity::SameThread).map(|class| class.mean_ns).fold(0.0, f64::max);
    let mut texts: Vec<String> = vec![];
    texts.extend(itself(found));
    let (mut near, mut trifles, mut free) = (vec![], vec![], vec![]);
    for place in places().filter(|&place| place != Proximity::SameThread) {
        let worst = felt(found, place).map(|class| class.mean_ns).fold(0.0, f64::max);
        match worst {
            0.0 => free.push(place),
            worst if worst < SMALL * own => trifles.push(place),
            _ => near.push(place),
        }
    }
    for &place in &near {
        texts.push(felt_by(found, place));
        texts.extend(like_siblings(found, place).map(str::to_owned));
    }
    if !trifles.is_empty() {
        let most = trifles.iter().flat_map(|&place| of(found, place)).map(|class| class.mean_ns);
        let most = micros(most.fold(0.0, f64::max));
        texts.push(format!(
            "On {} it shows as {most} µs at most: next to nothing.",
            names(&trifles)
        ));
    }
    if !free.is_empty() {
        let limits = free.iter().flat_map(|&place| of(found, place));
        let limit = limits.filter_map(|class| Some(class.interval?.high)).reduce(f64::max);
        let limit = limit.map_or(String::new(), |high| format!(" (under {} µs)", micros_up(high)));
        texts.push(format!("On {} none of it was seen{limit}.", names(&free)));
    }
    texts.extend(advice(&near, !trifles.is_empty() || !free.is_empty()));
    texts.join(" ")
}

fn of(found: &Interference, place: Proximity) -> impl Iterator<Item = &ClassCost> {
    found.classes.iter().filter(move |class| class.place == place)
}

/// Those with a cost over 0.
fn felt(found: &Interference, place: Proximity) -> impl Iterator<Item = &ClassCost> {
    of(found, place).filter(|class| class.differs() && class.mean_ns > 0.0)
}

/// What the CPU pays that takes the interrupt.
fn itself(found: &Interference) -> Option<String> {
    let costs: Vec<f64> = of(found, Proximity::SameThread).map(|class| class.mean_ns).collect();
    let low = costs.iter().copied().reduce(f64::min)?;
    let high = costs.iter().copied().fold(low, f64::max);
    let [a, b] = [low, high].map(micros);
    let costs = if a == b { a } else { format!("{a}–{b}") };
    Some(format!("An interrupt costs the CPU that takes it {costs} µs."))
}

/// `Its SMT siblings feel it, too: intadd 1.06 µs, intmul 0.40 µs, intdiv not.`
fn felt_by(found: &Interference, place: Proximity) -> String {
    let kernels = of(found, place).map(|class| {
        let kernel = plain(&class.kernel);
        if class.differs() && class.mean_ns > 0.0 {
            format!("{kernel} {} µs", micros(class.mean_ns))
        } else {
            format!("{kernel} not")
        }
    });
    let kernels: Vec<String> = kernels.collect();
    format!("{} feel it, too: {}.", capital(who(place)), kernels.join(", "))
}

/// What a guest is not told: CPUs that feel each other as threads of one core do, most where a kernel
/// uses most of it (Radojković 2008: 6.5, 1.2 and 0.8 µs at 1, 11 and 72 cycles per instruction).
fn like_siblings(found: &Interference, place: Proximity) -> Option<&'static str> {
    const MORE: f64 = 2.0;
    if found.run.hypervisor.is_none() || place == Proximity::SmtSibling {
        return None;
    }
    let pace = |kernel: &str| {
        let of = found.kernels.iter().find(|pace| pace.kernel == kernel);
        of.and_then(|pace| pace.cycles_per_instruction)
    };
    let mut costs: Vec<(f64, f64)> =
        of(found, place).filter_map(|class| Some((pace(&class.kernel)?, class.mean_ns))).collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (fast, slow) = (costs.first()?, costs.last()?);
    let alike = fast.0 < slow.0 && fast.1 > MORE * slow.1.max(0.0);
    alike.then_some(
        "Kernels that use more of the core feel more: so do threads of one core, and a guest may not be told which are.",
    )
}

/// Where to put a job; nothing where only the CPU itself was measured.
fn advice(near: &[Proximity], anywhere_free: bool) -> Option<String> {
    let apart = "Keep interrupts off the CPU of your job";
    match (near, anywhere_free) {
        ([], false) => None,
        ([], true) => Some(format!("{apart}; no other CPU needs to be kept free of them.")),
        (near, _) => Some(format!("{apart}, and off {}.", names(near))),
    }
}

/// `its SMT siblings and CPUs that share its L2 cache`.
fn names(places: &[Proximity]) -> String {
    listed(&places.iter().map(|&place| who(place)).collect::<Vec<_>>())
}
