//! The reference answer: ranks play the recorded timelines, phase after phase.

use super::timeline::{Host, Timeline};
use rand::Rng;
use rand::RngExt;

/// What a phase looks up: the timelines of some hosts on the axis of free time.
#[derive(Debug, Clone)]
pub struct Tables {
    hosts: Vec<Vec<Table>>,
    cpus: u64,
    longest_ns: u64,
}

/// A timeline on the axis of free time, on which detours are points.
#[derive(Debug, Clone)]
struct Table {
    /// Of each detour where it lies there, and the time in the detours before it; last the window's end.
    points: Vec<Point>,
    length_ns: i64,
}

#[derive(Debug, Clone, Copy)]
struct Point {
    free_ns: i64,
    lost_before_ns: i64,
}

impl Tables {
    /// Those of these hosts. No timeline may be lost as a whole.
    #[must_use]
    pub fn new(hosts: &[Host]) -> Self {
        let tables = |host: &Host| host.cpus().iter().map(|(_, cpu)| Table::new(cpu)).collect();
        Self {
            hosts: hosts.iter().map(tables).collect(),
            cpus: hosts.iter().map(|host| host.cpus().len() as u64).sum::<u64>().max(1),
            longest_ns: hosts.iter().map(Host::length_ns).max().unwrap_or(0),
        }
    }

    /// The longest window.
    #[must_use]
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// How many detours and ranks one phase goes through, at most and about, where a phase lasts `phase_ns`.
    #[must_use]
    pub fn steps(&self, ranks: u64, phase_ns: f64) -> f64 {
        let each = ranks as f64 / self.cpus as f64;
        let of = |table: &Table| {
            let detours = (table.points.len() - 1) as f64;
            // Ranks that stand beside each other share the way through the table.
            (each * detours * phase_ns / table.length_ns.max(1) as f64).min(2.0 * detours)
        };
        ranks as f64 + self.hosts.iter().flatten().map(of).sum::<f64>()
    }
}

impl Table {
    fn new(timeline: &Timeline) -> Self {
        let mut lost_before_ns = 0;
        let mut points = Vec::with_capacity(timeline.detours().len() + 1);
        for detour in timeline.detours() {
            points.push(Point { free_ns: detour.start_ns as i64 - lost_before_ns, lost_before_ns });
            lost_before_ns += detour.length_ns() as i64;
        }
        points.push(Point { free_ns: timeline.free_ns() as i64, lost_before_ns });
        Self { points, length_ns: timeline.length_ns() as i64 }
    }

    fn detours(&self) -> usize {
        self.points.len() - 1
    }

    /// Free time of the window.
    fn free_ns(&self) -> i64 {
        self.points[self.detours()].free_ns
    }

    #[inline]
    fn start_ns(&self, index: usize) -> i64 {
        self.points[index].free_ns + self.points[index].lost_before_ns
    }

    #[inline]
    fn end_ns(&self, index: usize) -> i64 {
        self.points[index].free_ns + self.points[index + 1].lost_before_ns
    }
}

/// A bulk-synchronous job: all ranks compute, and go on when the last is done.
///
/// The CPUs of a host are on their joint, recorded clock, each with one rank; hosts have independent random
/// phases. Timelines begin again at their end.
///
/// Ranks of one CPU of one recorded host stand together, in the order of the place in the window that they have
/// come to. So a phase goes through memory in order, and what it needs of the table is in order too: where a rank
/// begins and ends in the table is never before where the rank before it did. Whatever the number of detours, that
/// makes about one step for each rank and phase.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    groups: Vec<Group<'a>>,
    now_ns: i64,
}

/// The ranks on one recorded CPU, each with the phase of its host.
#[derive(Debug, Clone)]
struct Group<'a> {
    table: &'a Table,
    /// Start of each rank's next detour, in the job's time: all that a phase without a detour looks at.
    next_ns: Vec<i64>,
    /// Where that detour is in the table, and the job's time at the beginning of the window that it lies in.
    places: Vec<Place>,
}

/// A detour in one of the windows that follow each other.
#[derive(Debug, Clone, Copy)]
struct Place {
    window_ns: i64,
    index: usize,
}

