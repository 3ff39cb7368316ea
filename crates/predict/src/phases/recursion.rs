//! The best estimate: ranks replay the recorded timelines, phase after phase.

use super::bins::bin_of;
use super::delays::Delays;
use super::fold::Fold;
use super::index::shift_for;
use super::offsets::Offsets;
use super::peaks::Peaks;
use super::timeline::{Host, Timeline};
use anechoic_analyze::threads::in_order;
use anechoic_recording::Problem;
use rand::{Rng, RngExt};

/// Largest number of blocks of a window whose longest delays are known.
const BLOCKS: u64 = 1 << 18;
/// With more detours on all CPUs, only a sample of starts is played, and those with the longest delays.
pub(super) const MOST_DETOURS: u64 = 3_000_000;
/// Cost of looking up a peak, in steps.
const PEAK: u64 = 4;
/// Cost of asking one CPU for its delay, in steps.
const DELAY: u64 = 8;

/// The delays of some hosts' CPUs at one grain, and the places of the longest.
#[derive(Debug, Clone)]
pub struct Tables {
    grain_ns: u64,
    hosts: Vec<HostTable>,
    cpus: u64,
    longest_ns: u64,
}

/// The delays of the CPUs of one host, on their common clock.
#[derive(Debug, Clone)]
struct HostTable {
    length_ns: u64,
    cpus: Vec<Delays>,
    /// The bin of the longest delay in each block of the window.
    ceilings: Vec<u16>,
    /// The length of a block is two to this power.
    shift: u32,
    peaks: Peaks,
    /// Whether starts are sampled, so that blocks have no limits.
    folded: bool,
}

impl Tables {
    /// Computes the delays for these hosts. No timeline may consist of detours only, and the grain must be above 0.
    ///
    /// # Errors
    ///
    /// A recording can no longer be read.
    pub fn new(hosts: &[Host], grain_ns: u64) -> Result<Self, Problem> {
        Self::bounded(hosts, grain_ns, MOST_DETOURS)
    }

    /// Computes the delays with about `most` detours. With more, the starts in 1,024 stretches over the whole window
    /// represent the others, except those with the longest delays.
    ///
    /// # Errors
    ///
    /// A recording can no longer be read.
    pub fn bounded(hosts: &[Host], grain_ns: u64, most: u64) -> Result<Self, Problem> {
        let all: Vec<(u64, &Timeline)> = hosts
            .iter()
            .flat_map(|host| host.cpus().iter().map(|(_, cpu)| (host.length_ns(), cpu)))
            .collect();
        let share = share(hosts, most);
        let delays = in_order(all.len(), |at| {
            let (length_ns, cpu) = all[at];
            Delays::folded(cpu, grain_ns, Fold::new(length_ns, share))
        });
        let (mut delays, mut tables) = (delays.into_iter(), vec![]);
        for host in hosts {
            let cpus = delays.by_ref().take(host.cpus().len()).collect::<Result<Vec<_>, _>>()?;
            tables.push(HostTable::new(cpus));
        }
        Ok(Self {
            grain_ns,
            hosts: tables,
            cpus: (all.len() as u64).max(1),
            longest_ns: hosts.iter().map(Host::length_ns).max().unwrap_or(0),
        })
    }

    /// Returns the free time of a phase.
    #[must_use]
    pub fn grain_ns(&self) -> u64 {
        self.grain_ns
    }

    /// Returns the length of the longest window.
    #[must_use]
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// Returns the number of recorded CPUs.
    #[must_use]
    pub fn cpus(&self) -> u64 {
        self.cpus
    }

    /// Returns the number of copies of the recorded hosts that this many ranks fill.
    #[must_use]
    pub fn copies(&self, ranks: u64) -> f64 {
        ranks as f64 / self.cpus as f64
    }

    /// Returns about how many steps one phase takes.
    #[must_use]
    pub fn steps(&self, ranks: u64) -> u64 {
        let copies = ranks / self.cpus;
        self.hosts.iter().map(|host| host.steps(copies)).fold(0, u64::saturating_add)
    }
}

/// Returns the share of starts that is played for about `most` detours, at most 1.
pub(super) fn share(hosts: &[Host], most: u64) -> f64 {
    let detours: u64 = hosts.iter().flat_map(Host::cpus).map(|(_, cpu)| cpu.count()).sum();
    (most as f64 / detours.max(1) as f64).min(1.0)
}

