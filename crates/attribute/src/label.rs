//! Converts frames to rows: finds the source of each frame, and its names.

use crate::claims::{CLAIMS, Claim, RunContext};
use crate::frame::{Frame, Sender, VictimState, What};
use crate::names::Names;
use anechoic_recording::run::Run;
use anechoic_recording::{Activity, ActivityKind};
use std::sync::Arc;

/// The detour that the rows belong to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DetourRef {
    pub(crate) cpu: u32,
    pub(crate) detour: u64,
}

/// Finds the source of each frame, and makes the rows.
#[derive(Debug)]
pub(crate) struct Labels {
    known: RunContext,
    /// The identifiers of the sources, in the order of [`CLAIMS`].
    ids: Vec<Arc<str>>,
    states: [Arc<str>; 4],
}

/// The source and the names of a frame.
#[derive(Debug, Clone)]
struct Label {
    source: Arc<str>,
    name: Arc<str>,
    function: Option<Arc<str>>,
}

impl Labels {
    /// Creates the labels of a run.
    pub(crate) fn new(run: &Run, names: Arc<Names>) -> Self {
        Self {
            known: RunContext::new(run, names),
            ids: CLAIMS.iter().map(|(source, _)| source.id.into()).collect(),
            states: VictimState::ALL.map(|state| state.name().into()),
        }
    }

    /// Returns the names of the run's numbers.
    pub(crate) fn names(&self) -> &Names {
        self.known.names()
    }

    fn label(&self, frame: &Frame) -> Label {
        let claimed = CLAIMS.iter().zip(&self.ids).find_map(|((_, claim), id)| {
            claim(frame, &self.known).map(|Claim { name, function }| Label {
                source: Arc::clone(id),
                name,
                function,
            })
        });
        // Every frame has a source; a test of the table checks this.
        claimed.unwrap_or_else(|| Label {
            source: self.names().none(),
            name: self.names().none(),
            function: None,
        })
    }

    /// Creates the rows of one detour.
    ///
    /// A gap is charged to its neighbour: before the first activity to that one, later to the previous one.
    pub(crate) fn rows(&self, frames: &[Frame], place: DetourRef, rows: &mut Vec<Activity>) {
        let first = frames.iter().position(|frame| frame.what != What::Gap);
        let Some(first) = first else { return };
        let mut around = self.label(&frames[first]);
        around.function = None;
        for (index, frame) in frames.iter().enumerate() {
            let label = if frame.what == What::Gap {
                around.clone()
            } else {
                let label = self.label(frame);
                if frame.parent.is_none() {
                    around = Label { function: None, ..label.clone() };
                }
                label
            };
            let kind = match frame.what {
                What::Gap if index < first => ActivityKind::EntryGap,
                What::Gap if index + 1 == frames.len() => ActivityKind::ExitGap,
                What::Gap => ActivityKind::InnerGap,
                What::Thread { .. }
                | What::WakeUp
                | What::LateTimer { .. }
                | What::WakingCall { .. }
                | What::Delay
                | What::Throttled
                | What::Away(_) => ActivityKind::OffCpu,
                What::NoEvent | What::Slower => ActivityKind::Unexplained,
                What::Dark | What::Unseen => ActivityKind::NotAttributable,
                _ => ActivityKind::Activity,
            };
            rows.push(self.row(frame, kind, label, place));
        }
    }

    fn row(&self, frame: &Frame, kind: ActivityKind, label: Label, place: DetourRef) -> Activity {
        Activity {
            cpu: place.cpu,
            start_ticks: frame.start,
            end_ticks: frame.end,
            self_ticks: frame.self_ticks,
            detour: place.detour,
            parent: frame.parent,
            kind,
            source: label.source,
            name: label.name,
            function: match frame.what {
                What::LateTimer { idle: Some(state), .. } => {
                    self.known.idle_state(place.cpu, state)
                }
                _ => label.function,
            },
            victim_state: Arc::clone(&self.states[frame.state as usize]),
            sent_by_cpu: frame.sender.map(|sender| sender.cpu),
            sent_by_task: frame.sender.map(|sender| self.sender(sender)),
            steal_ns: None,
            thread: match frame.what {
                What::Thread { pid, .. } | What::Work { pid, .. } => {
                    Some(pid).filter(|&pid| pid != 0)
                }
                _ => None,
            },
        }
    }

    /// Returns the source of what goes on at a time, and which instance of it.
    pub(crate) fn source_at(&self, what: What, ticks: u64) -> (Arc<str>, Arc<str>) {
        let Label { source, name, .. } = self.label(&bare(what, ticks));
        (source, name)
    }

    /// Returns the name of the sending thread, or of the interrupt that sent it, in parentheses.
    fn sender(&self, sender: Sender) -> Arc<str> {
        let Some(what) = sender.within else {
            return self
                .known
                .own(sender.pid)
                .unwrap_or_else(|| self.names().task(sender.pid, sender.ticks));
        };
        let label = self.label(&bare(what, 0));
        let text = if label.name.is_empty() {
            format!("({})", label.source)
        } else {
            format!("({} {})", label.source, label.name)
        };
        text.into()
    }
}

/// Returns a frame of which only this is known.
fn bare(what: What, ticks: u64) -> Frame {
    Frame {
        what,
        state: VictimState::Running,
        fifo: false,
        start: ticks,
        end: ticks,
        self_ticks: 0,
        parent: None,
        function: 0,
        sender: None,
    }
}
