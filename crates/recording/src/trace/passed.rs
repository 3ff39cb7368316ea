//! Reads the marks with which a recorded program divides its run into iterations.

use super::format::Format;
use super::marks::MARK;
use crate::rows::Mark;
use std::collections::HashSet;
use std::sync::Arc;

/// Largest number of bytes of a label.
const MOST_LABEL: usize = 64;
/// Largest number of different labels. Marks with a further one have none.
const MOST_LABELS: usize = 1 << 16;

/// Which events are marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkText {
    /// Each event of this format.
    None,
    /// Each text, unless it is one of the tool's own.
    Any,
    /// Each text that begins so.
    Beginning(String),
}

/// Reads marks.
#[derive(Debug)]
pub(super) struct Passed {
    id: u16,
    /// Where the number of the thread and the text lie in the event, in bytes.
    pid: usize,
    text: Option<usize>,
    /// How a text begins that is a mark.
    prefix: Vec<u8>,
    labels: HashSet<Arc<str>>,
    new: Vec<Mark>,
    joined_lines: u64,
}

impl Passed {
    /// Returns a reader of the events of this format; `None` if it lacks a field.
    pub(super) fn new(format: &Format, text: &MarkText) -> Option<Self> {
        let place = match text {
            MarkText::None => None,
            MarkText::Any | MarkText::Beginning(_) => Some(format.field("buf")?.offset),
        };
        let prefix = match text {
            MarkText::Beginning(prefix) => prefix.clone().into_bytes(),
            MarkText::None | MarkText::Any => vec![],
        };
        Some(Self {
            id: format.id,
            pid: format.field("common_pid")?.offset,
            text: place,
            prefix,
            labels: HashSet::new(),
            new: vec![],
            joined_lines: 0,
        })
    }

    /// Reads an event of `cpu`, if it is a mark.
    pub(super) fn read(&mut self, cpu: u32, ticks: u64, id: u16, payload: &[u8]) {
        let pid = payload.get(self.pid..).and_then(|bytes| bytes.first_chunk());
        let (Some(pid), true) = (pid, id == self.id) else { return };
        let mut label = Arc::from("");
        if let Some(place) = self.text {
            let text = payload.get(place..).unwrap_or_default();
            let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
            let Some(rest) = text.strip_prefix(&*self.prefix) else { return };
            if text.starts_with(MARK.as_bytes()) {
                return;
            }
            let mut lines = rest.trim_ascii_end().split(|&byte| byte == b'\n');
            label = self.label(lines.next().unwrap_or_default().trim_ascii());
            self.joined_lines += lines.count() as u64;
        }
        self.new.push(Mark { cpu, ticks, thread: i32::from_le_bytes(*pid), label });
    }

    /// Returns the label with this text: the same one for the same text. Only a bounded number is kept.
    fn label(&mut self, text: &[u8]) -> Arc<str> {
        let text = String::from_utf8_lossy(&text[..text.len().min(MOST_LABEL)]);
        if let Some(known) = self.labels.get(&*text) {
            return Arc::clone(known);
        }
        if self.labels.len() >= MOST_LABELS {
            return Arc::from("");
        }
        let label: Arc<str> = Arc::from(&*text);
        self.labels.insert(Arc::clone(&label));
        label
    }

    /// Takes the marks that were read since the last call.
    pub(super) fn take(&mut self) -> Vec<Mark> {
        std::mem::take(&mut self.new)
    }

    /// Returns the number of lines so far that came in one write with an earlier line.
    pub(super) fn joined_lines(&self) -> u64 {
        self.joined_lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINT: &str = "name: print\nID: 5\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n";

    fn read(text: &MarkText, id: u16, written: &[u8]) -> (Vec<String>, u64) {
        let format = Format::parse(PRINT).expect("the kernel's text");
        let mut passed = Passed::new(&format, text).expect("it has all fields");
        let head = [&[0; 4][..], &4711_i32.to_le_bytes(), &[0; 8]].concat();
        passed.read(3, 99, id, &[&head, written].concat());
        (0..24).for_each(|length| passed.read(3, 1, 6, &vec![0; length]));
        let marks = passed.take();
        assert!(marks.iter().all(|mark| (mark.cpu, mark.ticks, mark.thread) == (3, 99, 4711)));
        (marks.iter().map(|mark| mark.label.to_string()).collect(), passed.joined_lines())
    }

    #[test]
    fn a_write_is_a_mark_and_its_first_line_the_label() {
        let begins = MarkText::Beginning("B|frame ".into());
        let long = [b'x'; 200];
        type Case<'a> = (&'a str, &'a MarkText, u16, &'a [u8], &'a [&'a str], u64);
        let cases: [Case<'_>; 12] = [
            ("an entry of a function", &MarkText::None, 5, b"", &[""], 0),
            ("another event", &MarkText::None, 6, b"", &[], 0),
            ("a line", &MarkText::Any, 5, b"step 7\n\0\0", &["step 7"], 0),
            ("without an end", &MarkText::Any, 5, b"step 7", &["step 7"], 0),
            ("an empty line", &MarkText::Any, 5, b"\n\0", &[""], 0),
            ("several lines", &MarkText::Any, 5, b"a\nb\nc\n\0", &["a"], 2),
            ("the tool's own", &MarkText::Any, 5, b"anechoic thread 7\n\0", &[], 0),
            ("with the prefix", &begins, 5, b"B|frame 12\n\0", &["12"], 0),
            ("without the prefix", &begins, 5, b"frame 12\n\0", &[], 0),
            ("shorter than the prefix", &begins, 5, b"B|\0", &[], 0),
            ("no text", &MarkText::Any, 5, b"\xff\n\0", &["\u{fffd}"], 0),
            ("a long one", &MarkText::Any, 5, &long, &["x".repeat(64).leak()], 0),
        ];
        for (name, text, id, written, labels, joined) in cases {
            let expected = (labels.iter().map(|label| (*label).to_owned()).collect(), joined);
            assert_eq!(read(text, id, written), expected, "case: {name}");
        }
    }
}
