//! The activities of one CPU as events of sources, for naming lines, in bounded memory.

use super::carriers::SourceEvents;
use crate::places::Places;
use crate::split::is_gap;
use anechoic_recording::{Activity, ActivityKind, Clock};
use std::collections::HashMap;
use std::sync::Arc;

/// Largest number of events of one series.
const MOST: usize = 1 << 20;

/// The events of each source within a window of time.
///
/// Everything that a source took of one detour is one event, as in [`crate::sources`]: it begins with the source's
/// first activity in the detour and includes all its time there, with gaps.
#[derive(Debug)]
pub(crate) struct ActivityEvents {
    first_ticks: u64,
    last_ticks: u64,
    places: Places,
    index: HashMap<(usize, Option<Arc<str>>), usize>,
    sources: Vec<OpenSource>,
    detour: Option<u64>,
    open: Vec<Open>,
    kept: usize,
    /// Time from which on events were dropped.
    full_ticks: Option<u64>,
}

#[derive(Debug)]
struct OpenSource {
    place: usize,
    function: Option<Arc<str>>,
    starts_s: Vec<f64>,
    lengths_s: Vec<f64>,
}

/// What one source took of the open detour so far.
#[derive(Debug)]
struct Open {
    place: usize,
    function: Option<Arc<str>>,
    start_ticks: u64,
    ticks: u64,
    /// Whether only gaps came so far.
    gaps: bool,
}

impl ActivityEvents {
    /// Returns an empty collection for the time between two instants.
    pub(crate) fn new((first_ticks, last_ticks): (u64, u64)) -> Self {
        Self {
            first_ticks,
            last_ticks,
            places: Places::default(),
            index: HashMap::new(),
            sources: vec![],
            detour: None,
            open: vec![],
            kept: 0,
            full_ticks: None,
        }
    }

    /// Returns whether `activity` and all later ones lie after the window.
    pub(crate) fn is_past(&self, activity: &Activity) -> bool {
        activity.start_ticks >= self.last_ticks
    }

    /// Adds an activity; rows of one detour are consecutive.
    pub(crate) fn add(&mut self, activity: &Activity, clock: &Clock) {
        let known = activity.kind != ActivityKind::NotAttributable;
        if activity.start_ticks < self.first_ticks || !known || self.full_ticks.is_some() {
            return;
        }
        if self.detour != Some(activity.detour) {
            self.close(clock);
            self.detour = Some(activity.detour);
        }
        let place = self.places.place(&activity.source, &activity.name);
        let gaps = is_gap(activity.kind);
        match self.open.iter_mut().find(|open| open.place == place) {
            Some(open) => {
                open.ticks = open.ticks.saturating_add(activity.self_ticks);
                if open.gaps && !gaps {
                    (open.gaps, open.start_ticks) = (false, activity.start_ticks);
                }
                if !gaps && open.function.is_none() {
                    open.function.clone_from(&activity.function);
                }
            }
            None => self.open.push(Open {
                place,
                function: activity.function.clone().filter(|_| !gaps),
                start_ticks: activity.start_ticks,
                ticks: activity.self_ticks,
                gaps,
            }),
        }
    }

    /// Ends the open detour.
    pub(crate) fn close(&mut self, clock: &Clock) {
        for open in self.open.drain(..) {
            let next = self.sources.len();
            let key = (open.place, open.function.clone());
            let at = *self.index.entry(key).or_insert(next);
            if at == next {
                self.sources.push(OpenSource {
                    place: open.place,
                    function: open.function,
                    starts_s: vec![],
                    lengths_s: vec![],
                });
            }
            let since = open.start_ticks.saturating_sub(self.first_ticks);
            self.sources[at].starts_s.push(clock.seconds(since));
            self.sources[at].lengths_s.push(clock.seconds(open.ticks));
            self.kept += 1;
            if self.kept >= MOST {
                self.full_ticks = self.full_ticks.or(Some(open.start_ticks));
            }
        }
    }

    /// Returns whether there are any events, including the open detour.
    pub(crate) fn any(&self) -> bool {
        !self.open.is_empty() || !self.sources.is_empty()
    }

    /// Ends the window at this time.
    pub(crate) fn end_at(&mut self, last_ticks: u64) {
        self.last_ticks = last_ticks;
    }

    /// Returns the time in which events were kept in seconds, and whether that is less than requested.
    pub(crate) fn span(&self, clock: &Clock) -> (f64, bool) {
        let last = self.full_ticks.unwrap_or(self.last_ticks);
        (clock.seconds(last.saturating_sub(self.first_ticks)), self.full_ticks.is_some())
    }

    /// Returns the events by source.
    pub(crate) fn sources(&self) -> Vec<SourceEvents<'_>> {
        let names = self.places.names();
        self.sources
            .iter()
            .map(|source| SourceEvents {
                source: &names[source.place].0,
                name: &names[source.place].1,
                function: source.function.as_deref(),
                starts_s: &source.starts_s,
                lengths_s: &source.lengths_s,
            })
            .collect()
    }
}
