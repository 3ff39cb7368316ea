use super::*;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// Ten seconds in blocks of 200 ms.
const WALL_NS: f64 = 1e10;
const BLOCKS: usize = 50;
/// A stall.
const STALL_NS: f64 = 1e8;

/// Returns a member that lost this in its blocks. Its lower bound protects it from nothing.
fn member(blocks: Vec<f64>) -> Looked<'static> {
    let noise = blocks.iter().sum::<f64>() / WALL_NS;
    Looked { class: "a", noise, low: noise, least: 1e-9, wall_ns: WALL_NS, blocks }
}

/// Returns members of steady noise.
fn steady(noise: &[f64]) -> Vec<Looked<'static>> {
    noise.iter().map(|noise| member(vec![noise * WALL_NS / BLOCKS as f64; BLOCKS])).collect()
}

fn found(members: &[Looked<'_>]) -> Vec<usize> {
    judge(members).0.iter().map(|verdict| verdict.index).collect()
}

/// Of about 1 %, spread by a tenth.
const TWELVE: [f64; 12] = [
    0.0090, 0.0110, 0.0100, 0.0095, 0.0105, 0.0092, 0.0108, 0.0098, 0.0102, 0.0097, 0.0103, 0.0112,
];

#[test]
fn who_is_an_outlier() {
    let with = |more: &[f64]| [&TWELVE[..], more].concat();
    let cases: [(&str, Vec<f64>, &[usize]); 10] = [
        ("none", with(&[]), &[]),
        ("one nine times as noisy", with(&[0.09]), &[12]),
        ("two would hide each other from a mean", with(&[0.09, 0.08]), &[12, 13]),
        ("a quieter one is none", with(&[0.0001]), &[]),
        ("without any detour", with(&[0.0]), &[]),
        ("two are too few", vec![0.01, 0.9], &[]),
        ("seven are too few", [vec![0.01; 6], vec![0.9]].concat(), &[]),
        ("all equal but one", [vec![0.01; 11], vec![0.05]].concat(), &[11]),
        ("by a hair", [vec![0.01; 11], vec![0.0101]].concat(), &[]),
        ("all quiet but one", [vec![0.0; 11], vec![0.01]].concat(), &[11]),
    ];
    for (name, noise, expected) in cases {
        assert_eq!(found(&steady(&noise)), expected, "case: {name}");
    }
    assert_eq!(judge(&[]), (vec![], vec![]));
    let unknown = Looked { low: 0.0, ..steady(&[0.09]).remove(0) };
    assert!(found(&[&steady(&TWELVE)[..], &[unknown]].concat()).is_empty(), "no lower bound");
    let older = Looked { blocks: vec![], ..steady(&[0.09]).remove(0) };
    assert!(found(&[&steady(&TWELVE)[..], &[older]].concat()).is_empty(), "no blocks");
}

/// Steady noise a tenth over that of the others is no outlier, and stalls that take more do not make it one.
#[test]
fn stalls_do_not_raise_the_noise_beside_them() {
    let steady = |noise: f64| vec![noise * WALL_NS / BLOCKS as f64; BLOCKS];
    for (noise, expected) in [(0.00011, false), (0.0005, true)] {
        for stalls in 0..4 {
            let mut noisy = steady(noise);
            (0..stalls).for_each(|stall| noisy[12 * stall] += STALL_NS);
            let mut members = vec![member(steady(0.0001)); 11];
            members.push(member(noisy));
            assert_eq!(found(&members) == [11], expected, "{noise} with {stalls} stalls");
        }
    }
}

/// Eleven members and one that has long detours, which begin in these blocks.
#[test]
fn few_long_detours_make_no_noisy_member() {
    let blocks = |noise: f64| vec![noise * WALL_NS / BLOCKS as f64; BLOCKS];
    let apart = |count: usize| (0..count).map(|at| 5 * at).collect::<Vec<_>>();
    let cases = [
        ("one", apart(1), false),
        ("two", apart(2), false),
        ("three", apart(3), false),
        ("nine", apart(9), true),
        ("many at one time", (20..32).collect(), false),
        ("in most of the run", (10..40).collect(), true),
    ];
    for (noise, (name, places, expected)) in
        [0.0, 0.001].iter().flat_map(|noise| cases.iter().map(move |case| (*noise, case)))
    {
        let mut noisy = blocks(noise);
        places.iter().for_each(|&at| noisy[at] += STALL_NS);
        let mut members = vec![member(blocks(noise)); 11];
        members.push(member(noisy));
        assert_eq!(found(&members) == [11], *expected, "case: {name}, others {noise}");
    }
}

#[test]
fn classes_are_judged_apart_and_p_is_for_all_of_them() {
    // A slow class of 3 % beside a fast one of 1 %: neither is an outlier of the other.
    let slow = TWELVE.map(|noise| 3.0 * noise);
    let mut values = steady(&[&TWELVE[..], &slow, &[0.05]].concat());
    values[12..24].iter_mut().for_each(|value| value.class = "slow");
    let (verdicts, classes) = judge(&values);
    let counts: Vec<_> = classes.iter().map(|class| (class.class.as_str(), class.count)).collect();
    assert_eq!(counts, [("a", 13), ("slow", 12)]);
    let [one] = &verdicts[..] else { panic!("{verdicts:?}") };
    assert_eq!((one.index, one.ratio), (24, Some(0.05 / 0.0102)));
    let alone = judge(&[&values[..12], &values[24..]].concat()).0[0].p;
    assert!((one.p / alone - 25.0 / 13.0).abs() < 1e-9, "{} of 13, {} of 25", alone, one.p);
}

/// A source of random numbers.
struct Random {
    uniform: Pcg64Mcg,
    normal: Vec<f64>,
}

impl Random {
    fn new(seed: u64) -> Self {
        let mut uniform = Pcg64Mcg::seed_from_u64(seed);
        let mut normal = || {
            let (u, v): (f64, f64) = (uniform.random_range(f64::EPSILON..1.0), uniform.random());
            (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
        };
        let normal = (0..1 << 16).map(|_| normal()).collect();
        Self { uniform, normal }
    }

    fn exponential(&mut self) -> f64 {
        -self.uniform.random_range(f64::EPSILON..1.0).ln()
    }

    /// Returns a random number of events whose mean is `expected`.
    fn poisson(&mut self, expected: f64) -> usize {
        let (mut count, mut at) = (0, self.exponential());
        while at < expected {
            count += 1;
            at += self.exponential();
        }
        count
    }

    /// Returns a host with this number of stalls. Its background has about 2,500 detours of 4 µs.
    fn host(&mut self, stalls: usize, lengths: Lengths, background: f64) -> Looked<'static> {
        let first = self.uniform.random_range(0..self.normal.len() - BLOCKS);
        // 50 detours in a block, and their spread if they come by chance.
        let block = |normal: &f64| background * 4e3 * (50.0 + 50.0_f64.sqrt() * normal);
        let mut blocks: Vec<f64> =
            self.normal[first..first + BLOCKS].iter().map(block).map(|ns| ns.max(0.0)).collect();
        for _ in 0..stalls {
            let length = match lengths {
                Lengths::Fixed => 1.0,
                Lengths::Exponential => self.exponential(),
                // Of the same mean.
                Lengths::Pareto => self.uniform.random_range(1e-12..1.0_f64).powf(-1.0 / 1.5) / 3.0,
            };
            blocks[self.uniform.random_range(0..BLOCKS)] += length * STALL_NS;
        }
        member(blocks)
    }
}

#[derive(Debug, Clone, Copy)]
enum Lengths {
    Fixed,
    Exponential,
    /// With a shape of 1.5.
    Pareto,
}

const LENGTHS: [Lengths; 3] = [Lengths::Fixed, Lengths::Exponential, Lengths::Pareto];

#[test]
fn chance_alone_makes_no_outlier_of_equal_hosts_with_rare_stalls() {
    let mut random = Random::new(5);
    let (mut alarms, mut all) = (0, 0);
    for (hosts, lengths, background) in [8, 16, 32, 64, 256].into_iter().flat_map(|hosts| {
        LENGTHS
            .into_iter()
            .flat_map(move |lengths| [0.0, 1.0].map(|background| (hosts, lengths, background)))
    }) {
        for expected in [0.0, 0.02, 0.1, 0.3, 1.0] {
            let jobs = (2_400 / hosts).max(30);
            let mut alarm = |_: &usize| {
                let mut host = || {
                    let stalls = random.poisson(expected);
                    random.host(stalls, lengths, background)
                };
                !found(&(0..hosts).map(|_| host()).collect::<Vec<_>>()).is_empty()
            };
            let here = (0..jobs).filter(&mut alarm).count();
            let limit = ALPHA + 3.0 * (ALPHA / jobs as f64).sqrt();
            let rate = here as f64 / jobs as f64;
            assert!(rate <= limit, "{hosts} hosts, {expected} stalls, {lengths:?}: {rate}");
            (alarms, all) = (alarms + here, all + jobs);
        }
    }
    let (rate, limit) = (alarms as f64 / all as f64, ALPHA + 3.0 * (ALPHA / all as f64).sqrt());
    assert!(rate <= limit, "{rate} of {all} jobs");
}

#[test]
fn a_host_with_eight_stalls_and_one_of_ten_times_the_noise_are_named() {
    let mut random = Random::new(6);
    for (hosts, lengths) in
        [8, 16, 32, 64].into_iter().flat_map(|hosts| LENGTHS.map(|lengths| (hosts, lengths)))
    {
        for (name, stalls, background, usual) in [
            ("stalls", 8, 1.0, 1.0),
            ("stalls alone", 8, 0.0, 0.0),
            ("steady", 0, 10.0, 1.0),
            // Each stall takes ten times as long as all that the host loses more in its short detours.
            ("steady, and a stall", 1, 1.0, 0.1),
            ("steady, and two stalls", 2, 1.0, 0.1),
            ("steady, and three stalls", 3, 1.0, 0.1),
            ("steady among quiet ones, and three stalls", 3, 1.0, 0.0),
        ] {
            let mut named = |_: &usize| {
                let noisy = random.host(stalls, lengths, background);
                let mut members = vec![noisy];
                for _ in 1..hosts {
                    let stalls = random.poisson(0.1);
                    members.push(random.host(stalls, lengths, usual));
                }
                found(&members).contains(&0)
            };
            let share = (0..200).filter(&mut named).count() as f64 / 200.0;
            assert!(share >= 0.95, "{name} on one of {hosts} hosts, {lengths:?}: {share}");
        }
    }
}

/// Hosts that differ more than chance explains, by a log-normal factor.
#[test]
fn chance_alone_makes_no_more_outliers_than_stated() {
    let mut random = Pcg64Mcg::seed_from_u64(11);
    let mut normal = || {
        let (u, v): (f64, f64) = (random.random_range(f64::EPSILON..1.0), random.random());
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    };
    for n in [FEWEST, 9, 16, 64] {
        let runs = 50_000 / n;
        let mut alarm = || {
            let noise: Vec<f64> = (0..n).map(|_| (normal() - 5.0).exp()).collect();
            !found(&steady(&noise)).is_empty()
        };
        let rate = (0..runs).filter(|_| alarm()).count() as f64 / runs as f64;
        let error = (ALPHA / runs as f64).sqrt();
        assert!(rate < ALPHA + 3.0 * error, "{n} equal ones: {rate} of the time");
    }
}

/// Holm's correction by hand: 0.01 × 3, 0.015 × 2, and 0.04 × 1; none below an earlier one, and none above 1.
#[test]
fn p_values_are_corrected_one_after_the_other() {
    let verdict = |index: usize, p: f64| Verdict { index, ratio: None, z: 0.0, p, certain: true };
    let cases: [(&[f64], &[f64]); 3] = [
        (&[0.04, 0.01, 0.015], &[0.03, 0.03, 0.04]),
        (&[0.01, 0.012, 0.013], &[0.03, 0.03, 0.03]),
        (&[0.9, 0.02, 0.8], &[0.06, 1.0, 1.0]),
    ];
    for (given, expected) in cases {
        let mut verdicts: Vec<_> =
            given.iter().enumerate().map(|(at, &p)| verdict(at, p)).collect();
        holm(&mut verdicts);
        let found = verdicts.iter().map(|verdict| verdict.p);
        let near = found.zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12);
        assert!(near, "{given:?}: {verdicts:?}");
    }
}

