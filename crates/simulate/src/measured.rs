//! Parameters of LogGOPS from measured times of messages between two ranks: the method of Hoefler, Lichei and Rehm
//! ("Low-Overhead LogGP Parameter Assessment for Modern Interconnection Networks", 2007), which netgauge uses.
//!
//! PRTT(n, d, s) is the time of the first rank from its first of n messages of s bytes, with a delay d before each but the
//! first, until the answer of s bytes has come that the other rank sends after the last. In the model without noise,
//!
//! - PRTT(1, 0, s) = 2 (L + 2o + (s − 1)(O + max(O, G)));
//! - (PRTT(n, 0, s) − PRTT(1, 0, s)) / (n − 1) = max(g + (s − 1)G, o + (s − 1) max(O, G)), the *gap* of s;
//! - (PRTT(n, d, s) − PRTT(1, 0, s)) / (n − 1) − d = o + (s − 1)O, the *overhead* of s, if d is at least the gap.
//!
//! All three hold for messages of up to S bytes. A g below o, and a G below O, do not appear in these times: o and O are
//! found in their place.

use crate::parameters::{PS, Parameters};
use anechoic_recording::{Problem, ProblemKind};

/// Times of messages of one size, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeTimes {
    /// The size s, in bytes.
    pub bytes: u64,
    /// PRTT(1, 0, s): a message and its answer.
    pub one_ns: f64,
    /// PRTT(n, 0, s): messages as fast as possible.
    pub train_ns: f64,
    /// PRTT(n, d, s): messages after delays.
    pub delayed_ns: f64,
    /// The n − 1 delays d alone, executed by the same loop.
    pub delays_ns: f64,
}

/// What a message of one size costs, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeCosts {
    /// The size, in bytes.
    pub bytes: u64,
    /// Time from one message to the next if they are sent as fast as possible.
    pub gap_ns: f64,
    /// Time of the sender's CPU.
    pub overhead_ns: f64,
    /// Time from the start of the send to the end of the receive.
    pub one_way_ns: f64,
}

/// Parameters from measured times.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The parameters.
    pub parameters: Parameters,
    /// What the times do not contain, in whole sentences.
    pub notes: Vec<&'static str>,
}

/// Returns the delay before each message at which the overhead is measured: the round trip, as in the paper, or twice the
/// gap where that is longer. The published sets `daint`, `deep-est` and `oracle` have gaps that exceed the round trip.
#[must_use]
pub fn delay_ns(one_ns: f64, train_ns: f64, messages: u32) -> f64 {
    one_ns.max(2.0 * (train_ns - one_ns) / between(messages))
}

/// Returns the number of gaps in a train.
fn between(messages: u32) -> f64 {
    f64::from(messages.max(2) - 1)
}

impl SizeTimes {
    /// Returns what these times of trains of `messages` say about one message.
    #[must_use]
    pub fn costs(&self, messages: u32) -> SizeCosts {
        let gaps = between(messages);
        SizeCosts {
            bytes: self.bytes,
            gap_ns: (self.train_ns - self.one_ns) / gaps,
            overhead_ns: (self.delayed_ns - self.one_ns - self.delays_ns) / gaps,
            one_way_ns: self.one_ns / 2.0,
        }
    }

    /// Returns the median of each time over blocks of the same measurement. All are of the same size.
    #[must_use]
    pub fn median(blocks: &[Self]) -> Option<Self> {
        let over = |time: fn(&Self) -> f64| median(blocks.iter().map(time).collect());
        Some(Self {
            bytes: blocks.first()?.bytes,
            one_ns: over(|times| times.one_ns),
            train_ns: over(|times| times.train_ns),
            delayed_ns: over(|times| times.delayed_ns),
            delays_ns: over(|times| times.delays_ns),
        })
    }
}

impl Parameters {
    /// Returns what a message of this size costs by the parameters, without noise.
    #[must_use]
    pub fn costs(&self, bytes: u64) -> SizeCosts {
        let ns = |ps: u64| ps as f64 / PS as f64;
        let more = bytes.saturating_sub(1) as f64;
        let (per_byte, copy) = (ns(self.gap_per_byte_ps), ns(self.overhead_per_byte_ps));
        let overhead_ns = ns(self.overhead_ps);
        let taken_ns = overhead_ns + more * copy.max(per_byte);
        SizeCosts {
            bytes,
            gap_ns: taken_ns.max(ns(self.gap_ps) + more * per_byte),
            overhead_ns: overhead_ns + more * copy,
            one_way_ns: ns(self.latency_ps) + overhead_ns + more * copy + taken_ns,
        }
    }

    /// Returns the lines that [`Parameters::read`] reads.
    #[must_use]
    pub fn lines(&self) -> String {
        let ns = |ps: u64| ps as f64 / PS as f64;
        format!(
            "L {}ns\no {}ns\ng {}ns\nG {}ns\nO {}ns\nS {}\n",
            ns(self.latency_ps),
            ns(self.overhead_ps),
            ns(self.gap_ps),
            ns(self.gap_per_byte_ps),
            ns(self.overhead_per_byte_ps),
            self.eager_bytes
        )
    }
}

