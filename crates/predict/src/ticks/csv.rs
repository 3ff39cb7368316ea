//! Reads comma-separated values with a heading line.

use anechoic_recording::{Problem, ProblemKind, read_file};
use std::path::Path;

/// Largest accepted size of a file, in bytes.
const LARGEST: u64 = 16 << 20;
/// Larger numbers, and smaller ones than the inverse, cannot come from a measurement.
const MOST: f64 = 1e9;

/// Before the name of a column that may be absent.
const OPTIONAL: char = '?';

/// One row with its cells in the order of the requested columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row<'a, const N: usize> {
    file: &'a Path,
    columns: [&'static str; N],
    pub(super) line: usize,
    cells: [String; N],
}

/// Reads a file with exactly these columns in any order; those whose names begin with `?` may be absent. Empty lines are
/// ignored, a byte-order mark and both kinds of line ending are accepted, and a cell that contains a comma is enclosed in
/// double quotes.
///
/// # Errors
///
/// The file cannot be read, or a line of it cannot be parsed.
pub(super) fn read<'a, const N: usize>(
    file: &'a Path,
    columns: [&'static str; N],
) -> Result<Vec<Row<'a, N>>, Problem> {
    let bytes = read_file(file, LARGEST).map_err(|error| cannot_read(file, &error))?;
    parse(file, &bytes, columns)
}

fn cannot_read(file: &Path, error: &std::io::Error) -> Problem {
    let why = format!("cannot read {}: {error}", file.display());
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => ProblemKind::NoInput,
        _ => ProblemKind::Data,
    };
    kind.problem(why, "give a CSV file")
}

/// Parses the content of a file.
fn parse<'a, const N: usize>(
    file: &'a Path,
    bytes: &[u8],
    columns: [&'static str; N],
) -> Result<Vec<Row<'a, N>>, Problem> {
    let wanted = columns.map(|column| match column.strip_prefix(OPTIONAL) {
        Some(name) => format!("[{name}]"),
        None => column.to_owned(),
    });
    let wanted = wanted.join(",");
    let row_is = || format!("write rows as {wanted}");
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        in_line(file, line)(bad("the text is not UTF-8", "save the table as UTF-8"))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let mut lines = numbered.filter(|(_, line)| !line.trim().is_empty());
    let (line, heading) = lines.next().ok_or_else(|| {
        in_line(file, 1)(bad("the file is empty", format!("it needs the columns {wanted}")))
    })?;
    let heading = cells(heading).map_err(in_line(file, line))?;
    let places = places(&heading, &columns).map_err(|why| {
        let remedy = format!("the columns must be {wanted}, with these names in the first line");
        in_line(file, line)(bad(why, remedy))
    })?;
    let mut rows = vec![];
    for (line, text) in lines {
        let found = row_cells(text, &heading, row_is).map_err(in_line(file, line))?;
        let cells = places.map(|place| place.map_or(String::new(), |at| found[at].clone()));
        rows.push(Row { file, columns, line, cells });
    }
    if rows.is_empty() {
        return Err(in_line(file, line)(bad("no rows below the heading", row_is())));
    }
    Ok(rows)
}

/// Returns the cells of a row, one for each column of the heading and none of them empty; `row_is` is what to write.
fn row_cells(
    text: &str,
    heading: &[String],
    row_is: impl Fn() -> String,
) -> Result<Vec<String>, Problem> {
    let found = cells(text)?;
    if found.len() != heading.len() {
        let why = format!("{} cells instead of {}", found.len(), heading.len());
        return Err(bad(why, row_is()));
    }
    if let Some(empty) = found.iter().position(String::is_empty) {
        return Err(bad(format!("{} is missing", heading[empty].to_lowercase()), row_is()));
    }
    Ok(found)
}

/// An error in a file, and what was expected.
fn bad(why: impl Into<String>, remedy: impl Into<String>) -> Problem {
    ProblemKind::Data.problem(why, remedy)
}

/// Adds the line number to an error.
fn in_line(file: &Path, line: usize) -> impl Fn(Problem) -> Problem {
    move |problem| problem.about(format_args!("{}:{line}", file.display()))
}

