//! The time of the kernel inside each sample: activities joined to the samples that contain them.

use anechoic_recording::{Activity, ActivityKind, Problem, sources};

/// Number of sources that are distinguished in one series, and in one sample; later ones share an index.
pub(crate) const MOST_SOURCES: usize = 128;
/// Index of these.
pub(crate) const OTHERS: usize = usize::MAX;

/// Class of a piece of time, as far as the subtraction distinguishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Direct time of the timer tick.
    Tick,
    /// Direct time of network devices and their softirqs.
    Network,
    /// Direct time of every other source.
    Direct,
    /// A gap around or between activities.
    Gap,
    /// No kernel event explains it, or steal was recorded in it.
    Host,
    /// It lies where events were lost or switched off.
    Unknown,
    /// A detour of a recording without attribution.
    Detour,
}

/// Number of classes.
pub(crate) const CLASSES: usize = 7;

impl Class {
    /// Returns the class of an activity.
    pub(crate) fn from_activity(activity: &Activity) -> Self {
        match activity.kind {
            ActivityKind::EntryGap | ActivityKind::InnerGap | ActivityKind::ExitGap
                if sources::VM_OR_HARDWARE.is(&activity.source) =>
            {
                Self::Host
            }
            ActivityKind::EntryGap | ActivityKind::InnerGap | ActivityKind::ExitGap => Self::Gap,
            ActivityKind::Unexplained => Self::Host,
            ActivityKind::NotAttributable => Self::Unknown,
            ActivityKind::Activity if sources::TIMER_TICK.is(&activity.source) => Self::Tick,
            ActivityKind::Activity if is_network(&activity.source, &activity.name) => Self::Network,
            ActivityKind::Activity | ActivityKind::OffCpu => Self::Direct,
        }
    }

    /// Returns whether a kernel event explains it.
    fn is_direct(self) -> bool {
        matches!(self, Self::Tick | Self::Network | Self::Direct)
    }
}

/// Whether an activity is the network's: its softirqs, and device interrupts that are named as
/// drivers and systemd name those of network devices.
pub(crate) fn is_network(source: &str, name: &str) -> bool {
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    if sources::SOFTIRQ.is(source) {
        return matches!(name, "NET_RX" | "NET_TX");
    }
    sources::DEVICE_IRQ.is(source)
        && (["eth", "eno", "enp", "ens", "enP", "enx", "wlan", "wlp", "wlo", "ib"]
            .into_iter()
            .any(numbered)
            || ["mlx4", "mlx5", "ena-", "iwlwifi", "ath1", "i40e", "iavf", "ice-", "ixgbe"]
                .into_iter()
                .chain(["bnxt", "hns3", "hfi1", "gve-", "qede", "cxgb", "tg3"])
                .any(|driver| name.starts_with(driver))
            || name.contains("TxRx")
            || is_virtio_net(name))
}

/// Returns whether a name is like `virtio0-input.0`, `virtio0-output.3`: only network devices number queues of these
/// names.
fn is_virtio_net(name: &str) -> bool {
    name.starts_with("virtio") && (name.contains("-input.") || name.contains("-output."))
}

/// One activity, or one detour of unknown cause.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) start_ticks: u64,
    pub(crate) self_ticks: u64,
    pub(crate) class: Class,
    /// Number of its source and name.
    pub(crate) place: usize,
    /// Whether it is charged to the tick: its handler, or a gap around that.
    pub(crate) charged_to_tick: bool,
    pub(crate) detour: u64,
    pub(crate) parent: Option<u32>,
}

impl Piece {
    pub(crate) fn new(activity: &Activity, place: usize) -> Self {
        Self {
            start_ticks: activity.start_ticks,
            self_ticks: activity.self_ticks,
            class: Class::from_activity(activity),
            place,
            charged_to_tick: sources::TIMER_TICK.is(&activity.source),
            detour: activity.detour,
            parent: activity.parent,
        }
    }
}

/// What one source took of one sample, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourcePart {
    pub(crate) place: usize,
    pub(crate) direct_ticks: u64,
    /// Gaps charged to it; for detours without an event, the detours.
    pub(crate) gap_ticks: u64,
}

impl SourcePart {
    pub(crate) fn empty(place: usize) -> Self {
        Self { place, direct_ticks: 0, gap_ticks: 0 }
    }

