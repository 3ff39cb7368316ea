//! Comma-separated values, read back by the grammar of RFC 4180.

use super::{DETOURS, text};

/// Splits a text into records of fields: `file`, `record` and `field` of RFC 4180, section 2.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut fields, mut field) = (vec![], vec![], String::new());
    let mut letters = text.chars().peekable();
    let mut in_quotes = false;
    while let Some(letter) = letters.next() {
        match letter {
            '"' if in_quotes && letters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => in_quotes = !in_quotes,
            ',' if !in_quotes => fields.push(std::mem::take(&mut field)),
            '\r' if !in_quotes => {
                assert_eq!(letters.next(), Some('\n'), "records end with CRLF");
                fields.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut fields));
            }
            letter => field.push(letter),
        }
    }
    assert!(fields.is_empty() && field.is_empty(), "the last record ends");
    records
}

#[test]
fn each_detour_is_a_record_with_what_took_most_of_it() {
    let records = records(&text("csv"));
    assert_eq!(records[0].join(" "), "start_ns duration_ns cpu source name");
    let sources = [
        ("timer-tick", ""),
        ("thread", "a \"b\", c"),
        ("vm-or-hardware", ""),
        ("vm-or-hardware", ""),
        ("vm-or-hardware", ""),
        ("vm-or-hardware", ""),
    ];
    let times =
        DETOURS.iter().zip(["0", "1"]).flat_map(|(detours, cpu)| detours.iter().zip([cpu; 3]));
    let expected: Vec<Vec<String>> = times
        .zip(sources)
        .map(|((&(start, duration), cpu), (source, name))| {
            [&*start.to_string(), &duration.to_string(), cpu, source, name]
                .map(str::to_owned)
                .into()
        })
        .collect();
    assert_eq!(records[1..], expected);
}
