//! The interference matrix in sentences, for somebody who has to place a job.

use crate::style::{capital, listed, plain};
use crate::units::{micros, micros_up};
use anechoic_analyze::Interference;
use anechoic_analyze::interference::{ClassCost, Cost, Proximity};

/// A cost below this part of the cost on the interrupted CPU does not matter for placement.
const SMALL: f64 = 0.02;

/// Returns a cost if it differs from 0, else its upper limit; nothing if that is unknown.
pub(crate) fn cost(cost: &Cost) -> Option<String> {
    let interval = cost.interval?;
    Some(if cost.differs {
        micros(cost.per_interrupt_ns)
    } else {
        format!("<{}", micros_up(interval.high))
    })
}

/// Names the distance of two CPUs in a table.
pub(crate) fn place(place: Proximity) -> &'static str {
    match place {
        Proximity::SameThread => "same CPU",
        Proximity::SmtSibling => "SMT sibling",
        Proximity::SharedL2 => "shared L2",
        Proximity::SharedL3 => "shared L3",
        Proximity::SameSocket => "same socket",
        Proximity::OtherSocket => "other socket",
        Proximity::Unknown => "unknown",
    }
}

/// Names the CPUs at a distance in a sentence.
fn who(place: Proximity) -> &'static str {
    match place {
        Proximity::SameThread => "the CPU itself",
        Proximity::SmtSibling => "its SMT siblings",
        Proximity::SharedL2 => "CPUs that share its L2 cache",
        Proximity::SharedL3 => "CPUs that share its L3 cache",
        Proximity::SameSocket => "other CPUs of its socket",
        Proximity::OtherSocket => "CPUs of other sockets",
        Proximity::Unknown => "CPUs at unknown distance",
    }
}

/// States who is slowed down by how much, and where to place a job.
pub(crate) fn sentences(found: &Interference) -> String {
    if found.classes.is_empty() {
        return "This recording does not show what an interrupt costs another CPU.".into();
    }
    let places =
        || Proximity::ALL.into_iter().filter(|&place| classes_at(found, place).next().is_some());
    let own =
        classes_at(found, Proximity::SameThread).map(|class| class.mean_ns).fold(0.0, f64::max);
    let mut texts: Vec<String> = vec![];
    texts.extend(itself(found));
    let (mut near, mut trifles, mut free, mut unknown) = (vec![], vec![], vec![], vec![]);
    for place in places().filter(|&place| place != Proximity::SameThread) {
        let worst = felt(found, place).map(|class| class.mean_ns).fold(0.0, f64::max);
        match limit(found, &[place]) {
            None => unknown.push(place),
            Some(_) if worst <= 0.0 => free.push(place),
            Some(limit) if limit < SMALL * own => trifles.push(place),
            Some(_) => near.push(place),
        }
    }
    for &place in &near {
        texts.push(felt_by(found, place));
        texts.extend(like_siblings(found, place).map(str::to_owned));
    }
    if let Some(most) = limit(found, &trifles) {
        let most = micros_up(most);
        texts.push(format!(
            "On {} it costs at most {most} µs, which is negligible.",
            names(&trifles)
        ));
    }
    let missed = limit(found, &free);
    if let Some(high) = missed {
        let limit = micros_up(high);
        texts.push(format!("On {} no cost was found (limit {limit} µs).", names(&free)));
    }
    if !unknown.is_empty() {
        texts.push(format!("What it costs on {} is not known.", names(&unknown)));
    }
    let small = missed.is_none_or(|high| high < SMALL * own);
    let known = unknown.is_empty() && small;
    if places().any(|place| place != Proximity::SameThread) {
        texts.extend(advice(&near, known));
    }
    texts.join(" ")
}

/// Returns the largest cost at these distances that the intervals allow; nothing if one of them has none.
fn limit(found: &Interference, places: &[Proximity]) -> Option<f64> {
    let classes = places.iter().flat_map(|&place| classes_at(found, place));
    let ends = classes.map(|class| Some(class.interval?.high));
    ends.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

/// Returns the classes at a distance.
fn classes_at(found: &Interference, place: Proximity) -> impl Iterator<Item = &ClassCost> {
    found.classes.iter().filter(move |class| class.place == place)
}

/// Returns the classes with a cost above 0.
fn felt(found: &Interference, place: Proximity) -> impl Iterator<Item = &ClassCost> {
    classes_at(found, place).filter(|class| class.differs() && class.mean_ns > 0.0)
}

/// States the cost on the interrupted CPU.
fn itself(found: &Interference) -> Option<String> {
    let costs: Vec<f64> =
        classes_at(found, Proximity::SameThread).map(|class| class.mean_ns).collect();
    let low = costs.iter().copied().reduce(f64::min)?;
    let high = costs.iter().copied().fold(low, f64::max);
    let [a, b] = [low, high].map(micros);
    let costs = if a == b { a } else { format!("{a}–{b}") };
    Some(format!("An interrupt costs {costs} µs on the CPU that takes it."))
}

/// States the cost at a distance: `Its SMT siblings are slowed down too: intadd by 1.06 µs, intdiv not.`
fn felt_by(found: &Interference, place: Proximity) -> String {
    let kernels = classes_at(found, place).map(|class| {
        let kernel = plain(&class.kernel);
        if class.differs() && class.mean_ns > 0.0 {
            format!("{kernel} by {} µs", micros(class.mean_ns))
        } else {
            format!("{kernel} not")
        }
    });
    let kernels: Vec<String> = kernels.collect();
    format!("{} are slowed down too: {}.", capital(who(place)), kernels.join(", "))
}

/// Points out CPUs that slow each other down as SMT siblings do, which a hypervisor may hide from its guest: most for
/// kernels that use most of the core (Radojković 2008: 6.5, 1.2 and 0.8 µs at 1, 11 and 72 cycles per instruction).
fn like_siblings(found: &Interference, place: Proximity) -> Option<&'static str> {
    const MORE: f64 = 2.0;
    if found.run.hypervisor.is_none() || place == Proximity::SmtSibling {
        return None;
    }
    let costs = classes_at(found, place)
        .filter_map(|class| Some((cycles_per_instruction(found, &class.kernel)?, class.mean_ns)));
    let mut costs: Vec<(f64, f64)> = costs.collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (fast, slow) = (costs.first()?, costs.last()?);
    let alike = fast.0 < slow.0 && fast.1 > MORE * slow.1.max(0.0);
    alike.then_some(
        "Kernels that use more of the core are slowed down more; SMT siblings, which a hypervisor may not report, would \
         show the same pattern.",
    )
}

fn cycles_per_instruction(found: &Interference, kernel: &str) -> Option<f64> {
    found.kernels.iter().find(|pace| pace.kernel == kernel)?.cycles_per_instruction
}

/// Advises where to place a job. What was not found may have been missed: only `settled` limits are small.
fn advice(near: &[Proximity], settled: bool) -> Option<String> {
    let apart = "Keep interrupts off the CPU of your job";
    match (near, settled) {
        ([], false) => Some(format!("{apart}; whether other CPUs matter is not settled.")),
        ([], true) => Some(format!("{apart}; on other CPUs they cost no more than stated here.")),
        (near, _) => Some(format!("{apart}, and off {}.", names(near))),
    }
}

/// Lists the CPUs at these distances: `its SMT siblings and CPUs that share its L2 cache`.
fn names(places: &[Proximity]) -> String {
    listed(&places.iter().map(|&place| who(place)).collect::<Vec<_>>())
}