impl HostTable {
    /// Returns about how many steps one phase takes on this many copies of the host.
    fn steps(&self, copies: u64) -> u64 {
        let by_peaks = self.peaks_until_one(copies).map(|peaks| PEAK * peaks as u64);
        let asked = DELAY * self.cpus.len() as u64;
        let each = if self.folded { asked } else { 1 };
        let one_by_one = copies.saturating_mul(each);
        by_peaks.map_or(one_by_one, |peaks| peaks.min(one_by_one)) + asked
    }

    fn new(cpus: Vec<Delays>) -> Self {
        let length_ns = cpus.first().map_or(1, Delays::length_ns);
        let shift = shift_for(length_ns, BLOCKS);
        let mut ceilings = vec![0; (length_ns >> shift) as usize + 1];
        for (piece, piece_ns) in cpus.iter().flat_map(Delays::pieces) {
            let mut from_ns = piece.start_ns;
            while from_ns < piece.start_ns + piece_ns {
                let block = from_ns >> shift;
                let delay_ns = piece.after(from_ns - piece.start_ns);
                let ceiling = &mut ceilings[block as usize];
                *ceiling = (*ceiling).max(bin(delay_ns));
                from_ns = (block + 1) << shift;
            }
        }
        let folded = cpus.iter().any(Delays::is_folded);
        if folded {
            ceilings.fill(u16::MAX);
        }
        let peaks = Peaks::from_cpus(cpus.iter().map(Delays::peaks));
        Self { length_ns, cpus, ceilings, shift, peaks, folded }
    }

    /// Returns how many peaks are examined on average until one contains one of this many ranks; absent if that is not
    /// certain.
    fn peaks_until_one(&self, copies: u64) -> Option<usize> {
        let wanted_ns = 3.0 * self.length_ns as f64 / copies as f64;
        let mut covered_ns = 0.0;
        let place = self.peaks.as_slice().iter().position(|peak| {
            covered_ns += peak.length_ns as f64;
            covered_ns >= wanted_ns
        })?;
        Some(place / 3 + 1)
    }

    /// Returns the longest delay of the host's CPUs for a start at an instant of the window.
    #[inline]
    fn at(&self, start_ns: u64) -> u64 {
        self.cpus.iter().map(|cpu| cpu.at(start_ns)).max().unwrap_or(0)
    }
}

/// Returns the bin of a delay; there are fewer than 2^16.
#[inline]
fn bin(delay_ns: u64) -> u16 {
    bin_of(delay_ns) as u16
}

/// A bulk-synchronous job: all ranks compute, and continue when the last is done.
///
/// The CPUs of a host, with one rank each, share their recorded clock; hosts have independent random offsets. Timelines
/// repeat at their end.
///
/// A phase takes as long as the longest delay of its ranks, whose starts keep their distances in every phase. With many
/// ranks, one is soon found where delays are longest; with few, they are asked one by one, most of them only for the
/// longest delay in the block of time that contains their start.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    groups: Vec<Group<'a>>,
    grain_ns: u64,
    now_ns: u64,
}

/// The ranks on copies of one recorded host.
#[derive(Debug, Clone)]
struct Group<'a> {
    table: &'a HostTable,
    /// Offsets of the copies of the whole host in the window.
    whole: Offsets,
    by_peaks: bool,
    /// The CPUs of the last, incomplete copy, and its offset.
    rest: Vec<&'a Delays>,
    rest_ns: u64,
}

impl<'a> Job<'a> {
    /// Distributes `ranks` over copies of the recorded hosts, one rank per CPU. If their number is not a multiple of
    /// the recorded CPUs, the rest are on the CPUs that follow the `first_cpu`th of all.
    #[must_use]
    pub fn new(tables: &'a Tables, ranks: u64, first_cpu: u64, random: &mut impl Rng) -> Self {
        let cpus = tables.cpus;
        let (each, rest) = (ranks / cpus, ranks % cpus);
        let mut number = 0;
        let mut group = |table: &'a HostTable| {
            let mut is_rest = || {
                number += 1;
                (number - 1 + cpus - first_cpu % cpus) % cpus < rest
            };
            let rest: Vec<&Delays> = table.cpus.iter().filter(|_| is_rest()).collect();
            let rest_ns = random.random_range(0..table.length_ns.max(1));
            let whole = Offsets::draw(each, table.length_ns, random);
            Group { rest, rest_ns, ..Group::new(table, whole) }
        };
        let groups = tables.hosts.iter().map(&mut group).collect();
        Self { groups, grain_ns: tables.grain_ns, now_ns: 0 }
    }

    /// Returns a job on copies of the recorded hosts with these offsets in their windows, host by host, sorted by
    /// offset.
    #[must_use]
    pub fn starting_at(tables: &'a Tables, starts_ns: &[Vec<u64>]) -> Self {
        let group = |(table, starts_ns): (&'a HostTable, &Vec<u64>)| {
            Group::new(table, Offsets::from_sorted(starts_ns.clone(), table.length_ns))
        };
        let groups = tables.hosts.iter().zip(starts_ns).map(group).collect();
        Self { groups, grain_ns: tables.grain_ns, now_ns: 0 }
    }

    /// Plays one phase and returns its duration in ns.
    pub fn phase(&mut self) -> u64 {
        let now_ns = self.now_ns;
        let delay_ns = self.groups.iter().map(|group| group.longest_ns(now_ns)).max().unwrap_or(0);
        let took_ns = self.grain_ns + delay_ns;
        self.now_ns += took_ns;
        took_ns
    }
}

