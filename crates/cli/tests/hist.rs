//! `--hist`: what a histogram counts is what the summary has.

use crate::tool::{self, anechoic, arg};
use std::path::Path;

/// The example of the documents.
fn example() -> String {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/before");
    arg(&example).to_owned()
}

/// The rows of a histogram of one CPU, and the totals below it.
type Histogram = (Vec<(f64, u64)>, Vec<(String, f64)>);

fn read(text: &str) -> Histogram {
    let (mut rows, mut totals) = (vec![], vec![]);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (&words[..], line.strip_prefix('#')) {
            (&[from, number], None) => {
                rows.push((from.parse().expect("µs"), number.parse().expect("a number")))
            }
            (&[name, number], Some(_)) if name != "#us" => {
                totals.push((name.to_owned(), number.parse().expect("a number")))
            }
            (_, comment) => assert!(comment.is_some(), "neither a row nor a comment: {line}"),
        }
    }
    (rows, totals)
}

#[test]
fn every_detour_is_in_one_bucket_or_over_all() {
    let example = example();
    let total = &tool::summary(Path::new(&example))["total"];
    let detours = total["detours"].as_u64().expect("a number");
    let longest = total["lengths"]["max_ns"].as_f64().expect("a length") / 1e3;
    let cases: [(&[&str], f64); 3] = [
        (&[], f64::INFINITY),
        (&["--bucket", "1us"], 256.0),
        (&["--bucket", "500ns", "--buckets", "40"], 20.0),
    ];
    for (options, end_us) in cases {
        let done = anechoic(&[&["summary", "--hist", &example][..], options].concat());
        assert_eq!((done.code, &*done.err), (Some(0), ""), "{options:?}");
        let (rows, totals) = read(&done.out);
        let printed = |name: &str| totals.iter().find(|(row, _)| row == name).expect("a total").1;
        let counted: u64 = rows.iter().map(|row| row.1).sum();
        assert_eq!(printed("#count"), detours as f64, "{options:?}");
        assert_eq!(counted as f64 + printed("#over"), detours as f64, "{options:?}");
        assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0), "{}", done.out);
        assert!(rows.iter().all(|row| row.0 < end_us && row.1 > 0), "{}", done.out);
        assert!((printed("#max(us)") - longest).abs() < 0.001, "{longest}: {}", done.out);
        assert!(printed("#min(us)") <= printed("#avg(us)"), "{}", done.out);
        assert_eq!(end_us.is_infinite(), printed("#over") == 0.0, "{}", done.out);
    }
    let done = anechoic(&["summary", "--hist", "--json", &example]);
    let json: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!(json["cpus"][0]["detours"].as_u64(), Some(detours));
    assert!(json["bucket_ns"].is_null() && json["buckets"][0]["counts"].is_array(), "{json}");
}

#[test]
fn buckets_belong_to_a_histogram() {
    let example = example();
    let cases: [(&[&str], &str); 3] = [
        (&["--bucket", "1us"], "--hist"),
        (&["--hist", "--bucket", "0us"], "is zero"),
        (&["--hist", "--buckets", "0"], "between 1 and"),
    ];
    for (options, expected) in cases {
        let done = anechoic(&[&["summary", &example][..], options].concat());
        assert_eq!(done.code, Some(64), "{options:?}: {}", done.out);
        assert!(done.err.contains(expected), "{options:?}: {}", done.err);
    }
}
