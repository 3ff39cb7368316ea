//! Reads ahead what the next events need.

use super::{AHEAD, Engine, ON_ITS_WAY};

impl Engine<'_> {
    /// Reads what the next events need, all at once: the processor waits for memory a few times and not for each.
    pub(super) fn touch(&self) {
        let (schedule, coming) = (self.schedule, self.queue.coming(AHEAD));
        let mut sum = 0_u64;
        for event in coming {
            sum = sum
                .wrapping_add(self.clocks[self.clock(event.rank)])
                .wrapping_add(self.lost_ps[event.rank as usize])
                .wrapping_add(self.noise.touch(self.stream(event.rank, 0)))
                .wrapping_add(u64::from(self.matching.touch(event.rank)))
                .wrapping_add(schedule.number(event.rank, 0) as u64);
        }
        std::hint::black_box(sum);
        let mut operations = [0; AHEAD];
        for (operation, event) in operations.iter_mut().zip(coming) {
            *operation = match event.shape & ON_ITS_WAY {
                0 => event.operation,
                // It is probably the oldest receive that gets the message.
                _ => self.matching.oldest_receive(event.rank).unwrap_or(0),
            };
            sum = sum.wrapping_add(u64::from(
                self.waits.is_free(schedule.number(event.rank, *operation)),
            ));
        }
        std::hint::black_box(sum);
        for (&operation, event) in operations.iter().zip(coming) {
            let first = schedule.first_dependant(event.rank, operation);
            sum = sum.wrapping_add(first.map_or(0, u64::from));
        }
        std::hint::black_box(sum);
    }
}
