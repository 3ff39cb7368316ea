//! Detours from a trace in which nobody measured: the time in interrupt handlers.

use super::sink::Sink;
use crate::event::{EventKind, Handler, Role};
use crate::problem::Problem;
use crate::rows::KernelEvent;
use crate::trace::{EventDecoder, Record};

/// More events than handlers in one interrupt have.
const MOST_EVENTS: usize = 256 << 10;

/// The number of the thread that is interrupted, whichever that was.
pub(super) const VICTIM: i32 = 0;

/// The handlers that are open on a CPU.
pub(super) struct Handlers {
    pub(super) decoder: EventDecoder,
    open: Vec<Handler>,
    /// Events since the outermost began.
    events: Vec<KernelEvent>,
    decoded: Vec<KernelEvent>,
}

impl Handlers {
    pub(super) fn new(decoder: EventDecoder) -> Self {
        Self { decoder, open: vec![], events: vec![], decoded: vec![] }
    }

    /// Forgets what is open: its end was lost.
    pub(super) fn forget(&mut self) {
        self.open.clear();
        self.events.clear();
    }

    pub(super) fn take(
        &mut self,
        cpu: u32,
        record: &Record<'_>,
        sink: &mut Sink,
    ) -> Result<(), Problem> {
        sink.reaches(record.time);
        let mut decoded = std::mem::take(&mut self.decoded);
        self.decoder.decode(cpu, true, record, &mut decoded);
        let done = decoded.drain(..).try_for_each(|event| self.event(event, sink));
        self.decoded = decoded;
        done
    }

    fn event(&mut self, event: KernelEvent, sink: &mut Sink) -> Result<(), Problem> {
        // Whatever thread was interrupted takes the place of one that measures.
        let event = KernelEvent { pid: VICTIM, ..event };
        let outermost =
            |handler| matches!(handler, Handler::Vector(_) | Handler::Irq | Handler::Softirq);
        match event.kind.role() {
            Role::Enter(handler) if !self.open.is_empty() || outermost(handler) => {
                self.open.push(handler);
            }
            // It is recorded at its end, with the time that it took.
            Role::Instant if event.kind == EventKind::Nmi && self.open.is_empty() => {
                let start =
                    event.ticks.saturating_sub(sink.ticks(event.args[1])).max(sink.reached());
                return sink.add((start, event.ticks), &[event]);
            }
            _ if self.open.is_empty() => return Ok(()),
            Role::Exit(handler) => {
                if let Some(at) = self.open.iter().rposition(|open| *open == handler) {
                    self.open.truncate(at);
                }
            }
            _ => {}
        }
        self.events.push(event);
        if self.open.is_empty() {
            let span = (self.events[0].ticks, event.ticks);
            let added = sink.add(span, &self.events);
            self.forget();
            return added;
        }
        if self.events.len() == MOST_EVENTS {
            self.forget();
        }
        Ok(())
    }
}
