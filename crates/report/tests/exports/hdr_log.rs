//! HdrHistogram's interval log, read by the library's own reader.

use super::{DETOURS, text};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

/// Decodes what stands in the last column: base64 of RFC 4648.
fn decoded(text: &str) -> Histogram<u64> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (vec![], 0_u32, 0);
    for letter in text.bytes().filter(|&letter| letter != b'=') {
        let value = LETTERS.iter().position(|&known| known == letter).expect("a letter of base64");
        (bits, held) = (bits << 6 | value as u32, held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Deserializer::new().deserialize(&mut &bytes[..]).expect("a histogram")
}

#[test]
fn each_second_of_a_cpu_is_an_interval_in_order_of_time() {
    let text = text("hdr-log");
    let mut found = vec![];
    let mut start = None;
    for entry in IntervalLogIterator::new(text.as_bytes()) {
        match entry.expect("an entry of a log") {
            LogEntry::StartTime(time) => start = Some(time.as_secs()),
            LogEntry::Interval(interval) => {
                let histogram = decoded(interval.encoded_histogram());
                let values: Vec<u64> = histogram
                    .iter_recorded()
                    .flat_map(|cell| {
                        let value = cell.value_iterated_to();
                        vec![value; usize::try_from(cell.count_at_value()).expect("few")]
                    })
                    .collect();
                let tag = interval.tag().expect("a tag").as_str().to_owned();
                assert_eq!(interval.duration().as_secs(), 1);
                assert!(
                    (interval.max() - histogram.max() as f64 / 1e6).abs() < 6e-4,
                    "{}",
                    interval.max()
                );
                found.push((interval.start_timestamp().as_secs(), tag, values));
            }
            LogEntry::BaseTime(time) => assert_eq!(Some(time.as_secs()), start),
        }
    }
    assert_eq!(start, Some(1_778_311_877), "2026-05-09T07:31:17Z");
    let near = |value: u64| Histogram::<u64>::new(3).expect("digits").highest_equivalent(value);
    let expected = [
        (0, "cpu0", vec![near(5_000)]),
        (0, "cpu1", vec![near(7_000)]),
        (1, "cpu0", vec![200_000]),
        (1, "cpu1", vec![90, 1_234_567]),
        (2, "cpu0", vec![300]),
    ];
    let shown: Vec<_> = found.iter().map(|(at, tag, _)| (*at, tag.as_str())).collect();
    assert_eq!(shown, expected.iter().map(|(at, tag, _)| (*at, *tag)).collect::<Vec<_>>());
    for ((_, _, found), (at, tag, expected)) in found.iter().zip(&expected) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                found.abs_diff(*expected) * 1_000 <= *expected,
                "{at} {tag}: {found} {expected}"
            );
        }
    }
    let all: usize = found.iter().map(|(.., values)| values.len()).sum();
    assert_eq!(all, DETOURS.concat().len());
    assert!(text.starts_with("#[Histogram log format version 1.3]\n#anechoic 0.1.0, host node17,"));
}
