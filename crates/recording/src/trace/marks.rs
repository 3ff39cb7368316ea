//! Marks by which the tool finds its own threads in the trace.
//!
//! In a PID namespace, as in most containers, a thread learns only its number in that namespace, but events carry the
//! number that the kernel itself uses. A mark is an event that only one thread makes, and its text has the other number.

use super::format::Format;
use std::collections::BTreeMap;

/// Begins the text of a mark; the number of the thread follows.
pub const MARK: &str = "anechoic thread ";

/// Reads marks.
#[derive(Debug)]
pub(super) struct Marks {
    id: u16,
    /// Where the number of the thread and the text lie in the event, in bytes.
    pid: usize,
    text: usize,
    /// The number of a thread in events, by the number that it knows itself.
    threads: BTreeMap<i32, i32>,
}

impl Marks {
    /// Returns a reader of `ftrace:print` events; `None` if their format has no text.
    pub(super) fn new(format: &Format) -> Option<Self> {
        let (pid, text) = (format.field("common_pid")?.offset, format.field("buf")?.offset);
        Some(Self { id: format.id, pid, text, threads: BTreeMap::new() })
    }

    /// Reads an event, if it is a mark.
    pub(super) fn read(&mut self, id: u16, payload: &[u8]) {
        let pid = payload.get(self.pid..).and_then(|bytes| bytes.first_chunk());
        let (Some(pid), true) = (pid, id == self.id) else { return };
        let text = payload.get(self.text..).unwrap_or_default();
        let text = text.split(|&byte| byte == 0 || byte == b'\n').next().unwrap_or_default();
        let number = std::str::from_utf8(text).ok().and_then(|text| text.strip_prefix(MARK));
        if let Some(own) = number.and_then(|number| number.parse().ok()) {
            self.threads.insert(own, i32::from_le_bytes(*pid));
        }
    }

    /// Returns the number in events of the thread that knows itself as `own`, if it has made a mark.
    pub(super) fn thread(&self, own: i32) -> Option<i32> {
        self.threads.get(&own).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: print\nID: 5\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n";

    #[test]
    fn a_mark_gives_the_number_of_its_thread() {
        let format = Format::parse(FORMAT).expect("the kernel's text");
        let cases: [(&str, u16, &[u8], Option<i32>); 6] = [
            ("mark", 5, b"anechoic thread 7\n\0\0", Some(4711)),
            ("without an end", 5, b"anechoic thread 7", Some(4711)),
            ("another event", 6, b"anechoic thread 7\n", None),
            ("another program's text", 5, b"anechoic threads 7\n", None),
            ("another thread", 5, b"anechoic thread 77\n", None),
            ("no number", 5, b"anechoic thread \xff\n", None),
        ];
        for (name, id, text, expected) in cases {
            let mut marks = Marks::new(&format).expect("it has a text");
            let head = [&[0; 4][..], &4711_i32.to_le_bytes(), &[0; 8]].concat();
            marks.read(id, &[&head, text].concat());
            assert_eq!(marks.thread(7), expected, "case: {name}");
            (0..24).for_each(|length| marks.read(id, &vec![0; length]));
        }
    }
}
