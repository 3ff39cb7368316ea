//! The lines of a series in the result.

use super::Measuring;
use crate::methods;
use crate::parameters::Request;
use crate::seat::Seat;
use core::fmt::{self, Display, Formatter};

/// What is known of a group of series beside its seats.
pub(super) struct Work<'r> {
    pub(super) request: &'r Request<'r>,
    pub(super) kernel: &'static str,
    pub(super) instructions: u32,
    pub(super) memory: Option<OnMemory>,
    pub(super) rows: Rows,
}

/// What is known of a series with a working set.
#[derive(Clone, Copy)]
pub(super) struct OnMemory {
    /// The experiment, or the kind of pages.
    pub(super) experiment: &'static str,
    /// Size of the working set.
    pub(super) bytes: u64,
    /// Size of what is modified between two samples.
    pub(super) other: Option<u64>,
    /// Whether the pages of the working set were counted.
    pub(super) counts_pages: bool,
}

/// Which rows a series has beside its gaps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    None,
    /// Durations of samples, one after the other.
    Samples,
    /// The time between two samples, and the duration.
    Apart,
    /// Counts of windows.
    Windows,
}

impl Measuring {
    /// Adds the series of the first seats, which were taken at the same time.
    pub(super) fn wrote(&mut self, seats: usize, work: &Work<'_>) {
        for place in 0..seats {
            let number = self.next();
            self.planned(number, place, work);
            self.ran(number, place, work.rows);
        }
        self.round += 1;
    }

    /// Adds the line that describes a series of samples.
    fn planned(&mut self, number: u32, place: usize, work: &Work<'_>) {
        let &Work { request, kernel, instructions, memory, .. } = work;
        let seat = &self.seats[place];
        let (pace, plan) = (seat.pace.unwrap_or_default(), seat.plan);
        let grain = match () {
            () if memory.is_some() || request.iterations.is_some() => pace.calibrated_ticks,
            () => self.clock.ticks(request.grain_ns),
        };
        let counted = memory.filter(|memory| memory.counts_pages);
        self.text.line(format_args!(
            "series {number} cpu={} round={} method={} kernel={kernel} fixed={} grain={grain} asked={} iterations={} \
             calibrated={} instructions={instructions} megaiteration={} megacycle={}{}{}{}{}{}{}{}{}{}{}",
            seat.cpu,
            self.round,
            request.method,
            if request.method == methods::FTQ { "time" } else { "work" },
            plan.samples,
            pace.iterations,
            pace.calibrated_ticks,
            pace.megaiteration_ticks,
            seat.megacycle_ticks,
            Given("step-iterations", pace.step.map(|step| step.iterations)),
            Given("step", pace.step.map(|step| step.ticks)),
            Given("threshold", pace.step.map(|step| step.threshold_ticks)),
            Given("doubt", Some(seat.doubt_ppm).filter(|ppm| *ppm > 0)),
            Given("within", plan.within.map(|within| within.0)),
            Given("experiment", memory.map(|memory| memory.experiment)),
            Given("bytes", memory.map(|memory| memory.bytes)),
            Given("page", memory.map(|_| seat.pages[0])),
            Given("on-pages", counted.map(|_| seat.pages[1])),
            Given("other", memory.and_then(|memory| memory.other)),
        ));
    }

    /// Adds how a series went, and its rows.
    pub(super) fn ran(&mut self, number: u32, place: usize, rows: Rows) {
        let Seat { buffers, outcome, .. } = &self.seats[place];
        let (done, [before, after]) = (outcome.done, outcome.counters);
        let [interrupts, nmis] =
            [0, 1].map(|place| after.delivered[place] - before.delivered[place]);
        let performance =
            |place: usize| Some(after.performance?[place] - before.performance?[place]);
        let smis = after.smis.zip(before.smis).map(|(after, before)| after - before);
        self.text.line(format_args!(
            "ran {number} start={} end={} until={} taken={} wrong={} lost={} lost-gaps={} shortest={} enabled={} \
             interrupts={interrupts} nmis={nmis}{}{}{}{}",
            done.first_ticks,
            done.last_ticks,
            outcome.until_ticks,
            done.taken,
            done.wrong,
            buffers.samples.lost,
            buffers.gaps.lost,
            done.shortest_ticks,
            u8::from(outcome.enabled),
            Given("step", done.step_ticks),
            Given("aperf", performance(0)),
            Given("mperf", performance(1)),
            Given("smis", smis),
        ));
        match rows {
            Rows::None => {}
            Rows::Samples => {
                self.samples(place, "s", |row, _| [Some(row[1] - row[0]), None]);
            }
            Rows::Apart => self.samples(place, "t", |row, last_end| {
                [Some(row[0] - last_end), Some(row[1] - row[0])]
            }),
            Rows::Windows => self.samples(place, "w", |row, _| [Some(row[0]), None]),
        }
        self.gaps(place);
    }

    /// Adds the samples: `each` makes one or two numbers of a row and the end of the row before.
    fn samples(
        &mut self,
        place: usize,
        word: &str,
        each: impl Fn([u64; 2], u64) -> [Option<u64>; 2],
    ) {
        let rows = self.seats[place].buffers.samples.all();
        let mut last_end = rows.first().map_or(0, |row| row[0]);
        for rows in rows.chunks(ROWS_OF_LINE) {
            let mut numbers = Numbers::default();
            for &row in rows {
                each(row, last_end).into_iter().flatten().for_each(|number| numbers.push(number));
                last_end = row[1];
            }
            self.text.line(format_args!("{word}{numbers}"));
        }
    }

    /// Adds the gaps, each as its distance from the last one's end and its length; the first from the counter's zero.
    fn gaps(&mut self, place: usize) {
        let mut last_end = 0;
        for rows in self.seats[place].buffers.gaps.all().chunks(ROWS_OF_LINE) {
            let mut numbers = Numbers::default();
            for row in rows {
                numbers.push(row[0] - last_end);
                numbers.push(row[1] - row[0]);
                last_end = row[1];
            }
            self.text.line(format_args!("g{numbers}"));
        }
    }
}

/// Rows whose numbers share a line.
const ROWS_OF_LINE: usize = 16;

/// The numbers of a line.
#[derive(Default)]
struct Numbers {
    numbers: [u64; 2 * ROWS_OF_LINE],
    count: usize,
}

impl Numbers {
    fn push(&mut self, number: u64) {
        self.numbers[self.count] = number;
        self.count += 1;
    }
}

impl Display for Numbers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.numbers[..self.count].iter().try_for_each(|number| write!(f, " {number}"))
    }
}

/// A name and a value, or nothing if there is no value.
struct Given<T>(&'static str, Option<T>);

impl<T: Display> Display for Given<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.1.iter().try_for_each(|value| write!(f, " {}={value}", self.0))
    }
}