impl<'a> Group<'a> {
    fn new(table: &'a HostTable, whole: Offsets) -> Self {
        let copies = whole.ns().len() as u64;
        let peaks = table.peaks_until_one(copies).map(|peaks| PEAK * peaks as u64);
        let by_peaks = peaks.is_some_and(|peaks| peaks < copies);
        Self { table, whole, by_peaks, rest: vec![], rest_ns: 0 }
    }

    /// Returns the longest delay of these ranks in a phase that starts at `now_ns` of the job's time.
    fn longest_ns(&self, now_ns: u64) -> u64 {
        let length_ns = self.table.length_ns;
        let shift_ns = now_ns % length_ns;
        let rest_ns = (shift_ns + self.rest_ns) % length_ns;
        let longest_ns = self.rest.iter().map(|cpu| cpu.at(rest_ns)).max().unwrap_or(0);
        match (self.whole.ns().is_empty(), self.by_peaks) {
            (true, _) => longest_ns,
            (false, true) => self.by_peaks(shift_ns, longest_ns),
            (false, false) => self.one_by_one(shift_ns, longest_ns),
        }
    }

    /// Looks for ranks at the longest delays.
    fn by_peaks(&self, shift_ns: u64, mut longest_ns: u64) -> u64 {
        let length_ns = self.table.length_ns;
        for peak in self.table.peaks.as_slice() {
            if peak.delay_ns <= longest_ns {
                return longest_ns;
            }
            let back_ns = if peak.start_ns < shift_ns { length_ns } else { 0 };
            let ahead_ns = self.whole.distance_ns(peak.start_ns + back_ns - shift_ns);
            if ahead_ns < peak.length_ns {
                longest_ns = longest_ns.max(peak.after(ahead_ns));
            }
        }
        match longest_ns >= self.table.peaks.others_ns() {
            true => longest_ns,
            false => self.one_by_one(shift_ns, longest_ns),
        }
    }

