//! How text is displayed: width, colour, and amount.

use anechoic_recording::is_control;
use std::path::Path;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How text is displayed.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Colours.
    pub style: Style,
    /// Width of the screen in columns, of which at least 60 are used.
    pub width: usize,
    /// Whether to show every row instead of a shortened screen.
    pub all: bool,
    /// Path of the recording for the last line.
    pub path: Option<&'a Path>,
}

impl Default for View<'_> {
    /// Returns a view for plain text of 80 columns.
    fn default() -> Self {
        Self { style: Style { color: false }, width: 80, all: false, path: None }
    }
}

impl View<'_> {
    /// Returns the number of columns to use.
    pub(crate) fn columns(&self) -> usize {
        self.width.max(60)
    }
}

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colour: on a terminal, unless `NO_COLOR` is set.
    pub color: bool,
}

/// The role of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Heading,
    Quiet,
    Good,
    Warning,
    Bad,
    Bar,
    /// One of several curves in a figure, by number.
    Series(u8),
}

/// Colours of curves that most people can distinguish; the shapes differ as well.
const SERIES: [&str; 6] = ["36", "33", "35", "32", "34", "31"];

impl Style {
    /// Returns the text in its colour.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Plain => return text.to_owned(),
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

/// Replaces control characters in text from outside (names of tasks, devices and files), so that nothing moves the cursor
/// or turns the direction of writing.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if is_control(c) { '?' } else { c }).collect()
}

/// Returns a path as it is displayed, without control characters.
#[must_use]
pub fn shown(path: &Path) -> String {
    plain(&path.display().to_string())
}

/// Returns the number of columns of a text: Chinese, Japanese and Korean letters take two, combining accents none.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Pads the text with spaces on the right.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Pads the text with spaces on the left.
pub(crate) fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Cuts the text to this many columns; a cut shows as `…`.
pub(crate) fn clip(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let kept = text.chars().take_while(|letter| {
        let wide = letter.width().unwrap_or(1);
        let fits = wide <= left;
        left = left.saturating_sub(wide);
        fits
    });
    let kept: String = kept.collect();
    format!("{}…", kept.trim_end())
}

/// Words that stay on the line of the preceding number.
const UNITS: [&str; 6] = ["%", "ns", "µs", "ms", "s", "·"];

/// Wraps the text at spaces into lines of at most this many columns; longer words stay whole.
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

/// Capitalises the first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Joins items: `a, b and c`.
pub(crate) fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let texts: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match &texts[..] {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        texts => texts.concat(),
    }
}

/// Stands for a space at which lines do not break; no text contains it, and unlike U+00A0 it is not white space.
const GLUE: &str = "\u{e000}";

/// Wraps the text into lines of at most this many columns where one of its parts (`a · b · c`) ends; longer parts are
/// cut.
pub(crate) fn wrap_parts(text: &str, columns: usize) -> Vec<String> {
    let glued: Vec<String> = text.split(" · ").map(|part| part.replace(' ', GLUE)).collect();
    let lines = wrap(&glued.join(" · "), columns).into_iter();
    lines.map(|line| clip(&line.replace(GLUE, " "), columns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_move_the_cursor() {
        assert_eq!(plain("a\x1b[2Jb\n\t\u{9b}c"), "a?[2Jb???c");
        assert_eq!(plain("a\u{202e}b\u{2066}c\u{2069}\u{200e}\u{61c}"), "a?b?c???");
        assert_eq!(plain("שלום é 測定 👩\u{200d}💻"), "שלום é 測定 👩\u{200d}💻", "letters stay");
        assert_eq!(shown(Path::new("n\x1b[31m/r")), "n?[31m/r");
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
    fn wide_letters_take_two_columns() {
        for (text, columns) in
            [("abc", 3), ("µ–…█⣿", 5), ("測定", 4), ("かな", 4), ("한글", 4), ("e\u{301}", 1)]
        {
            assert_eq!(width(text), columns, "{text}");
        }
        for (text, columns, expected) in
            [("測定機", 6, "測定機"), ("測定機", 5, "測定…"), ("測定機", 4, "測…")]
        {
            assert_eq!(clip(text, columns), expected, "{text} in {columns}");
        }
        assert_eq!(pad("測定", 6), "測定  ");
        assert_eq!(pad_left("測", 4), "  測");
        assert_eq!(wrap("測定 機械 x", 6), ["測定", "機械 x"]);
    }

    #[test]
    fn lines_end_where_parts_do() {
        assert_eq!(
            wrap_parts("one two · three four · five", 14),
            ["one two ·", "three four ·", "five"]
        );
    }

    #[test]
    fn sentences() {
        assert_eq!(["its", "éa", ""].map(capital), ["Its", "Éa", ""]);
        assert_eq!(
            [&[][..], &["a"], &["a", "b"], &["a", "b", "c"]].map(listed),
            ["", "a", "a and b", "a, b and c"]
        );
    }

    #[test]
    fn colour_only_where_asked() {
        assert_eq!(Style { color: false }.paint(Tone::Bad, "x"), "x");
        assert_eq!(Style { color: true }.paint(Tone::Bad, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(Style { color: true }.paint(Tone::Bad, ""), "");
    }
}