    /// Adds what another source took.
    pub(crate) fn merge(&mut self, other: &Self) {
        grow(&mut self.direct_ticks, other.direct_ticks);
        grow(&mut self.gap_ticks, other.gap_ticks);
    }
}

/// Everything recorded inside one sample. All times are ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    by_class: [u64; CLASSES],
    /// Longest piece that no kernel event explains.
    pub(crate) longest_host: u64,
    pub(crate) sources: Vec<SourcePart>,
    /// Number of pieces.
    pub(crate) pieces: u64,
    /// Number of pieces that are neither the tick's nor nested in it.
    pub(crate) foreign: u64,
    pub(crate) ticks: u64,
    /// Time in the tick's handlers and nested activities, and in the gaps charged to them.
    pub(crate) tick_direct: u64,
    pub(crate) tick_gaps: u64,
}

impl Parts {
    /// Returns the time of one class.
    pub(crate) fn class(&self, class: Class) -> u64 {
        self.by_class[class as usize]
    }

    /// Returns all recorded time.
    pub(crate) fn sum(&self) -> u64 {
        self.by_class.iter().fold(0, |sum, &ticks| sum.saturating_add(ticks))
    }

    /// Empties it but keeps the memory.
    fn clear(&mut self) {
        let mut sources = std::mem::take(&mut self.sources);
        sources.clear();
        *self = Self { sources, ..Self::default() };
    }

    fn add(&mut self, piece: &Piece, nested_in_tick: bool) {
        let ticks = piece.self_ticks;
        if ticks == 0 && !piece.class.is_direct() {
            return; // an event at the very edge of a detour leaves a gap of no length
        }
        grow(&mut self.by_class[piece.class as usize], ticks);
        self.pieces += 1;
        if piece.class == Class::Host {
            self.longest_host = self.longest_host.max(ticks);
        }
        match piece.class {
            Class::Tick | Class::Network | Class::Direct
                if piece.charged_to_tick || nested_in_tick =>
            {
                grow(&mut self.tick_direct, ticks);
            }
            Class::Gap if piece.charged_to_tick => grow(&mut self.tick_gaps, ticks),
            _ => self.foreign += 1,
        }
        // The interrupt and the timer that expires in it are both the tick's: the outer counts.
        self.ticks += u64::from(piece.class == Class::Tick && !nested_in_tick);
        let part = self.part(piece.place);
        let direct = piece.class.is_direct();
        grow(if direct { &mut part.direct_ticks } else { &mut part.gap_ticks }, ticks);
    }

    /// Returns what the source at `place` took so far.
    fn part(&mut self, place: usize) -> &mut SourcePart {
        let find = |sources: &[SourcePart], place| sources.iter().position(|p| p.place == place);
        let full = self.sources.len() >= MOST_SOURCES;
        let found = find(&self.sources, place);
        let (found, place) = match found {
            None if full => (find(&self.sources, OTHERS), OTHERS),
            found => (found, place),
        };
        let at = found.unwrap_or_else(|| {
            self.sources.push(SourcePart::empty(place));
            self.sources.len() - 1
        });
        &mut self.sources[at]
    }
}

fn grow(sum: &mut u64, ticks: u64) {
    *sum = sum.saturating_add(ticks);
}

/// Assigns the pieces of one CPU to samples; both come in time order.
#[derive(Debug)]
pub(crate) struct Joined<I: Iterator> {
    pub(crate) pieces: I,
    next: Option<I::Item>,
    /// For the rows of the current detour, whether each is the tick's or nested in it.
    rows: Vec<bool>,
    detour: Option<u64>,
    parts: Parts,
}

impl<I: Iterator<Item = Result<Piece, Problem>>> Joined<I> {
    pub(crate) fn new(mut pieces: I) -> Self {
        let next = pieces.next();
        Self { pieces, next, rows: vec![], detour: None, parts: Parts::default() }
    }