/// The probability of one of nine members, whose distribution has (9 − 1) / 2 = 4 degrees of freedom, has a closed form.
#[test]
fn p_is_that_of_student_with_half_the_degrees_of_freedom() {
    // Logarithms 0 ± 0.1, ± 0.2, ± 0.3, 0.4 and the far one: the median is 0.1, the deviations have the median 0.2.
    let logs = [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 2.5];
    let noise = logs.map(|log: f64| 0.01 * log.exp());
    let n = 9.0_f64;
    let spread = 1.482_602_218_505_602 * 0.2 * n / (n - 0.8);
    let t = (2.5 - 0.1) / spread / (1.0 + std::f64::consts::PI / (2.0 * n)).sqrt();
    let u = 1.0 + t * t / 4.0;
    let above = 0.5 - 0.375 * t / u.sqrt() * (1.0 - t * t / u / 12.0);
    let members = steady(&noise);
    let all: Vec<&Looked<'_>> = members.iter().collect();
    let middle = Middle::new(&all);
    let verdict = middle.verdict(8, &members[8]).expect("nine are enough");
    assert!((middle.ln_median - (0.01_f64.ln() + 0.1)).abs() < 1e-9);
    assert!((verdict.z - (2.5 - 0.1) / spread).abs() < 1e-9, "{verdict:?}");
    // The largest event is left out: one of 50 blocks over the median.
    let rest = noise[8] - (noise[8] - noise[4]) / 50.0;
    let t_rest = ((rest / 0.01).ln() - 0.1) / (2.5 - 0.1) * t;
    let u = 1.0 + t_rest * t_rest / 4.0;
    let above_rest = 0.5 - 0.375 * t_rest / u.sqrt() * (1.0 - t_rest * t_rest / u / 12.0);
    assert!(above < verdict.p && (verdict.p / above_rest - 1.0).abs() < 1e-6, "{verdict:?}");
}
