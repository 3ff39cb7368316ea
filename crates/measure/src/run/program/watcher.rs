//! Tells whoever watches the recording of a program what was recorded.

use crate::run::kernel_side::KernelSide;
use crate::run::plan::{Plan, Stage};
use crate::run::store::Store;
use anechoic_recording::News;
use anechoic_recording::run::Run;
use anechoic_recording::who::CpuLimits;
use anechoic_system::clock::Anchor;

/// Whoever watches, if somebody does.
pub(super) struct Watcher<'a> {
    notify: Option<&'a mut dyn FnMut(Stage)>,
    begin: Anchor,
    /// The number of threads of the machine that it knows, and the limits of the program.
    known: (usize, Option<CpuLimits>),
}

impl<'a> Watcher<'a> {
    pub(super) fn new(plan: &Plan, begin: Anchor, notify: &'a mut dyn FnMut(Stage)) -> Self {
        Self { notify: plan.watcher.map(|_| notify), begin, known: (0, None) }
    }

    pub(super) fn watches(&self) -> bool {
        self.notify.is_some()
    }

    pub(super) fn begun(&mut self, run: &Run) {
        if let Some(notify) = &mut self.notify {
            self.known = (run.threads.len(), run.limits.clone());
            notify(Stage::Begun(Box::new(run.clone())));
        }
    }

    /// Tells what was read since the last time: all events before `until_ticks`, and maybe some after it.
    pub(super) fn tell(
        &mut self,
        until_ticks: u64,
        run: &Run,
        kernel: &mut KernelSide,
        store: &mut Store,
    ) {
        let (Some(notify), Some(mut news)) = (&mut self.notify, store.news()) else { return };
        kernel.add_news(&mut news, self.begin);
        if self.known != (run.threads.len(), run.limits.clone()) {
            self.known = (run.threads.len(), run.limits.clone());
            news.known = Some(Box::new(run.clone()));
        }
        notify(Stage::News(Box::new(News { until_ticks, ..news })));
    }
}