    /// Returns what was recorded from `start_ticks` to `end_ticks`, and the time of pieces from `since_ticks` on that
    /// belonged to no sample.
    ///
    /// A piece belongs to the sample that contains its start.
    ///
    /// # Errors
    ///
    /// A table is damaged.
    pub(crate) fn sample(
        &mut self,
        since_ticks: u64,
        (start_ticks, end_ticks): (u64, u64),
    ) -> Result<(&Parts, u64), Problem> {
        let mut outside = 0;
        self.parts.clear();
        while let Some(next) = self.next.take_if(|next| is_before(next, end_ticks)) {
            let piece = next?;
            self.next = self.pieces.next();
            let nested = self.nested_in_tick(&piece);
            if piece.start_ticks >= start_ticks {
                self.parts.add(&piece, nested);
            } else if piece.start_ticks >= since_ticks {
                grow(&mut outside, piece.self_ticks);
            }
        }
        Ok((&self.parts, outside))
    }

    /// Returns whether a row is nested in one of the tick's, and remembers it for rows nested in this one.
    fn nested_in_tick(&mut self, piece: &Piece) -> bool {
        if self.detour != Some(piece.detour) {
            self.detour = Some(piece.detour);
            self.rows.clear();
        }
        let parent = piece.parent.and_then(|row| self.rows.get(row as usize));
        let nested = parent.copied().unwrap_or(false);
        self.rows.push(nested || piece.class == Class::Tick);
        nested
    }
}

/// Returns whether the next piece starts before `end_ticks`, or could not be read.
fn is_before(next: &Result<Piece, Problem>, end_ticks: u64) -> bool {
    next.as_ref().map_or(true, |piece| piece.start_ticks < end_ticks)
}

#[cfg(test)]
impl Parts {
    /// Returns a sample with one piece of this source, and nothing else.
    pub(crate) fn one_piece(place: usize, direct_ticks: u64) -> Self {
        let mut parts = Self { pieces: 1, foreign: 1, ..Self::default() };
        parts.by_class[Class::Direct as usize] = direct_ticks;
        parts.sources.push(SourcePart { direct_ticks, ..SourcePart::empty(place) });
        parts
    }

    /// Returns a sample with this many ticks of the given length together, and nothing else.
    pub(crate) fn made(ticks: u64, direct_ticks: u64) -> Self {
        let mut parts = Self { ticks, pieces: ticks, tick_direct: direct_ticks, ..Self::default() };
        parts.by_class[Class::Tick as usize] = direct_ticks;
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_the_network_by_their_names() {
        let cases = [
            ("softirq", "NET_RX", true),
            ("softirq", "NET_TX", true),
            ("softirq", "TIMER", false),
            ("device-irq", "virtio2-input.0", true),
            ("device-irq", "virtio0-output.3", true),
            // The queue of a random number generator, a disk's, a socket's to the host.
            ("device-irq", "virtio4-input", false),
            ("device-irq", "virtio1-req.0", false),
            ("device-irq", "virtio3-rx", false),
            ("device-irq", "eth0", true),
            ("device-irq", "eth0-TxRx-3", true),
            ("device-irq", "enp5s0f1-rx-2", true),
            ("device-irq", "eno1", true),
            ("device-irq", "mlx5_comp7@pci:0000:3b:00.0", true),
            ("device-irq", "iwlwifi: default queue", true),
            ("device-irq", "nvme0q1", false),
            ("device-irq", "ttyS0", false),
            ("device-irq", "ethos", false),
            ("device-irq", "", false),
            ("thread", "eth0", false),
        ];
        for (source, name, expected) in cases {
            assert_eq!(is_network(source, name), expected, "case: {source} {name}");
        }
    }
    /// Rows refer to their parents within their detour: what is nested in the first row of the second one is nested in no
    /// tick, although the first row of the first one is a tick.
    #[test]
    fn rows_are_nested_within_their_own_detour() {
        let piece = |start_ticks, self_ticks, class, detour, parent| Piece {
            start_ticks,
            self_ticks,
            class,
            place: 0,
            charged_to_tick: class == Class::Tick,
            detour,
            parent,
        };
        let pieces = [
            piece(10, 100, Class::Tick, 0, None),
            piece(20, 30, Class::Direct, 0, Some(0)),
            piece(200, 7, Class::Direct, 1, None),
            piece(202, 5, Class::Direct, 1, Some(0)),
        ];
        let mut joined = Joined::new(pieces.into_iter().map(Ok));
        let (parts, outside) = joined.sample(0, (0, 1_000)).expect("nothing is read");
        assert_eq!((parts.ticks, parts.tick_direct, parts.foreign, outside), (1, 130, 2, 0));
    }
}