    /// Asks every rank that starts in a block with longer delays.
    fn one_by_one(&self, shift_ns: u64, mut longest_ns: u64) -> u64 {
        let table = self.table;
        let most_ns = table.peaks.longest_ns();
        let mut floor = bin(longest_ns);
        for &offset_ns in self.whole.ns() {
            let at_ns = shift_ns + offset_ns;
            let start_ns = if at_ns >= table.length_ns { at_ns - table.length_ns } else { at_ns };
            let ceiling = table.ceilings[(start_ns >> table.shift) as usize];
            // No delay is the bin of 0.
            if ceiling >= floor && ceiling > 0 {
                longest_ns = longest_ns.max(table.at(start_ns));
                floor = bin(longest_ns);
                if longest_ns >= most_ns {
                    return longest_ns;
                }
            }
        }
        longest_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::Span;
    use crate::phases::peaks::Peak;
    use crate::phases::walked_tests::{Walked, random_detours};
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    #[test]
    fn the_share_of_starts_is_that_of_the_detours_that_are_played() {
        let cpu = |detours: u64| {
            let spans =
                (0..detours).map(|at| Span { start_ns: 1_000 * at, end_ns: 1_000 * at + 10 });
            Timeline::new(1_000_000, spans.collect())
        };
        let host = |counts: [u64; 2]| {
            let cpus = (0..).zip(counts.map(cpu)).collect();
            Host::new("host".into(), cpus).expect("one window")
        };
        let hosts = [host([100, 20]), host([30, 10])];
        for (most, expected) in [(40, 0.25), (159, 159.0 / 160.0), (160, 1.0), (1_000, 1.0)] {
            assert_eq!(share(&hosts, most), expected, "{most} detours");
        }
        assert_eq!(share(&[host([0, 0])], 40), 1.0, "nothing to leave out");
    }

    #[test]
    fn as_many_peaks_are_examined_as_a_third_of_those_that_cover_three_ranks() {
        // Nine peaks cover 90 of 1,000 ns.
        let mut peaks = Peaks::new(1);
        for at in 0..9 {
            peaks.add(Peak { delay_ns: 100 - at, start_ns: 100 * at, length_ns: 10, falls: false });
        }
        let peaks = peaks.sorted(None);
        let (cpus, ceilings) = (vec![], vec![]);
        let table = HostTable { length_ns: 1_000, cpus, ceilings, shift: 0, peaks, folded: false };
        // A copy has one rank in 1,000 ns: three ranks of 100 copies lie in 30 ns, of 34 copies in 88 ns.
        for (copies, expected) in
            [(1_000, Some(1)), (100, Some(1)), (50, Some(2)), (34, Some(3)), (33, None)]
        {
            assert_eq!(table.peaks_until_one(copies), expected, "{copies} copies");
        }
    }

    /// 5,000 detours, each 1 ns longer than the one before. Fewer peaks are kept: a rank at one that is not is asked.
    #[test]
    fn a_delay_that_is_no_peak_is_found_too() {
        let start_ns = |at: u64| 10_000 * at + 5_000;
        let detour = |at| Span { start_ns: start_ns(at), end_ns: start_ns(at) + 1_000 + at };
        let cpu = Timeline::new(60_000_000, (0..5_000).map(detour).collect());
        let host = Host::new("host".into(), vec![(0, cpu)]).expect("one window");
        let tables = Tables::new(&[host], 1_000).expect("nothing to read");
        let table = &tables.hosts[0];
        for at in [0, 1, 2_500, 4_999] {
            let peak = table.peaks.as_slice().iter().any(|peak| peak.delay_ns == 1_000 + at);
            assert_eq!(peak, at == 4_999, "{at}: {} peaks", table.peaks.as_slice().len());
            let whole = Offsets::from_sorted(vec![start_ns(at) - 10], table.length_ns);
            let group = Group { by_peaks: true, ..Group::new(table, whole) };
            assert_eq!(group.longest_ns(0), 1_000 + at, "{at}");
        }
    }

    /// Returns two hosts, of one and of three CPUs.
    fn random_hosts(random: &mut Pcg64Mcg) -> Vec<Host> {
        let mut host = |cpus: u32| {
            let length_ns = random.random_range(20..100);
            let cpus = (0..cpus).map(|cpu| (cpu, random_detours(length_ns, random))).collect();
            Host::new("host".into(), cpus).expect("one window")
        };
        vec![host(1), host(3)]
    }

    /// Returns the longest delay by walking of ranks on all CPUs of a host, which start at these instants of its window.
    fn walked(host: &Host, starts_ns: impl Iterator<Item = u64>, grain_ns: u64) -> u64 {
        let cpus: Vec<Walked> = host.cpus().iter().map(|(_, cpu)| Walked::new(cpu)).collect();
        let delay = |start: u64| {
            let at = start % host.length_ns();
            cpus.iter().map(|cpu| cpu.delay_ns(at, grain_ns)).max().unwrap_or(0)
        };
        starts_ns.map(delay).max().unwrap_or(0)
    }

    /// Whether ranks are asked one by one or looked for at the longest delays.
    #[test]
    fn a_phase_takes_as_long_as_its_slowest_rank_does_by_walking() {
        let mut random = Pcg64Mcg::seed_from_u64(26);
        for trial in 0..300 {
            let hosts = random_hosts(&mut random);
            let grain_ns = random.random_range(1..150);
            let tables = Tables::new(&hosts, grain_ns).expect("nothing to read");
            let mut starts_of = |host: &Host| {
                let mut start = |_| random.random_range(0..host.length_ns());
                let mut starts: Vec<u64> = (0..trial % 9).map(&mut start).collect();
                starts.sort_unstable();
                starts
            };
            let starts: Vec<Vec<u64>> = hosts.iter().map(&mut starts_of).collect();
            for by_peaks in [true, false] {
                let mut job = Job::starting_at(&tables, &starts);
                job.groups.iter_mut().for_each(|group| group.by_peaks = by_peaks);
                let mut now_ns = 0;
                for phase in 0..5 {
                    let delays = hosts.iter().zip(&starts).map(|(host, starts)| {
                        walked(host, starts.iter().map(|start| now_ns + start), grain_ns)
                    });
                    let expected = grain_ns + delays.max().unwrap_or(0);
                    let found = job.phase();
                    assert_eq!(found, expected, "{trial}, phase {phase}: {hosts:?}, {starts:?}");
                    now_ns += found;
                }
            }
            for (table, host) in tables.hosts.iter().zip(&hosts) {
                let mut ceilings = vec![0; table.ceilings.len()];
                for start in 0..host.length_ns() {
                    let delay = walked(host, std::iter::once(start), grain_ns);
                    let ceiling = &mut ceilings[(start >> table.shift) as usize];
                    *ceiling = (*ceiling).max(bin_of(delay) as u16);
                }
                assert_eq!(table.ceilings, ceilings, "{trial}: {host:?}");
            }
        }
    }

    /// Four CPUs: each copy of both hosts has four ranks, and the rest are on the CPUs from the first one on.
    #[test]
    fn ranks_are_on_whole_copies_and_the_rest_on_the_next_cpus() {
        let mut random = Pcg64Mcg::seed_from_u64(27);
        let hosts = random_hosts(&mut random);
        let tables = Tables::new(&hosts, 5).expect("nothing to read");
        assert_eq!((tables.cpus(), tables.copies(6), tables.grain_ns()), (4, 1.5, 5));
        let longest_ns = hosts.iter().map(Host::length_ns).max();
        assert_eq!(Some(tables.longest_ns()), longest_ns);
        for (ranks, first, rest) in [
            (4, 0, [false; 4]),
            (5, 0, [true, false, false, false]),
            (6, 1, [false, true, true, false]),
            (11, 3, [true, true, false, true]),
            (3, 6, [true, false, true, true]),
        ] {
            let mut job = Job::new(&tables, ranks, first, &mut random);
            let mut found = vec![];
            for (group, table) in job.groups.iter().zip(&tables.hosts) {
                let is_rest = |cpu: &Delays| group.rest.iter().any(|rest| std::ptr::eq(*rest, cpu));
                found.extend(table.cpus.iter().map(is_rest));
                assert_eq!(group.whole.ns().len() as u64, ranks / 4, "{ranks} ranks");
                assert!(group.rest_ns < table.length_ns);
            }
            assert_eq!(found, rest, "{ranks} ranks from CPU {first} on");
            let mut now_ns = 0;
            for _ in 0..20 {
                let mut longest_ns = 0;
                for (host, group) in hosts.iter().zip(&job.groups) {
                    let copies = group.whole.ns().iter().map(|offset| now_ns + offset);
                    longest_ns = longest_ns.max(walked(host, copies, 5));
                    let at = (now_ns + group.rest_ns) % host.length_ns();
                    let of_rest = group.rest.iter().map(|cpu| cpu.at(at)).max();
                    longest_ns = longest_ns.max(of_rest.unwrap_or(0));
                }
                let found = job.phase();
                assert_eq!(found, 5 + longest_ns, "{ranks} ranks at {now_ns}");
                now_ns += found;
            }
        }
    }

    /// Eight steps to ask a CPU, four for each peak, and one for each copy that is asked for the block it starts in.
    #[test]
    fn steps_are_those_of_the_cheaper_way() {
        let cpu = |detours: u64| {
            let detour = |at| Span { start_ns: 100 * at, end_ns: 100 * at + 10 };
            Timeline::new(10_000, (0..detours).map(detour).collect())
        };
        let host = |cpus: Vec<Timeline>| {
            Host::new("host".into(), (0..).zip(cpus).collect()).expect("one window")
        };
        let quiet = Tables::new(&[host(vec![cpu(0), cpu(0)])], 50).expect("nothing to read");
        assert_eq!([quiet.steps(0), quiet.steps(21), quiet.steps(2_000)], [16, 26, 1_016]);
        // The longest 5 of 100 pieces of 10 ns, in which the delay falls, cover 3 · 10,000 ns / 600.
        let noisy = Tables::new(&[host(vec![cpu(100)])], 50).expect("nothing to read");
        let peaks = noisy.hosts[0].peaks_until_one(600).expect("enough peaks") as u64;
        assert_eq!(noisy.steps(600), 4 * peaks + 8);
        assert!(peaks > 0 && 4 * peaks < 600, "{peaks}");
        assert_eq!(noisy.steps(5), 5 + 8, "too few copies to be found at a peak");
        let both = Tables::new(&[host(vec![cpu(0), cpu(0)]), host(vec![cpu(0)])], 50);
        assert_eq!(both.expect("nothing to read").steps(30), 10 + 16 + 10 + 8);
    }
}
