//! Wake-ups, each a slice of its CPU.

use super::{Trace, begin, detours_of};
use crate::export::detours::{Wakeups, main_source};
use crate::results::wakeup::kinds;
use anechoic_analyze::wakeup::{Kind, rows};
use anechoic_recording::{DetourView, Problem};

impl Trace<'_> {
    /// Writes all wake-ups, with what went on meanwhile.
    pub(super) fn wakeups(&mut self, wakeups: &Wakeups) -> Result<(), Problem> {
        let mut written = Ok(());
        rows::each(self.export.recording(), |woken| {
            if written.is_ok() && self.export.has(woken.sample.cpu) {
                self.export.count(wakeups.number);
                written = self.wakeup(woken);
            }
        })?;
        Ok(written?)
    }

    fn wakeup(&mut self, woken: &rows::Explained<'_>) -> std::io::Result<()> {
        let sample = woken.sample;
        self.describe(detours_of(sample.cpu), &format!("CPU {}, wake-ups", sample.cpu))?;
        let (source, name) = main_source(woken.rows);
        let title = if source.is_empty() { "wake-up".into() } else { self.title(source, name) };
        let whole = begin(detours_of(sample.cpu), &title, source)
            .note("kind", &kinds::whole_name(Kind::from(&woken.sleep)))
            .note("overruns", &sample.count.saturating_sub(1).to_string());
        let view = DetourView {
            cpu: sample.cpu,
            index: 0,
            start_ticks: sample.start_ticks,
            end_ticks: sample.end_ticks,
            lost_ticks: sample.end_ticks.saturating_sub(sample.start_ticks),
            stint: 0,
            activities: woken.rows,
        };
        self.slice(&view, whole)
    }
}
