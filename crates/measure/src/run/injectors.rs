//! The injected noise of a run: prepared before the loops, switched on and off with their rounds.

use super::plan::Plan;
use crate::inject::{InjectError, Injector};
use crate::timed::round::Round;
use anechoic_recording::Clock;
use anechoic_recording::in_words;
use anechoic_recording::run::{OwnThread, Run};
use anechoic_system::tracefs::Marker;
use std::time::Duration;

/// Noise begins at most this long before its round does.
const BEFORE_START: Duration = Duration::from_secs(1);

/// All injections of a plan, by number.
pub(super) struct Injectors(Vec<Injector>);

impl Injectors {
    /// Prepares all of them; their threads mark themselves in the trace.
    pub(super) fn prepare(
        plan: &Plan,
        clock: &Clock,
        marker: &Marker,
    ) -> Result<Self, InjectError> {
        let asked = plan.experiment.injections().into_iter();
        let ready = asked.map(|asked| Injector::prepare_marked(asked, clock, marker));
        ready.collect::<Result<_, _>>().map(Injectors)
    }

    /// Gives their threads the numbers that events have for them.
    pub(super) fn rename(&mut self, thread: impl Fn(i32) -> i32) {
        self.0.iter_mut().for_each(|injector| injector.rename(&thread));
    }

    /// Records their present state in `run`.
    pub(super) fn describe(&self, run: &mut Run) {
        run.injections = self.0.iter().map(|injector| injector.injected().clone()).collect();
    }

    /// Returns the threads that make noise.
    pub(super) fn threads(&self) -> Vec<OwnThread> {
        let tids = self.0.iter().flat_map(|injector| &injector.injected().tids);
        tids.map(|&tid| OwnThread::new(tid, "injected noise")).collect()
    }

    /// Switches the noise of a round on; a failure is noted.
    pub(super) fn start(&mut self, round: &Round, run: &mut Run) {
        let Some(injector) = self.injector(round) else { return };
        if round.ends_on_time() {
            injector.end_after(round.expected + BEFORE_START);
        }
        if let Err(error) = injector.start() {
            run.notes.push(format!("noise could not be injected: {}", in_words(&error)));
        }
    }

    /// Switches the noise of a round off.
    pub(super) fn stop(&mut self, round: &Round) {
        if let Some(injector) = self.injector(round) {
            injector.stop();
        }
    }

    fn injector(&mut self, round: &Round) -> Option<&mut Injector> {
        self.0.get_mut(round.injection? as usize)
    }
}
