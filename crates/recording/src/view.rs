//! Joins detours with what took their time, one CPU at a time, reading each table once.

use crate::problem::Problem;
use crate::read::Rows;
use crate::recording::Recording;
use crate::rows::{Activity, Detour};
use crate::stint::Stint;

/// A detour of a loop, with its activities.
#[derive(Debug, Clone, Copy)]
pub struct DetourView<'a> {
    /// The CPU.
    pub cpu: u32,
    /// Index of the detour among its CPU's detours in the table, from 0 in time order.
    pub index: u64,
    /// The last counter value before the gap.
    pub start_ticks: u64,
    /// The first counter value after the gap.
    pub end_ticks: u64,
    /// The time that the loop lost, in ticks: the gap less the loop's own iteration or step.
    pub lost_ticks: u64,
    /// Index of its loop among the CPU's stints.
    pub stint: usize,
    /// Its rows of the table `activities`, in order; empty if the recording is not attributed.
    pub activities: &'a [Activity],
}

impl DetourView<'_> {
    /// Returns the length of the whole gap in ticks, including the loop's own iteration.
    #[must_use]
    pub fn gap_ticks(&self) -> u64 {
        self.end_ticks.saturating_sub(self.start_ticks)
    }

    /// Returns when the lost time began: the loop's own iteration comes first in the gap.
    #[must_use]
    pub fn lost_from_ticks(&self) -> u64 {
        self.end_ticks.saturating_sub(self.lost_ticks)
    }
}

/// Activities that belong to none of the detours, because the tables do not match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Strays {
    /// Number of rows.
    pub activities: u64,
    /// Their own time, in ticks.
    pub self_ticks: u64,
}

impl Strays {
    fn add(&mut self, activity: &Activity) {
        self.activities += 1;
        self.self_ticks = self.self_ticks.saturating_add(activity.self_ticks);
    }
}

/// Reads the detours of one CPU with their activities; see [`Recording::detours_of`].
///
/// It keeps one row group of each of the two tables and the activities of one detour in memory. A detour
/// outside all stints belongs to no loop and is skipped.
pub struct JoinedDetours<'a> {
    cpu: u32,
    stints: Vec<Stint>,
    rows: Rows<'a, Detour>,
    group: std::vec::IntoIter<Detour>,
    activities: Option<Activities<'a>>,
    index: u64,
}

impl Recording {
    /// Reads the detours of one CPU whose loops ran in `stints` ([`crate::Loops::by_cpu`]), in time order,
    /// each with its activities.
    #[must_use]
    pub fn detours_of(&self, cpu: u32, stints: &[Stint]) -> JoinedDetours<'_> {
        let activities = Some(Activities::new(self.rows_of_cpu(cpu)));
        JoinedDetours { activities, ..self.bare_detours_of(cpu, stints) }
    }

    /// Reads the detours without activities.
    #[must_use]
    pub fn bare_detours_of(&self, cpu: u32, stints: &[Stint]) -> JoinedDetours<'_> {
        JoinedDetours {
            cpu,
            stints: stints.to_vec(),
            rows: self.rows_of_cpu(cpu),
            group: Vec::new().into_iter(),
            activities: None,
            index: 0,
        }
    }
}

impl JoinedDetours<'_> {
    /// Returns the next detour; `None` after the last.
    ///
    /// # Errors
    /// Fails if a table is damaged; it then returns no more detours.
    pub fn next_detour(&mut self) -> Result<Option<DetourView<'_>>, Problem> {
        let (detour, stint, index) = loop {
            let Some(detour) = self.next_row()? else { return Ok(None) };
            let index = self.index;
            self.index += 1;
            if let Some(stint) = Stint::around(&self.stints, detour.start_ticks, detour.end_ticks) {
                break (detour, stint, index);
            }
        };
        let activities = match &mut self.activities {
            Some(activities) => activities.detour_rows(index)?,
            None => &[],
        };
        let (start_ticks, end_ticks) = (detour.start_ticks, detour.end_ticks);
        Ok(Some(DetourView {
            cpu: self.cpu,
            index,
            start_ticks,
            end_ticks,
            lost_ticks: self.stints[stint].lost_ticks(start_ticks, end_ticks),
            stint,
            activities,
        }))
    }

    /// Returns the number of rows of the table `detours` that were read, including those of no loop.
    #[must_use]
    pub fn rows_read(&self) -> u64 {
        self.index
    }

    /// Reads the remaining activities after the last detour and returns those that belong to no detour.
    ///
    /// # Errors
    /// Fails if the table is damaged.
    pub fn finish(mut self) -> Result<Strays, Problem> {
        let Some(activities) = &mut self.activities else { return Ok(Strays::default()) };
        loop {
            let rest = &activities.buffer[activities.next..];
            rest.iter().for_each(|activity| activities.strays.add(activity));
            activities.next = activities.buffer.len();
            if !activities.refill(activities.next)? {
                return Ok(activities.strays);
            }
        }
    }

    fn next_row(&mut self) -> Result<Option<Detour>, Problem> {
        loop {
            if let Some(detour) = self.group.next() {
                return Ok(Some(detour));
            }
            match self.rows.next() {
                Some(group) => self.group = group?.into_iter(),
                None => return Ok(None),
            }
        }
    }
}

/// The activities of one CPU, grouped by detour.
struct Activities<'a> {
    rows: Rows<'a, Activity>,
    /// The row group in memory, preceded by the last one's rows of the detour that continues in it.
    buffer: Vec<Activity>,
    next: usize,
    strays: Strays,
}

impl<'a> Activities<'a> {
    fn new(rows: Rows<'a, Activity>) -> Self {
        Self { rows, buffer: Vec::new(), next: 0, strays: Strays::default() }
    }

    /// Returns the rows of that detour. Rows of earlier detours that nobody asked for count as strays.
    fn detour_rows(&mut self, index: u64) -> Result<&[Activity], Problem> {
        while self.skip_before(index)? {}
        let mut first = self.next;
        let mut end = first;
        loop {
            let is_of_detour = |activity: &&Activity| activity.detour == index;
            end += self.buffer[end..].iter().take_while(is_of_detour).count();
            if end < self.buffer.len() || !self.refill(first)? {
                break;
            }
            (first, end) = (0, end - first); // the rows before those of this detour are removed
        }
        self.next = end;
        Ok(&self.buffer[first..end])
    }

    /// Skips rows of detours before `index`; returns whether the row group that it then reads may have more
    /// of them.
    fn skip_before(&mut self, index: u64) -> Result<bool, Problem> {
        while let Some(activity) = self.buffer.get(self.next) {
            if activity.detour >= index {
                return Ok(false);
            }
            self.strays.add(activity);
            self.next += 1;
        }
        self.refill(self.next)
    }

    /// Reads the next row group after the rows from `keep` on; returns false after the last.
    fn refill(&mut self, keep: usize) -> Result<bool, Problem> {
        let Some(group) = self.rows.next().transpose()? else { return Ok(false) };
        if keep == self.buffer.len() {
            self.buffer = group;
        } else {
            self.buffer.drain(..keep);
            self.buffer.extend(group);
        }
        self.next = 0;
        Ok(true)
    }
}
