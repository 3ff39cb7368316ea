//! The detours of one CPU, and the detour that each event belongs to.

use crate::input::Feed;
use anechoic_recording::Detour;
use anechoic_recording::Problem;

/// The position of an event among the detours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// In the open detour.
    Inside,
    /// After the open detour: finish it and ask again.
    Finish,
    /// In or after the next detour: open it and ask again.
    Open,
    /// In no detour; the nearest one is this many ticks away.
    Outside(u64),
}

/// The detours of one CPU in time order, of which one may be open.
pub(crate) struct Track<'a> {
    feed: Feed<'a, Detour>,
    next: Option<Detour>,
    open: Option<Detour>,
    /// End of the last finished detour.
    finished: Option<u64>,
    /// An event this close to a detour belongs to it, in ticks.
    tolerance: u64,
}

impl<'a> Track<'a> {
    pub(crate) fn new(mut feed: Feed<'a, Detour>, tolerance: u64) -> Result<Self, Problem> {
        let next = feed.next().transpose()?;
        Ok(Self { feed, next, open: None, finished: None, tolerance })
    }

    /// Opens the next detour.
    pub(crate) fn open(&mut self) -> Result<Option<Detour>, Problem> {
        let next = self.feed.next().transpose()?;
        self.open = std::mem::replace(&mut self.next, next);
        Ok(self.open)
    }

    /// Closes the open detour.
    pub(crate) fn finish(&mut self) {
        self.finished = self.open.take().map(|detour| detour.end_ticks);
    }

    /// Returns whether a detour is open.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the position of an event at `ticks`, or what must be done first to know it.
    ///
    /// An event between two detours belongs to the nearer one, if that is within the tolerance.
    pub(crate) fn place(&self, ticks: u64) -> Position {
        let to_next = self.next.map(|next| next.start_ticks.saturating_sub(ticks));
        if let Some(open) = self.open {
            let late = ticks.checked_sub(open.end_ticks);
            return match late {
                None => Position::Inside,
                Some(late)
                    if late <= self.tolerance && to_next.is_none_or(|early| late < early) =>
                {
                    Position::Inside
                }
                Some(_) => Position::Finish,
            };
        }
        match to_next {
            Some(early) if early <= self.tolerance => Position::Open,
            _ => {
                let late = self.finished.map(|end| ticks.saturating_sub(end));
                Position::Outside(late.into_iter().chain(to_next).min().unwrap_or(u64::MAX))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows an event to its detour like a lane, and returns that detour.
    fn settle(track: &mut Track, ticks: u64) -> Result<(u64, u64), u64> {
        loop {
            match track.place(ticks) {
                Position::Inside => {
                    return Ok(track.open.map(|d| (d.start_ticks, d.end_ticks)).unwrap());
                }
                Position::Finish => track.finish(),
                Position::Open => {
                    track.open().unwrap();
                }
                Position::Outside(distance) => return Err(distance),
            }
        }
    }

    #[test]
    fn events_find_their_detour() {
        let detours = [(100, 200), (200, 300), (500, 600), (606, 700)]
            .map(|(start_ticks, end_ticks)| Ok(Detour { cpu: 0, start_ticks, end_ticks }));
        let mut track = Track::new(Box::new(detours.into_iter()), 5).unwrap();
        let cases = [
            ("long before the first", 50, Err(50)),
            ("a step before the first", 95, Ok((100, 200))),
            ("inside", 150, Ok((100, 200))),
            ("where two meet", 200, Ok((200, 300))),
            ("at the end", 300, Ok((200, 300))),
            ("a step after the end", 305, Ok((200, 300))),
            ("outside, nearer to the last", 320, Err(20)),
            ("outside, nearer to the next", 490, Err(10)),
            ("between two near ones, first nearer", 602, Ok((500, 600))),
            ("between two near ones, second nearer", 604, Ok((606, 700))),
            ("after all", 1000, Err(300)),
        ];
        for (name, ticks, expected) in cases {
            assert_eq!(settle(&mut track, ticks), expected, "case: {name}");
        }
    }

    #[test]
    fn without_detours_all_is_outside() {
        let track = Track::new(Box::new(std::iter::empty()), 5).unwrap();
        assert_eq!(track.place(1), Position::Outside(u64::MAX));
    }
}