/// Estimates the parameters from times of at least three sizes up to S bytes. Trains had `messages`.
///
/// The lines are those of Theil and Sen: the median of the slopes between all pairs of sizes, and the median of what is left
/// at one byte. A size at which the library copies in another way, or that was disturbed, does not move them.
///
/// # Errors
/// There are fewer than three sizes, or a time is not a positive number.
pub fn estimate(times: &[SizeTimes], messages: u32, eager_bytes: u64) -> Result<Measured, Problem> {
    let bad = |why: &str| Err(ProblemKind::Data.problem(why, "measure again"));
    let usable = |times: &SizeTimes| {
        let all = [times.one_ns, times.train_ns, times.delayed_ns];
        all.iter().all(|ns| ns.is_finite() && *ns > 0.0) && times.delays_ns.is_finite()
    };
    if !times.iter().all(usable) {
        return bad("a measured time is not a positive number");
    }
    let mut sizes: Vec<u64> = times.iter().map(|times| times.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() < 3 || messages < 2 {
        return bad("a line needs messages of three sizes, and trains of two messages");
    }
    let costs: Vec<SizeCosts> = times.iter().map(|times| times.costs(messages)).collect();
    let mut notes = Vec::new();
    let (gap, per_byte) = line(&costs, |costs| costs.gap_ns);
    let (overhead, copy) = line(&costs, |costs| costs.overhead_ns);
    let mut parameters = Parameters {
        latency_ps: 0,
        overhead_ps: ps(overhead),
        gap_ps: ps(gap),
        gap_per_byte_ps: ps(per_byte),
        overhead_per_byte_ps: ps(copy),
        eager_bytes,
    };
    if gap < 0.0 || per_byte < 0.0 {
        notes.push("The line through the gaps begins or falls below 0; g or G is 0 instead.");
    }
    if overhead < 0.0 || copy < 0.0 {
        notes.push("The line through the overheads begins or falls below 0; o or O is 0 instead.");
    }
    if parameters.gap_ps < parameters.overhead_ps * 11 / 10 {
        notes.push("g is not above o: the CPU limits the rate of messages, and g may be anything from 0 to this.");
    }
    // L is what is left of the shortest message.
    let least = costs.iter().min_by_key(|costs| costs.bytes).unwrap_or(&costs[0]);
    let latency = least.one_way_ns - parameters.costs(least.bytes).one_way_ns;
    if latency < 0.0 {
        notes.push("The overheads exceed the time of the shortest message: sender and receiver work at the same time. L is 0.");
    }
    parameters.latency_ps = ps(latency);
    Ok(Measured { parameters, notes })
}

/// Converts ns to whole ps, from 0 on.
fn ps(ns: f64) -> u64 {
    (ns * PS as f64).round().max(0.0) as u64
}

/// Returns the value at one byte and the slope of the line of Theil and Sen through one of the costs.
fn line(costs: &[SizeCosts], cost: fn(&SizeCosts) -> f64) -> (f64, f64) {
    let mut slopes = Vec::new();
    for (number, one) in costs.iter().enumerate() {
        for other in &costs[..number] {
            if one.bytes != other.bytes {
                let bytes = one.bytes as f64 - other.bytes as f64;
                slopes.push((cost(one) - cost(other)) / bytes);
            }
        }
    }
    let slope = median(slopes);
    let begins = costs.iter().map(|costs| cost(costs) - slope * (costs.bytes as f64 - 1.0));
    (median(begins.collect()), slope)
}

/// Returns the median, 0 for none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count => f64::midpoint(values[(count - 1) / 2], values[count / 2]),
    }
}

/// The search for S: sizes twice as long until a send waits for its receiver, then bisection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EagerSearch {
    /// The longest message that did not wait.
    eager: u64,
    /// The shortest one that did.
    waiting: Option<u64>,
    largest: u64,
}

impl EagerSearch {
    /// Begins a search among messages of up to `largest` bytes.
    #[must_use]
    pub fn new(largest: u64) -> Self {
        Self { eager: 0, waiting: None, largest }
    }

    /// Returns the size to be measured next, or nothing at the end of the search.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        match self.waiting {
            Some(waiting) => (waiting - self.eager > 1).then(|| self.eager.midpoint(waiting)),
            None if self.eager >= self.largest => None,
            None => Some((2 * self.eager).clamp(1, self.largest)),
        }
    }

    /// Takes the result for the size that [`Self::next`] returned.
    pub fn take(&mut self, bytes: u64, waits: bool) {
        match waits {
            true => self.waiting = Some(bytes),
            false => self.eager = bytes,
        }
    }

    /// Returns the longest message that did not wait. Longer ones do if `is_found`.
    #[must_use]
    pub fn eager_bytes(&self) -> u64 {
        self.eager
    }

    /// Returns whether a message waited for its receiver.
    #[must_use]
    pub fn is_found(&self) -> bool {
        self.waiting.is_some()
    }
}