/// Returns the position of each column in the heading, none for an optional one that is absent, or an error.
fn places<const N: usize>(
    heading: &[String],
    columns: &[&'static str; N],
) -> Result<[Option<usize>; N], String> {
    let is = |name: &str, column: &str| {
        name.eq_ignore_ascii_case(column.strip_prefix(OPTIONAL).unwrap_or(column))
    };
    let unknown = heading.iter().find(|name| !columns.iter().any(|column| is(name, column)));
    if let Some(unknown) = unknown {
        return Err(format!("unknown column \"{unknown}\""));
    }
    let mut places = [None; N];
    for (place, column) in places.iter_mut().zip(columns) {
        let mut found = (0..heading.len()).filter(|&at| is(&heading[at], column));
        *place = found.next();
        if place.is_none() && !column.starts_with(OPTIONAL) {
            return Err(format!("column {column} is missing"));
        }
        if found.next().is_some() {
            return Err(format!("there are two columns {column}"));
        }
    }
    Ok(places)
}

/// Returns the cells of a line without surrounding spaces.
fn cells(line: &str) -> Result<Vec<String>, Problem> {
    let mut cells = vec![];
    let mut rest = line;
    loop {
        let (cell, after) = match rest.trim_start().strip_prefix('"') {
            Some(quoted) => quoted_cell(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].trim().to_owned(), &rest[end..])
            }
        };
        cells.push(cell);
        match after.strip_prefix(',') {
            Some(after) => rest = after,
            None => return Ok(cells),
        }
    }
}

/// Returns the cell after an opening quote, and the rest of the line: empty, or a comma and more.
fn quoted_cell(quoted: &str) -> Result<(String, &str), Problem> {
    let mut cell = String::new();
    let mut rest = quoted;
    loop {
        let Some((text, after)) = rest.split_once('"') else {
            return Err(bad("a quotation mark is not closed", "close it on the same line"));
        };
        cell += text;
        // A doubled quotation mark is one of the text.
        if let Some(after) = after.strip_prefix('"') {
            cell.push('"');
            rest = after;
            continue;
        }
        let after = after.trim_start();
        if !after.is_empty() && !after.starts_with(',') {
            let why = "there is text after a closing quotation mark";
            return Err(bad(why, "write \"\" for a quotation mark in the text"));
        }
        return Ok((cell.trim().to_owned(), after));
    }
}

