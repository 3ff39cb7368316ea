//! Tables with aligned columns.

mod rows;

pub(crate) use rows::Rows;

use crate::style::{Tone, View, clip, pad, pad_left, plain, width};
use std::io::{self, Write};

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Space between two columns if the table fits.
const GAP: usize = 2;

/// A table: headings, rows, and how to shorten and narrow it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// Rows of totals, which are always shown.
    totals: Vec<Vec<String>>,
    /// Notes beside rows; rows at the end may have none.
    asides: Vec<String>,
    groups: &'static [(&'static str, usize)],
    /// Number of rows in a shortened table; a page folds the others.
    shown: Option<usize>,
    /// Whether the terminal shows all rows.
    whole: bool,
    /// Text in place of the other rows.
    more: String,
    gap: Option<usize>,
    /// The column by which the rows are sorted, the largest first; a page also sorts them by the others.
    sorted: Option<usize>,
    /// The sources of noise that the rows are about, whose symbols a page shows.
    symbols: Vec<Symbol>,
}

/// Identifier and name of a source of noise, for its symbol.
pub(crate) type Symbol = (String, String);

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    head: String,
    pub align: Align,
    /// Columns with larger numbers are dropped first if the table is too wide; 0 stays.
    goes: u8,
    /// Whether it takes the remaining width and is cut there.
    takes_rest: bool,
    /// Width at which the terminal cuts its cells.
    most: Option<usize>,
    /// Its heading on a page, which has more room.
    long: Option<&'static str>,
    /// What its cells are, in a sentence that a page shows above the heading.
    pub what: Option<&'static str>,
    /// Whether only a page has it.
    only_page: bool,
    /// The values by which a page sorts; without them it sorts by the texts.
    pub values: Vec<f64>,
    pub form: Form,
}

/// What the numbers of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Values.
    Values,
    /// Shares, which a page also draws as bars.
    Shares,
    /// The sum of the column before it from the first row on. It follows the order of the rows, so nothing is sorted by it.
    RunningTotal,
}

impl Column {
    fn new(head: &str, align: Align, goes: u8) -> Self {
        Self {
            head: plain(head),
            align,
            goes,
            takes_rest: false,
            most: None,
            long: None,
            what: None,
            only_page: false,
            values: vec![],
            form: Form::Values,
        }
    }

    /// Returns the heading on a page.
    pub(crate) fn heading(&self) -> &str {
        self.long.unwrap_or(&self.head)
    }
}

impl Table {
    /// Returns a table with these columns and no rows.
    pub(crate) fn new(heads: &[(&str, Align)]) -> Self {
        let columns = heads.iter().map(|(head, align)| Column::new(head, *align, 0)).collect();
        Self { columns, ..Self::default() }
    }

    /// Returns a table of numbers.
    pub(crate) fn numeric(heads: &[&str]) -> Self {
        let columns = heads.iter().map(|head| Column::new(head, Align::Right, 0)).collect();
        Self { columns, ..Self::default() }
    }

    /// Returns a table with a column of names, followed by numbers.
    pub(crate) fn with_names(name: &str, heads: &[&str]) -> Self {
        let mut table = Self::numeric(heads);
        table.columns.insert(0, Column::new(name, Align::Left, 0));
        table
    }

