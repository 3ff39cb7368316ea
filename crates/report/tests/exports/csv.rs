//! Comma-separated values, read back by the grammar of RFC 4180.

use super::{DETOURS, export_of, program, record, text};

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

/// Exports a table of a recording, as records.
fn table(recording: &anechoic_recording::Recording, name: &str) -> Vec<Vec<String>> {
    let files = export_of(recording, "csv", &[("table", name)], None).expect("rows");
    records(&String::from_utf8(files.concat()).expect("text"))
}

#[test]
fn the_threads_and_waits_of_a_program_are_written_as_they_are() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = program(&dir.path().join("r"));
    let threads: Vec<String> =
        table(&recording, "threads").iter().map(|row| row.join("|")).collect();
    assert_eq!(
        threads,
        [
            "thread|tid|name|priority|cpus|first_ticks|last_ticks|first_ns|last_ns|executed_ticks|executed_ns|interrupted_ticks|interrupted_ns",
            "1|71|worker||0-1|1000000|1002000|0|2000|500|500|5|5",
            "0|70|first|-1|0-1|1000000|1002000|0|2000|500|500|5|5",
        ]
    );
    let delays: Vec<String> = table(&recording, "delays").iter().map(|row| row.join("|")).collect();
    assert_eq!(
        delays,
        [
            "cpu|start_ticks|end_ticks|start_ns|end_ns|thread|kind|own_ticks|own_ns|holder|holder_name|holder_thread|held_ticks|held_ns|waker_thread|waker|waker_source|waker_name|slept_ticks|priority|other_priority",
            "0|1000300|1000500|300|500|0|preempted|0|0|9|'=hog||199|199|||||||",
            "0|1000300|1000500|300|500|1|blocked|0|0|9|'=hog||199|199|0||||280||",
            "1|1000100|1000250|100|250|1|woken|0|0||interrupts||149|149|||device-irq|nvme0q1|||",
            "1|1000050|1000060|50|60|0|begun|0|0|0|swapper||9|9|||||||",
        ]
    );
    let marks: Vec<String> = table(&recording, "marks").iter().map(|row| row.join("|")).collect();
    assert_eq!(
        marks,
        ["cpu|ticks|ns|thread|label", "0|1000100|100|70|a, b", "1|1000900|900|70|a, b"]
    );
    let of_cpu = export_of(&recording, "csv", &[("table", "delays")], Some(&[1])).expect("rows");
    assert_eq!(records(&String::from_utf8_lossy(&of_cpu[0])).len(), 3, "of CPU 1 alone");
    let of_all = export_of(&recording, "csv", &[("table", "threads")], Some(&[1])).expect("rows");
    assert_eq!(records(&String::from_utf8_lossy(&of_all[0])).len(), 3, "it has no CPU");
}

#[test]
fn a_table_without_rows_is_refused_with_a_reason() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = record(&dir.path().join("r"), &[]);
    assert_eq!(table(&recording, "activities").len(), 1 + 9);
    for (name, reason) in
        [("threads", "only a recording of a program"), ("lengths", "it has no table lengths")]
    {
        let error = export_of(&recording, "csv", &[("table", name)], None).expect_err(name);
        assert!(error.to_string().contains(reason), "{error}");
    }
}
