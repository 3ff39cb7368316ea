//! A screen as data: its parts with their sentences and tables, for JSON.

use super::{Content, Screen, Shape, Text};
use crate::style::Tone;
use crate::table::Table;
use schemars::JsonSchema;
use serde::Serialize;

/// A part of a screen under one heading.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct Part {
    /// The heading; absent before the first one.
    heading: Option<String>,
    /// Sentences and notes, in order.
    sentences: Vec<String>,
    /// What makes the numbers doubtful.
    warnings: Vec<String>,
    /// Names and the text beside each.
    facts: Vec<NamedText>,
    /// The tables, in order.
    tables: Vec<Rows>,
    /// The captions of the figures that a page draws.
    figures: Vec<String>,
}

/// A name and the text beside it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct NamedText {
    name: String,
    text: String,
}

/// A table.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Rows {
    /// What the table shows.
    caption: String,
    /// The headings of the columns. An empty one names nothing.
    columns: Vec<String>,
    /// The rows, each with a cell for every column.
    rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct Cell {
    /// The text as it is printed; `–` if there is no value.
    text: String,
    /// The number that the text begins with, rounded as it is printed; absent for names and lists.
    value: Option<f64>,
    /// The unit of the number; absent if it has none, or the heading names it.
    unit: Option<String>,
}

impl Part {
    fn is_empty(&self) -> bool {
        self.sentences.is_empty()
            && self.warnings.is_empty()
            && self.facts.is_empty()
            && self.tables.is_empty()
            && self.figures.is_empty()
    }
}

impl Screen {
    /// Returns what a page shows of the screen as data, in reading order.
    pub(crate) fn document(&self) -> Vec<Part> {
        let mut parts = vec![Part::default()];
        add(self, &mut parts);
        parts.retain(|part| !part.is_empty() || part.heading.is_some());
        parts
    }

    /// Returns all warnings of the screen.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.document().into_iter().flat_map(|part| part.warnings).collect()
    }
}

/// Adds a screen to the parts before it.
fn add(screen: &Screen, parts: &mut Vec<Part>) {
    for content in screen.shown_on_page() {
        match content {
            Content::Text(text) if text.is_title() => begin(&text.text, parts),
            Content::Part(section, screen) => {
                begin(section.title, parts);
                add(screen, parts);
            }
            Content::Details(details) => {
                begin(&details.summary, parts);
                add(&details.screen, parts);
            }
            Content::Pair(screen) => add(screen, parts),
            Content::Noisiest(series) => series.iter().for_each(|screen| add(screen, parts)),
            content => {
                if let Some(part) = parts.last_mut() {
                    part.add(content);
                }
            }
        }
    }
}

fn begin(heading: &str, parts: &mut Vec<Part>) {
    parts.push(Part { heading: Some(heading.to_owned()), ..Part::default() });
}

impl Part {
    /// Adds a block without blocks inside it.
    fn add(&mut self, content: &Content) {
        match content {
            Content::Text(text) if text.is_warning() => self.warnings.push(text.text.clone()),
            Content::Text(text) => self.sentences.push(text.text.clone()),
            Content::Facts(facts) => {
                for fact in &facts.rows {
                    let (name, text) = (fact.name.trim().to_owned(), fact.text.clone());
                    if matches!(fact.tone, Tone::Warning | Tone::Bad) {
                        self.warnings.push(format!("{name}: {text}"));
                    }
                    self.facts.push(NamedText { name, text });
                }
            }
            Content::Table(table) => self.tables.push(rows(table)),
            Content::Picture(_, caption) => self.figures.push(caption.clone()),
            Content::Pair(_)
            | Content::Part(..)
            | Content::Noisiest(_)
            | Content::Details(_)
            | Content::Gap => {}
        }
    }
}

impl Text {
    fn is_title(&self) -> bool {
        self.tone == Tone::Heading && matches!(self.shape, Shape::Clipped | Shape::Section)
    }

    fn is_warning(&self) -> bool {
        self.mark == "! " || matches!(self.tone, Tone::Warning | Tone::Bad)
    }
}

fn rows(table: &Table) -> Rows {
    let columns = table.columns().iter().map(|column| column.heading().to_owned());
    let row = |cells: &Vec<String>| cells.iter().map(|text| cell(text)).collect();
    Rows {
        caption: table.caption().to_owned(),
        columns: columns.collect(),
        rows: table.rows().iter().chain(table.totals()).map(row).collect(),
    }
}

/// Returns a cell with the number and the unit in its text: `1,000 Hz`, `19.3 ± 0.2 µs`, `2.19 %`, `7`.
fn cell(text: &str) -> Cell {
    let text = text.trim();
    let mut words: Vec<&str> = text.split_whitespace().collect();
    if words.get(1) == Some(&"±") && words.get(2).is_some_and(|word| number(word).is_some()) {
        words.drain(1..3);
    }
    let (value, unit) = match words[..] {
        [only] => (number(only), None),
        [first, unit] if unit.starts_with(|letter: char| !letter.is_ascii_digit()) => {
            (number(first), Some(unit.to_owned()))
        }
        _ => (None, None),
    };
    Cell { text: text.to_owned(), value, unit: unit.filter(|_| value.is_some()) }
}

/// Returns the number that this is, with commas between thousands.
fn number(text: &str) -> Option<f64> {
    let digits = text.replace(',', "").replace('−', "-");
    let is_number = digits.ends_with(|letter: char| letter.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_the_number_and_the_unit_of_its_text() {
        for (text, value, unit) in [
            ("1,000 Hz", Some(1000.0), Some("Hz")),
            ("2.19 %", Some(2.19), Some("%")),
            ("19.3 ± 0.2 µs", Some(19.3), Some("µs")),
            (" 7", Some(7.0), None),
            ("−0.5 µs", Some(-0.5), Some("µs")),
            ("–", None, None),
            ("0-3", None, None),
            ("0.5–1.5", None, None),
            ("inf", None, None),
            ("call-reg", None, None),
            ("3 of 4", None, None),
            ("2 3", None, None),
        ] {
            let found = cell(text);
            assert_eq!((found.value, found.unit.as_deref()), (value, unit), "{text}");
        }
    }

    #[test]
    fn a_screen_is_parts_with_sentences_warnings_and_tables() {
        let mut table = Table::with_names("name", &["time"]);
        table.row(vec!["a".into(), "2 µs".into()]);
        let screen = Screen::from_fn(|screen| {
            screen.sentence("First.");
            screen.section("times");
            screen.warning("Doubtful.");
            screen.table(table.captioned("Times"));
            screen.in_terminal(|terminal| terminal.sentence("Only there."));
        });
        let parts = screen.document();
        let [first, times] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!((&first.heading, &first.sentences[..]), (&None, &["First.".to_owned()][..]));
        assert_eq!(times.heading.as_deref(), Some("times"));
        assert_eq!(
            (&times.warnings[..], times.sentences.len()),
            (&["Doubtful.".to_owned()][..], 0)
        );
        assert_eq!(times.tables[0].rows[0][1], cell("2 µs"));
        assert_eq!(screen.warnings(), ["Doubtful."]);
    }
}
