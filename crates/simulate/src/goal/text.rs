//! The text of a schedule.

use super::labels::Labels;
use crate::schedule::{ANY_RANK, ANY_TAG, Action, Builder, LONGEST_NS, Schedule, bad};
use anechoic_recording::{Problem, ProblemKind};
use std::io::BufRead;

/// How a statement is written.
const A_STATEMENT: &str =
    "write `send 8b to 1 tag 0`, `recv 8b from 0`, `calc 1000` or `a requires b`";
/// More ranks than this are no sound file.
const MOST_RANKS: u64 = 1 << 28;
/// Longest accepted line, in bytes.
const LONGEST_LINE: u64 = 1 << 16;

/// Reads a schedule.
pub(super) fn read(mut input: impl BufRead) -> Result<Schedule, Problem> {
    let mut reader = Reader::default();
    let mut line = vec![];
    for number in 1_u64.. {
        line.clear();
        let mut limited = std::io::Read::take(&mut input, LONGEST_LINE);
        let read = limited.read_until(b'\n', &mut line).map_err(|error| {
            ProblemKind::NoInput.problem(format!("cannot read: {error}"), "name a GOAL file")
        })?;
        if read == 0 {
            break;
        }
        let taken = match read as u64 == LONGEST_LINE {
            true => Err(bad("the line is too long", A_STATEMENT)),
            false => reader.line(&line),
        };
        taken.map_err(|problem| problem.about(format_args!("line {number}")))?;
    }
    reader.finish()
}

/// What was read so far.
#[derive(Debug, Default)]
struct Reader {
    builder: Option<Builder>,
    labels: Labels,
    is_in_rank: bool,
    is_in_comment: bool,
    ranks: u32,
}

/// The words of a line that are left.
struct Words<'a> {
    text: &'a [u8],
}

impl<'a> Words<'a> {
    /// Returns the next word or sign.
    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let begin = self.text.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let text = &self.text[begin..];
        let length = match text.iter().position(|byte| !is_in_word(*byte)) {
            Some(0) => 1,
            Some(length) => length,
            None => text.len(),
        };
        self.text = &text[length..];
        Some(&text[..length])
    }

    /// Returns the next word if it is this one.
    #[inline]
    fn next_if(&mut self, word: &[u8]) -> bool {
        let before = self.text;
        let is_it = self.next() == Some(word);
        if !is_it {
            self.text = before;
        }
        is_it
    }

    fn expect(&mut self, word: &'static str) -> Result<(), Problem> {
        match self.next() {
            Some(found) if found == word.as_bytes() => Ok(()),
            found => Err(unexpected(found, word)),
        }
    }

    /// Returns the next number.
    #[inline]
    fn number(&mut self, most: u64) -> Result<u64, Problem> {
        let word = self.next();
        digits(word.unwrap_or(b"")).filter(|&number| number <= most).ok_or_else(|| {
            let why = format!("{} is not a number from 0 to {most}", shown(word));
            bad(why, A_STATEMENT)
        })
    }

    /// Returns the next number, or `any` for -1.
    fn number_or_any(&mut self, any: u32) -> Result<u32, Problem> {
        match self.next_if(b"-1") {
            true => Ok(any),
            false => Ok(self.number(u64::from(any - 1))? as u32),
        }
    }
}

#[inline]
fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

#[inline]
fn digits(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 19 {
        return None;
    }
    word.iter().try_fold(0_u64, |number, byte| {
        byte.is_ascii_digit().then(|| 10 * number + u64::from(byte - b'0'))
    })
}

/// Writes a word for an error.
fn shown(word: Option<&[u8]>) -> String {
    match word {
        Some(word) => format!("'{}'", String::from_utf8_lossy(&word[..word.len().min(40)])),
        None => "the end of the line".into(),
    }
}

fn unexpected(found: Option<&[u8]>, expected: &str) -> Problem {
    bad(format!("{} stands where '{expected}' is expected", shown(found)), A_STATEMENT)
}

impl Reader {
    /// Reads a line.
    fn line(&mut self, line: &[u8]) -> Result<(), Problem> {
        if self.is_in_comment || line.contains(&b'/') {
            let text = self.without_comments(line);
            return self.statements(&mut Words { text: &text });
        }
        self.statements(&mut Words { text: line })
    }

    /// Returns a line without the comments in it.
    fn without_comments(&mut self, mut line: &[u8]) -> Vec<u8> {
        let mut text = vec![];
        loop {
            let ends: &[u8] = if self.is_in_comment { b"*/" } else { b"/*" };
            let place = line.windows(2).position(|two| two == ends);
            let slashes = line.windows(2).position(|two| two == b"//");
            if let Some(end) =
                slashes.filter(|&at| !self.is_in_comment && at < place.unwrap_or(usize::MAX))
            {
                text.extend_from_slice(&line[..end]);
                return text;
            }
            if !self.is_in_comment {
                text.extend_from_slice(&line[..place.unwrap_or(line.len())]);
                text.push(b' ');
            }
            let Some(place) = place else { return text };
            self.is_in_comment = !self.is_in_comment;
            line = &line[place + 2..];
        }
    }