impl<const N: usize> Row<'_, N> {
    /// Returns an error of this row.
    pub(super) fn wrong(&self, why: impl Into<String>, remedy: impl Into<String>) -> Problem {
        in_line(self.file, self.line)(bad(why, remedy))
    }

    /// Returns the text of a column; empty if it is optional and absent.
    pub(super) fn text(&self, at: usize) -> &str {
        &self.cells[at]
    }

    /// Returns the number of a column, which must be positive, or 0 if `zero` allows it.
    pub(super) fn number(&self, at: usize, zero: bool) -> Result<f64, Problem> {
        let (text, column) = (&self.cells[at], self.columns[at]);
        let wrong = |what: &str| {
            let least = if zero { "0 or more" } else { "above 0" };
            Err(self.wrong(
                format!("{column} is {what} (\"{text}\")"),
                format!("give a number {least}, with a point for decimals"),
            ))
        };
        match text.parse::<f64>() {
            Err(_) => wrong("not a number"),
            Ok(number) if !number.is_finite() => wrong("not a finite number"),
            Ok(number) if number < 0.0 => wrong("negative"),
            Ok(0.0) if zero => Ok(0.0),
            Ok(0.0) => wrong("0"),
            Ok(number) if number > MOST => wrong("larger than any measurement"),
            Ok(number) if number < 1.0 / MOST => wrong("smaller than any measurement"),
            Ok(number) => Ok(number),
        }
    }

    /// Returns the positive whole number of a column.
    pub(super) fn whole(&self, at: usize) -> Result<u32, Problem> {
        let (text, column) = (&self.cells[at], self.columns[at]);
        text.parse::<u32>().ok().filter(|&number| number > 0).ok_or_else(|| {
            self.wrong(format!("{column} is \"{text}\""), "give a positive whole number")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_column() {
        let cells = |text: &str| {
            let rows = parse(Path::new("t.csv"), text.as_bytes(), ["name", "?mode", "value"]);
            rows.map(|rows| rows[0].cells.clone()).map_err(|error| error.to_string())
        };
        assert_eq!(cells("name,value\na,1\n"), Ok(["a", "", "1"].map(str::to_owned)));
        assert_eq!(cells("value,Mode,name\n1,PIT,a\n"), Ok(["a", "PIT", "1"].map(str::to_owned)));
        let error = cells("name,mode,value\na,,1\n").expect_err("a missing cell");
        assert!(
            error.starts_with("t.csv:2: mode is missing; write rows as name,[mode],value"),
            "{error}"
        );
    }

    fn parsed(bytes: &[u8]) -> Result<Vec<(usize, [String; 2])>, String> {
        let rows = parse(Path::new("t.csv"), bytes, ["name", "value"]);
        let rows = rows.map_err(|error| error.to_string())?;
        Ok(rows.into_iter().map(|row| (row.line, row.cells)).collect())
    }

    #[test]
    fn whatever_programs_write() {
        let cases: [(&str, &str); 7] = [
            ("plain", "name,value\na,1\nb,2\n"),
            ("no end", "name,value\na,1\nb,2"),
            ("CRLF", "name,value\r\na,1\r\nb,2\r\n"),
            ("byte-order mark", "\u{feff}name,value\na,1\nb,2\n"),
            ("space and case", " Name , VALUE\n a ,1 \n\tb, 2\n"),
            ("quotes", "\"name\",\"value\"\n\"a\",1\n\"b\" , \"2\"\n"),
            ("the other order", "value,name\n1,a\n2,b\n"),
        ];
        for (name, text) in cases {
            let expected = [(2, ["a", "1"]), (3, ["b", "2"])];
            let expected = expected.map(|(line, cells)| (line, cells.map(str::to_owned)));
            assert_eq!(parsed(text.as_bytes()), Ok(expected.to_vec()), "case: {name}");
        }
        let odd = parsed(b"\n\nname,value\n\n\"Q6600, 2.4 GHz \"\"old\"\"\",1\n").expect("good");
        assert_eq!(odd, [(5, ["Q6600, 2.4 GHz \"old\"".to_owned(), "1".to_owned()])]);
    }

    #[test]
    fn what_may_have_no_end_is_refused_before_it_is_read() {
        let error = read(Path::new("/dev/zero"), ["name", "value"]).expect_err("no table");
        assert!(error.to_string().contains("it is not a regular file; give a CSV file"), "{error}");
    }

    #[test]
    fn what_is_wrong_and_where() {
        let cases: [(&str, &[u8], &str); 13] = [
            ("nothing", b"", "t.csv:1: the file is empty"),
            ("no rows", b"name,value\n\n", "t.csv:1: no rows"),
            (
                "no heading",
                b"a,1\nb,2\n",
                "t.csv:1: unknown column \"a\"; the columns must be name,value",
            ),
            ("semicolons", b"name;value\na;1\n", "t.csv:1: unknown column \"name;value\""),
            ("one column", b"name\na\n", "t.csv:1: column value is missing"),
            ("twice", b"name,value,name\na,1,b\n", "t.csv:1: there are two columns name"),
            ("too few cells", b"name,value\na,1\nb\n", "t.csv:3: 1 cells instead of 2"),
            ("too many", b"name,value\na,1,2\n", "t.csv:2: 3 cells instead of 2"),
            ("an empty one", b"name,value\na,\n", "t.csv:2: value is missing"),
            ("the other", b"name,value\n\"\",1\n", "t.csv:2: name is missing"),
            ("not UTF-8", b"name,value\na,1\n\xff,2\n", "t.csv:3: the text is not UTF-8"),
            ("open quote", b"name,value\n\"a,1\n", "t.csv:2: a quotation mark is not closed"),
            ("after a quote", b"name,value\n\"a\"b,1\n", "t.csv:2: there is text after"),
        ];
        for (name, bytes, expected) in cases {
            let error = parsed(bytes).expect_err(name);
            assert!(error.starts_with(expected) && error.contains(';'), "case: {name}: {error}");
        }
    }
}
