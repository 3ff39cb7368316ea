//! How text is shown: width, colour, and how much of it.

use std::path::Path;

/// How text is shown.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Colour or none.
    pub style: Style,
    /// Columns of the screen; at least 60 are used.
    pub width: usize,
    /// Show every row, where usually the small ones are folded.
    pub all: bool,
    /// Where the recording lies, for the last line.
    pub path: Option<&'a Path>,
}

impl Default for View<'_> {
    /// Plain text of 80 columns.
    fn default() -> Self {
        Self { style: Style { color: false }, width: 80, all: false, path: None }
    }
}

impl View<'_> {
    /// Columns to use.
    pub(crate) fn columns(&self) -> usize {
        self.width.max(60)
    }
}

/// Colour or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to colour: a terminal, and `NO_COLOR` not set.
    pub color: bool,
}

/// What a piece of text is, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Heading,
    Quiet,
    Good,
    Warning,
    Bad,
    Bar,
    /// One of several curves in a figure, by number.
    Series(u8),
}

/// Colours of curves, told apart by most eyes; the shapes differ too.
const SERIES: [&str; 6] = ["36", "33", "35", "32", "34", "31"];

impl Style {
    /// The text in its colour.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Heading => "1",
            Tone::Quiet => "2",
            Tone::Good => "32",
            Tone::Warning => "33",
            Tone::Bad => "31",
            Tone::Bar => "36",
            Tone::Series(number) => SERIES[usize::from(number) % SERIES.len()],
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Text from outside (names of tasks and devices) without anything that moves the cursor.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Columns that a text takes. The names and units here are all one column a character.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// The text, cut to so many columns; a cut shows as `…`.
pub(crate) fn clip(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Words that stay on the line of the number before them.
const UNITS: [&str; 6] = ["%", "ns", "µs", "ms", "s", "·"];

/// The text in lines of at most so many columns, broken at spaces; longer words stay whole.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    let mut words: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(number) if UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')'])) => {
                *number += &format!(" {word}")
            }
            _ => words.push(word.to_owned()),
        }
    }
    for word in &words {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_move_the_cursor() {
        assert_eq!(plain("a\x1b[2Jb\n\t\u{9b}c"), "a?[2Jb???c");
    }

    #[test]
    fn clipped_and_wrapped() {
        for (text, columns, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("µµµµ", 2, "µ…"),
            ("ab cd", 4, "ab…"),
            ("", 0, ""),
        ] {
            assert_eq!(clip(text, columns), expected, "{text} in {columns}");
        }
        assert_eq!(wrap("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrap("/a/very/long/path x", 5), ["/a/very/long/path", "x"]);
        assert_eq!(wrap("takes 5 µs; 1", 9), ["takes", "5 µs; 1"], "a number and its unit");
        assert_eq!(wrap("", 5), Vec::<String>::new());
    }

    #[test]
    fn colour_only_where_asked() {
        assert_eq!(Style { color: false }.paint(Tone::Bad, "x"), "x");
        assert_eq!(Style { color: true }.paint(Tone::Bad, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(Style { color: true }.paint(Tone::Bad, ""), "");
    }
}
