//! The random order of trials, and the CPUs of a duet.

use anechoic_analyze::compare::Trials;
use anechoic_recording::{Problem, ProblemKind};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

/// Numbers of pairs that can be planned.
pub(super) const PAIRS: RangeInclusive<i64> = 2..=10_000;
/// Seeds that nobody asked for are short enough to be typed.
const SEEDS: u64 = 1_000_000;
/// Fewest pairs of a duet: two unknowns, and some that show the error.
const FEWEST_OF_DUET: u32 = 4;

/// Returns the plan of trials of these commands, one after the other.
pub(super) fn plan(pairs: u32, seed: Option<u64>, commands: [String; 2]) -> Trials {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = seed.unwrap_or(now.as_micros() as u64 % SEEDS);
    let swapped = swapped(pairs, seed);
    Trials {
        commands,
        settings: vec![],
        during: false,
        record: false,
        after: None,
        seed,
        duet: None,
        swapped,
        complete: vec![],
    }
}

/// Returns for each pair whether it is swapped. Of two pairs that follow each other one is, and which one is random: so
/// both orders are equally frequent, and a steady drift is taken off.
fn swapped(pairs: u32, seed: u64) -> Vec<bool> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let two = (0..pairs.div_ceil(2)).flat_map(|_| {
        let first: bool = random.random();
        [first, !first]
    });
    two.take(pairs as usize).collect()
}

/// Checks a plan that was read: it could have been made here.
///
/// # Errors
/// Returns what is wrong with it.
pub(super) fn verify(trials: &Trials) -> Result<(), String> {
    let pairs = trials.swapped.len();
    if !PAIRS.contains(&(pairs as i64)) {
        return Err(format!("{pairs} pairs are planned, not {} to {}", PAIRS.start(), PAIRS.end()));
    }
    let Some([first, second]) = &trials.duet else { return Ok(()) };
    let both: BTreeSet<&u32> = first.iter().chain(second).collect();
    if first.is_empty() || first.len() != second.len() || both.len() != 2 * first.len() {
        return Err("the CPUs of a duet are not two halves of equal size".into());
    }
    Ok(())
}

/// Returns the two halves of the CPUs.
///
/// # Errors
/// There are too few pairs or CPUs, or the commands do not use them.
pub(super) fn duet(
    pairs: u32,
    commands: &[String; 2],
    cpus: &[u32],
) -> Result<[Vec<u32>; 2], Problem> {
    let usage = |why: &str, remedy: &str| Err(ProblemKind::Usage.problem(why, remedy));
    if pairs < FEWEST_OF_DUET {
        return usage("a duet needs four pairs", "ask for more with --pairs");
    }
    if cpus.len() < 2 || cpus.len() % 2 == 1 {
        let why =
            format!("a duet needs two CPUs, or two halves of equal size, and has {}", cpus.len());
        return usage(&why, "name an even number with --cpus, for example --cpus 2-3");
    }
    if !commands.iter().any(|command| command.contains("CPUS")) {
        return usage(
            "neither command uses $CPUS, so both would do the same on all CPUs",
            "write $CPUS where a command names CPUs; for a setting of the whole system leave --duet out",
        );
    }
    let (first, second) = cpus.split_at(cpus.len() / 2);
    Ok([first.to_vec(), second.to_vec()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_are_equally_frequent_and_follow_from_the_seed() {
        for pairs in [2, 3, 10, 101] {
            for seed in 0..50 {
                let order = swapped(pairs, seed);
                assert_eq!((order.len(), &order), (pairs as usize, &swapped(pairs, seed)));
                let turned = order.iter().filter(|swapped| **swapped).count() as i64;
                assert!((i64::from(pairs) - 2 * turned).abs() <= 1, "{pairs} pairs, seed {seed}");
                assert!(order.chunks_exact(2).all(|two| two[0] != two[1]), "{order:?}");
            }
        }
    }

    /// Which pair of two is swapped is a fair coin, and no pair depends on the one before.
    #[test]
    fn the_order_is_random() {
        let coins: Vec<bool> = (0..2_000).map(|seed| swapped(2, seed)[0]).collect();
        let heads = coins.iter().filter(|coin| **coin).count();
        assert!((900..1_100).contains(&heads), "{heads} of 2000");
        let order: Vec<bool> = swapped(4_000, 7).chunks_exact(2).map(|two| two[0]).collect();
        let changes = order.windows(2).filter(|two| two[0] != two[1]).count();
        assert!((900..1_100).contains(&changes), "{changes} of 1999");
    }

    #[test]
    fn a_duet_has_two_halves_or_is_refused() {
        type Case<'a> = (&'a str, u32, [String; 2], &'a [u32], Result<[Vec<u32>; 2], &'a str>);
        let commands = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        let cases: [Case<'_>; 6] = [
            ("two", 4, commands("x $CPUS", ""), &[0, 1], Ok([vec![0], vec![1]])),
            ("four", 4, commands("", "x ${CPUS}"), &[2, 3, 6, 7], Ok([vec![2, 3], vec![6, 7]])),
            ("odd", 4, commands("x $CPUS", ""), &[0, 1, 2], Err("equal size, and has 3")),
            ("one", 4, commands("x $CPUS", ""), &[0], Err("has 1")),
            ("few", 3, commands("x $CPUS", ""), &[0, 1], Err("four pairs")),
            ("system", 4, commands("sysctl a=1", "sysctl a=0"), &[0, 1], Err("$CPUS")),
        ];
        for (name, pairs, commands, cpus, expected) in cases {
            match (duet(pairs, &commands, cpus), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "case: {name}"),
                (Err(problem), Err(expected)) => {
                    assert!(problem.why.contains(expected), "case: {name}: {problem}");
                }
                (found, _) => panic!("case: {name}: {found:?}"),
            }
        }
    }
}
