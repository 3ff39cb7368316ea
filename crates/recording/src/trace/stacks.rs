//! Reads the call stacks that the kernel writes behind an event: the kernel's own part, and that of the user's program.

use super::format::Format;
use std::collections::HashMap;

/// The calls of a thread when it left a CPU, as addresses; the innermost call first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawStack {
    /// The CPU.
    pub cpu: u32,
    /// When it left.
    pub ticks: u64,
    /// The thread.
    pub thread: i32,
    /// Its calls in the kernel.
    pub kernel: Vec<u64>,
    /// The number of its process; 0 if it has no calls in a program.
    pub process: u32,
    /// Its calls in its program, as far as they can be followed.
    pub user: Vec<u64>,
}

/// Reads stacks.
#[derive(Debug)]
pub(super) struct Stacks {
    kernel: Place,
    user: Place,
    /// The event of each CPU whose stacks may follow.
    open: HashMap<u32, RawStack>,
    new: Vec<RawStack>,
}

/// Where the calls lie in an event.
#[derive(Debug)]
struct Place {
    id: u16,
    pid: usize,
    /// Of the kernel's calls their number, of a program's calls its process.
    number: usize,
    calls: usize,
}

/// Reads a number of 4 bytes; 0 beyond the end.
fn word(payload: &[u8], at: usize) -> u32 {
    payload.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |it| u32::from_le_bytes(*it))
}

impl Place {
    fn new(format: &Format, number: &str) -> Option<Self> {
        let place = |name: &str| Some(format.field(name)?.offset);
        Some(Self {
            id: format.id,
            pid: place("common_pid")?,
            number: place(number)?,
            calls: place("caller")?,
        })
    }

    /// Returns up to `most` calls; what follows the first 0 is none.
    fn calls(&self, payload: &[u8], most: usize) -> Vec<u64> {
        let (calls, _) = payload.get(self.calls..).unwrap_or_default().as_chunks();
        let calls = calls.iter().take(most).map(|bytes| u64::from_le_bytes(*bytes));
        calls.take_while(|&call| call != 0).collect()
    }
}

impl Stacks {
    /// Returns a reader of events with these formats; `None` if one lacks a field.
    pub(super) fn new(kernel: &Format, user: &Format) -> Option<Self> {
        let (kernel, user) = (Place::new(kernel, "size")?, Place::new(user, "tgid")?);
        Some(Self { kernel, user, open: HashMap::new(), new: vec![] })
    }

    /// Notes an event whose stacks may follow.
    pub(super) fn begin(&mut self, cpu: u32, ticks: u64, thread: i32) {
        let next = RawStack { cpu, ticks, thread, ..RawStack::default() };
        self.new.extend(self.open.insert(cpu, next).filter(RawStack::has_calls));
    }

    /// Reads an event of `cpu`, if it is a stack of the last event there.
    pub(super) fn read(&mut self, cpu: u32, id: u16, payload: &[u8]) {
        let Some(open) = self.open.get_mut(&cpu) else { return };
        let is_its =
            |place: &Place| place.id == id && word(payload, place.pid) as i32 == open.thread;
        if is_its(&self.kernel) && open.kernel.is_empty() {
            let most = word(payload, self.kernel.number);
            open.kernel = self.kernel.calls(payload, most as usize);
        } else if is_its(&self.user) && open.user.is_empty() {
            open.process = word(payload, self.user.number);
            open.user = self.user.calls(payload, usize::MAX);
        }
    }

    /// Takes the stacks that were read since the last call and are whole; `all` of them at the end.
    pub(super) fn take(&mut self, all: bool) -> Vec<RawStack> {
        if all {
            self.new.extend(self.open.drain().map(|(_, open)| open).filter(RawStack::has_calls));
            self.new.sort_by_key(|stack| (stack.cpu, stack.ticks));
        }
        std::mem::take(&mut self.new)
    }
}

impl RawStack {
    fn has_calls(&self) -> bool {
        !(self.kernel.is_empty() && self.user.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
    const CALLS: &str = "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n";

    fn reader() -> Stacks {
        let kernel = format!(
            "name: kernel_stack\nID: 4\n{HEAD}\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n{CALLS}"
        );
        let user = format!(
            "name: user_stack\nID: 13\n{HEAD}\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n{CALLS}"
        );
        let parse = |text: &str| Format::parse(text).expect("the kernel's text");
        Stacks::new(&parse(&kernel), &parse(&user)).expect("they have all fields")
    }

    fn payload(id: u16, thread: i32, number: u32, calls: &[u64]) -> Vec<u8> {
        let calls = calls.iter().flat_map(|call| call.to_le_bytes());
        let head =
            [&id.to_le_bytes()[..], &[0; 2], &thread.to_le_bytes(), &number.to_le_bytes(), &[0; 4]];
        head.concat().into_iter().chain(calls).collect()
    }

    #[test]
    fn a_stack_belongs_to_the_event_before_it() {
        let mut reader = reader();
        reader.read(0, 4, &payload(4, 7, 1, &[1])); // without an event
        reader.begin(0, 100, 7);
        reader.read(1, 4, &payload(4, 7, 1, &[2])); // on another CPU
        reader.read(0, 4, &payload(4, 8, 1, &[3])); // of another thread: its event was lost
        reader.read(0, 4, &payload(4, 7, 2, &[10, 11, 12])); // its size is 2
        reader.read(0, 13, &payload(13, 7, 6, &[20, 21, 0, 22]));
        reader.read(0, 13, &payload(13, 7, 6, &[23])); // a second one
        reader.begin(0, 200, 9); // no stack follows
        reader.begin(0, 300, 7);
        (0..24).for_each(|length| reader.read(0, 4, &vec![0; length]));
        reader.read(0, 4, &payload(4, 7, u32::MAX, &[10]));
        let first = RawStack {
            cpu: 0,
            ticks: 100,
            thread: 7,
            kernel: vec![10, 11],
            process: 6,
            user: vec![20, 21],
        };
        assert_eq!(reader.take(false), [first]);
        let last = RawStack { ticks: 300, thread: 7, kernel: vec![10], ..RawStack::default() };
        assert_eq!(reader.take(true), [last]);
        assert_eq!(reader.take(true), []);
    }
}