    fn statements(&mut self, words: &mut Words<'_>) -> Result<(), Problem> {
        while let Some(word) = words.next() {
            match (&mut self.builder, self.is_in_rank) {
                (None, _) if word == b"num_ranks" => {
                    self.ranks = words.number(MOST_RANKS)? as u32;
                    self.builder = Some(Builder::new(self.ranks));
                }
                (None, _) => return Err(unexpected(Some(word), "num_ranks")),
                (Some(_), false) if word == b"rank" => self.begin_rank(words)?,
                (Some(_), false) => return Err(unexpected(Some(word), "rank")),
                (Some(builder), true) if word == b"}" => {
                    builder.end_rank()?;
                    self.is_in_rank = false;
                }
                (Some(builder), true) => statement(builder, &mut self.labels, word, words)?,
            }
        }
        Ok(())
    }

    fn begin_rank(&mut self, words: &mut Words<'_>) -> Result<(), Problem> {
        let rank = words.number(MOST_RANKS)?;
        words.expect("{")?;
        let expected = self.builder.as_ref().map_or(0, Builder::rank);
        if rank != u64::from(expected) || expected >= self.ranks {
            let why =
                format!("rank {rank} stands where rank {expected} of {} is expected", self.ranks);
            return Err(bad(why, "give the ranks in ascending order from 0, each once"));
        }
        self.labels.clear();
        self.is_in_rank = true;
        Ok(())
    }

    fn finish(self) -> Result<Schedule, Problem> {
        let cut_off = |what: &str| bad(format!("the file ends {what}"), "it is not whole");
        match self.builder {
            _ if self.is_in_comment => Err(cut_off("inside a comment")),
            _ if self.is_in_rank => Err(cut_off("inside a rank")),
            None => Err(cut_off("before num_ranks")),
            Some(builder) => builder.finish(),
        }
    }
}

/// Reads the statement that begins with this word.
fn statement(
    builder: &mut Builder,
    labels: &mut Labels,
    word: &[u8],
    words: &mut Words<'_>,
) -> Result<(), Problem> {
    if matches!(word, b"send" | b"recv" | b"calc") {
        return operation(builder, word, words).map(|_| ());
    }
    if !word[0].is_ascii_alphabetic() {
        return Err(unexpected(Some(word), "an operation"));
    }
    let next = words.next();
    if next == Some(b":") {
        let word_after = words.next().unwrap_or(b"");
        let number = operation(builder, word_after, words)?;
        return match labels.add(word, number) {
            true => Ok(()),
            false => {
                Err(bad(format!("label {} exists", shown(Some(word))), "give it another name"))
            }
        };
    }
    let named = |word: Option<&[u8]>| {
        word.and_then(|word| labels.get(word)).ok_or_else(|| {
            let why = format!("there is no label {} before this line", shown(word));
            bad(why, "a dependency stands after both operations, in the block of their rank")
        })
    };
    match next {
        Some(b"requires") => builder.after(named(Some(word))?, named(words.next())?),
        Some(b"irequires") => builder.after_start(named(Some(word))?, named(words.next())?),
        _ => return Err(unexpected(next, "requires")),
    }
    Ok(())
}

/// Reads the operation that begins with this word, and returns its number.
fn operation(builder: &mut Builder, word: &[u8], words: &mut Words<'_>) -> Result<u32, Problem> {
    let mut action = match word {
        b"send" => {
            let bytes = size(words)?;
            words.expect("to")?;
            Action::Send { to: words.number(u64::from(ANY_RANK - 1))? as u32, bytes, tag: 0 }
        }
        b"recv" => {
            let bytes = size(words)?;
            words.expect("from")?;
            Action::Receive { from: words.number_or_any(ANY_RANK)?, bytes, tag: 0 }
        }
        b"calc" => Action::Compute { ns: words.number(LONGEST_NS)? },
        other => return Err(unexpected(Some(other), "send")),
    };
    if let Action::Send { tag, .. } | Action::Receive { tag, .. } = &mut action
        && words.next_if(b"tag")
    {
        *tag = words.number_or_any(ANY_TAG)?;
    }
    let cpu = if words.next_if(b"cpu") { words.number(u64::from(u8::MAX) - 1)? } else { 0 };
    let nic = if words.next_if(b"nic") { words.number(u64::from(u8::MAX) - 1)? } else { 0 };
    builder.add_on(action, cpu as u8, nic as u8)
}

/// Reads a length in bytes: `8b`.
#[inline]
fn size(words: &mut Words<'_>) -> Result<u64, Problem> {
    let word = words.next();
    let bytes = word.and_then(|word| word.strip_suffix(b"b")).and_then(digits);
    bytes.ok_or_else(|| bad(format!("{} is not a size like 8b", shown(word)), A_STATEMENT))
}