    /// Adds a row with a cell for every column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| plain(cell)).collect());
    }

    /// Adds a row of totals, which a shortened table also shows; missing cells are empty.
    pub(crate) fn total(&mut self, mut cells: Vec<String>) {
        cells.resize(self.columns.len(), String::new());
        self.totals.push(cells.iter().map(|cell| plain(cell)).collect());
    }

    /// Adds a note beside the last row.
    pub(crate) fn aside(&mut self, text: &str) {
        self.asides.resize(self.rows.len().saturating_sub(1), String::new());
        self.asides.push(plain(text));
    }

    /// Adds a note beside each row.
    pub(crate) fn asides<'a>(&mut self, texts: impl Iterator<Item = &'a str>) {
        self.asides = texts.map(plain).collect();
    }

    /// Adds a column unless it is empty, or all its cells are dashes.
    fn add(&mut self, column: Column, cells: impl Iterator<Item = String>) {
        let cells: Vec<String> = cells.collect();
        if cells.iter().any(|cell| !cell.is_empty() && cell != "–") {
            self.push(column, cells.into_iter());
        }
    }

    fn push(&mut self, column: Column, cells: impl Iterator<Item = String>) {
        let cells: Vec<String> = cells.map(|cell| plain(&cell)).collect();
        self.rows.resize(self.rows.len().max(cells.len()), vec![String::new(); self.columns.len()]);
        self.columns.push(column);
        self.rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
    }

    /// Names the columns that are dropped if the table is too wide, the last of these first.
    pub(crate) fn leaving_out(mut self, heads: &[&str]) -> Self {
        for (goes, head) in (1..).zip(heads) {
            let columns = self.columns.iter_mut().filter(|column| column.head == *head);
            columns.for_each(|column| column.goes = goes);
        }
        self
    }

    /// Returns this table if it fits, else another one.
    pub(crate) fn or_if_too_wide(self, view: &View<'_>, other: impl FnOnce() -> Table) -> Self {
        if self.laid_out(view.columns()).width() <= view.columns() { self } else { other() }
    }

    /// Lets the last column take the remaining width, where it is cut.
    pub(crate) fn last_takes_rest(mut self) -> Self {
        self.columns.iter_mut().next_back().into_iter().for_each(|last| last.takes_rest = true);
        self
    }

    /// Sets a caption for screen readers.
    pub(crate) fn captioned(mut self, caption: &str) -> Self {
        self.caption = caption.to_owned();
        self
    }

    /// Adds a line above the headings with names of groups of columns and the number of columns in each.
    pub(crate) fn grouped(mut self, groups: &'static [(&'static str, usize)]) -> Self {
        self.groups = groups;
        self
    }

    /// Shortens the table to this many rows, followed by a text for the others.
    pub(crate) fn folded(mut self, shown: usize, more: impl Into<String>) -> Self {
        (self.shown, self.more) = (Some(shown), more.into());
        self
    }

    /// Shortens the table to its first rows, in the terminal unless all are wanted; `more` returns the text for the number
    /// of hidden rows.
    pub(crate) fn first(self, most: usize, all: bool, more: impl FnOnce(usize) -> String) -> Self {
        match self.rows.len().checked_sub(most) {
            Some(left @ 1..) => Self { whole: all, ..self.folded(most, more(left)) },
            _ => self,
        }
    }

    /// Returns the caption for screen readers.
    pub(crate) fn caption(&self) -> &str {
        &self.caption
    }

    /// Returns names of groups of columns and the number of columns in each.
    pub(crate) fn groups(&self) -> &[(&str, usize)] {
        self.groups
    }

    /// Returns the rows of totals.
    pub(crate) fn totals(&self) -> &[Vec<String>] {
        &self.totals
    }

    /// Lets a page sort the rows, which are sorted by this column now, the largest first.
    pub(crate) fn sorted_by(mut self, head: &str) -> Self {
        self.sorted = self.columns.iter().position(|column| column.head == head);
        self
    }

    /// Returns the column by which the rows are sorted, if a page can sort them.
    pub(crate) fn sorted(&self) -> Option<usize> {
        self.sorted
    }

    /// Shows the symbol of a source of noise in each row of a page.
    pub(crate) fn with_symbols(mut self, symbols: impl Iterator<Item = Symbol>) -> Self {
        self.symbols = symbols.collect();
        self
    }

    /// Returns the source of noise that a row is about.
    pub(crate) fn symbol(&self, row: usize) -> Option<&Symbol> {
        self.symbols.get(row)
    }

    /// Returns the note beside a row.
    pub(crate) fn note(&self, row: usize) -> Option<&str> {
        self.asides.get(row).map(String::as_str).filter(|note| !note.is_empty())
    }

    /// Returns the columns.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the rows, with one cell for each column.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Returns the width of each column.
    fn widths(&self) -> Vec<usize> {
        (0..self.columns.len()).map(|column| self.width_of(column)).collect()
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.shown_rows().filter_map(|row| row.get(column));
        let head = width(&self.columns[column].head);
        cells.map(|cell| width(cell)).fold(head, usize::max)
    }

    /// Returns the number of rows that a page does not fold.
    pub(crate) fn unfolded(&self) -> usize {
        self.shown.unwrap_or(usize::MAX).min(self.rows.len())
    }

    /// Returns the number of rows that the terminal shows.
    fn shown(&self) -> usize {
        if self.whole { self.rows.len() } else { self.unfolded() }
    }

    fn shown_rows(&self) -> impl Iterator<Item = &Vec<String>> {
        self.rows[..self.shown()].iter().chain(&self.totals)
    }

    /// Narrows the space between columns if that makes the table fit.
    fn fit(mut self, columns: usize) -> Self {
        if self.width() > columns {
            self.gap = Some(1);
        }
        self
    }

    /// Fits the table into this many columns of text: drops the least important columns, narrows the space between the
    /// others, and cuts the last one.
    pub(crate) fn laid_out(&self, columns: usize) -> Self {
        let mut table = self.clone();
        table.keep_for_terminal();
        table.gap = Some(1);
        while table.width() > columns {
            let last = table.columns.iter().enumerate().max_by_key(|(_, column)| column.goes);
            match last {
                Some((place, column)) if column.goes > 0 => table.remove(place),
                _ => break,
            }
        }
        table.gap = None;
        let mut table = table.fit(columns);
        if table.columns.last().is_some_and(|last| last.takes_rest) {
            let room = columns.saturating_sub(table.width());
            let rows = table.rows.iter_mut().chain(&mut table.totals);
            let last = rows.filter_map(|row| row.last_mut());
            last.for_each(|cell| *cell = clip(cell, room));
        }
        table
    }

    /// Removes the columns that only a page has, and cuts cells that are too wide for a terminal.
    fn keep_for_terminal(&mut self) {
        let only_page = |column: &Column| column.only_page;
        while let Some(place) = self.columns.iter().position(only_page) {
            self.remove(place);
        }
        for (place, most) in self.columns.iter().map(|column| column.most).enumerate() {
            let Some(most) = most else { continue };
            let cells = self.rows.iter_mut().filter_map(|row| row.get_mut(place));
            cells.for_each(|cell| *cell = clip(cell, most));
        }
    }

    fn remove(&mut self, column: usize) {
        self.columns.remove(column);
        let rows = self.rows.iter_mut().chain(&mut self.totals);
        rows.for_each(|row| drop(row.remove(column)));
    }

    /// Returns the space between two columns.
    fn gap(&self) -> usize {
        self.gap.unwrap_or(GAP)
    }

    /// Returns the total width.
    fn width(&self) -> usize {
        let widths = self.columns.iter().enumerate().map(|(place, column)| {
            // It is cut to what the others leave.
            if column.takes_rest { 0 } else { self.width_of(place) }
        });
        widths.sum::<usize>() + self.gap() * self.columns.len().saturating_sub(1)
    }

    /// Returns headings and rows without colour.
    fn lines(&self) -> (String, Vec<String>) {
        let widths = self.widths();
        let heads: Vec<String> = self.columns.iter().map(|column| column.head.clone()).collect();
        let rows = self.shown_rows().map(|row| self.line(row, &widths)).collect();
        (self.line(&heads, &widths), rows)
    }

    /// Writes all visible rows, with notes beside them if they fit.
    pub(crate) fn print(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        let (heading, rows) = self.lines();
        if !self.groups.is_empty() {
            writeln!(out, "{}", view.style.paint(Tone::Quiet, &self.groups_line()))?;
        }
        writeln!(out, "{}", view.style.paint(Tone::Heading, heading.trim_end()))?;
        let asides = || self.asides.iter().take(self.shown()).map(String::as_str);
        let asides_fit = asides().all(|aside| self.width() + GAP + width(aside) <= view.columns());
        let asides = asides().chain(std::iter::repeat(""));
        for (row, aside) in rows.iter().zip(asides) {
            print_row(row, aside, asides_fit, view, out)?;
        }
        if self.shown() < self.rows.len() {
            writeln!(out, "{}", view.style.paint(Tone::Quiet, &self.more))?;
        }
        Ok(())
    }

    /// Returns the line above the headings: the name of each group in a rule over its columns.
    fn groups_line(&self) -> String {
        let (widths, gap) = (self.widths(), self.gap());
        let mut start = 0;
        let groups = self.groups.iter().map(|(name, columns)| {
            let wide = widths[start..start + columns].iter().sum::<usize>() + gap * (columns - 1);
            start += columns;
            if name.is_empty() {
                return " ".repeat(wide);
            }
            let dashes = wide.saturating_sub(width(name) + 2);
            format!("{} {name} {}", "─".repeat(dashes / 2), "─".repeat(dashes - dashes / 2))
        });
        groups.collect::<Vec<_>>().join(&" ".repeat(gap)).trim_end().to_owned()
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let padded =
            cells.iter().zip(widths).zip(&self.columns).map(|((cell, &wide), column)| match column
                .align
            {
                Align::Left => pad(cell, wide),
                Align::Right => pad_left(cell, wide),
            });
        padded.collect::<Vec<_>>().join(&" ".repeat(self.gap()))
    }
}

/// Prints a row with its note, at its end if the notes of all rows fit there, else below it.
fn print_row(
    row: &str,
    aside: &str,
    asides_fit: bool,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let quiet = |text: &str| view.style.paint(Tone::Quiet, text);
    if aside.is_empty() {
        return writeln!(out, "{}", row.trim_end());
    }
    if asides_fit {
        return writeln!(out, "{row}{}{}", " ".repeat(GAP), quiet(aside));
    }
    writeln!(out, "{}", row.trim_end())?;
    writeln!(out, "{}", quiet(&clip(&format!("  └ {aside}"), view.columns())))
}