impl<'a> Job<'a> {
    /// Spreads `ranks` over copies of the recorded hosts, one rank a CPU. Where they are no multiple of the recorded
    /// CPUs, the rest are on the CPUs that follow the `first_cpu`th of all.
    #[must_use]
    pub fn new(tables: &'a Tables, ranks: u64, first_cpu: u64, random: &mut impl Rng) -> Self {
        let cpus = tables.cpus;
        let (each, rest) = (ranks / cpus, ranks % cpus);
        let now_ns = tables.longest_ns as i64;
        let mut groups = Vec::new();
        let mut number = 0;
        for host in &tables.hosts {
            let length_ns = host.first().map_or(1, |table| table.length_ns.max(1));
            let mut phase = || now_ns - random.random_range(0..length_ns);
            let mut windows: Vec<i64> = (0..each).map(|_| phase()).collect();
            // Those that are furthest in their window last.
            windows.sort_unstable_by(|a, b| b.cmp(a));
            windows.push(phase());
            for table in host {
                let is_rest = (number + cpus - first_cpu % cpus) % cpus < rest;
                number += 1;
                let ranks = windows.len() - usize::from(!is_rest);
                if ranks > 0 && table.detours() > 0 {
                    groups.push(Group::new(table, &windows[..ranks], now_ns));
                }
            }
        }
        Self { groups, now_ns }
    }

    /// One phase of `grain_ns` of free time on every rank. Gives how long it took.
    pub fn phase(&mut self, grain_ns: u64) -> u64 {
        let grain_ns = grain_ns as i64;
        let ends = self.groups.iter_mut().map(|group| group.phase(self.now_ns, grain_ns));
        let end = ends.max().unwrap_or(0).max(self.now_ns + grain_ns);
        let took = end - self.now_ns;
        self.now_ns = end;
        took as u64
    }
}

impl<'a> Group<'a> {
    fn new(table: &'a Table, windows: &[i64], now_ns: i64) -> Self {
        let places: Vec<Place> = windows
            .iter()
            .map(|&window_ns| {
                // The next that is not over. Indices before the window's end are detours.
                let detours = &table.points[1..];
                let over = |point: &Point, before: &Point| {
                    window_ns + before.free_ns + point.lost_before_ns <= now_ns
                };
                let (mut low, mut high) = (0, detours.len());
                while low < high {
                    let middle = (low + high) / 2;
                    if over(&detours[middle], &table.points[middle]) {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                Place { window_ns, index: low }.wrapped(table).0
            })
            .collect();
        let next = |place: &Place| place.window_ns + table.start_ns(place.index);
        Self { table, next_ns: places.iter().map(next).collect(), places }
    }

    /// When the last of the ranks is done that a detour delays; 0 where there is none.
    fn phase(&mut self, now_ns: i64, grain_ns: i64) -> i64 {
        let undisturbed = now_ns + grain_ns;
        let nowhere = Place { window_ns: i64::MIN, index: 0 };
        let (mut begins, mut ends) = (nowhere, nowhere);
        let mut last = 0;
        for (next, place) in self.next_ns.iter_mut().zip(&mut self.places) {
            // Nearly always nothing happens to a rank: its place is not touched.
            if *next >= undisturbed {
                continue;
            }
            begins = place.at_least(begins).not_over(now_ns, self.table);
            let (done, end) = begins.after(now_ns, grain_ns, ends, self.table);
            last = last.max(done);
            *next = end.window_ns + self.table.start_ns(end.index);
            (*place, ends) = (end, end);
        }
        last
    }
}

impl Place {
    /// The next window's first place in the place of this one's end, and whether it was.
    #[inline]
    fn wrapped(self, table: &Table) -> (Self, bool) {
        let wraps = self.index == table.detours();
        let next = Self { window_ns: self.window_ns + table.length_ns, index: 0 };
        (if wraps { next } else { self }, wraps)
    }

    /// This, or the place of a rank that is not further in its window, where that is a later one.
    #[inline]
    fn at_least(self, other: Self) -> Self {
        let index = if self.window_ns <= other.window_ns { other.index } else { 0 };
        Self { index: self.index.max(index), ..self }
    }

    /// The first from here on that is not over.
    #[inline]
    fn not_over(mut self, now_ns: i64, table: &Table) -> Self {
        while self.window_ns + table.end_ns(self.index) <= now_ns {
            self.index += 1;
            self = self.wrapped(table).0;
        }
        self
    }

    /// When a rank that starts at `now_ns` has had `grain_ns` of free time, and its first detour after that. A start
    /// inside a detour waits for its end.
    ///
    /// `self` is the first detour that is not over, and no later place than `hint` is that of a rank that is not
    /// further in its window.
    #[inline]
    fn after(self, now_ns: i64, grain_ns: i64, hint: Self, table: &Table) -> (i64, Self) {
        let point = table.points[self.index];
        // The place in free time stands still during a detour.
        let free = (now_ns - self.window_ns - point.lost_before_ns).min(point.free_ns);
        let mut target = free + grain_ns;
        let mut place = self.at_least(hint);
        while table.points[place.index].free_ns < target {
            place.index += 1;
            let (next, wraps) = place.wrapped(table);
            if wraps {
                target -= table.free_ns();
            }
            place = next;
        }
        (place.window_ns + target + table.points[place.index].lost_before_ns, place)
    }
}
