//! Reads detours from a text file with a start and a duration on each line, and from netgauge's own files.

use super::nothing;
use super::span::{LONGEST_NS, Span};
use super::timeline::{Host, Timeline};
use anechoic_recording::import::{NetgaugeRun, netgauge_runs};
use anechoic_recording::{Problem, ProblemKind};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Longest accepted line, in bytes.
const LONGEST_LINE: u64 = 4096;
/// Prefix of the comment that contains the length of the window.
const LENGTH: &str = "length_ns:";

/// Reads the hosts of a text file. Each run of a file of netgauge is a host, as long as its measurement; any other file is
/// one host, see [`read_detours`].
///
/// # Errors
///
/// The file cannot be read, or is malformed.
pub(super) fn read_text(file: &Path, length_ns: Option<u64>) -> Result<Vec<Host>, Problem> {
    let Some(runs) = netgauge_runs(file)? else { return Ok(vec![read_detours(file, length_ns)?]) };
    let mut hosts = vec![];
    for (run, number) in runs.iter().zip(1..) {
        let name = match runs.len() {
            1 => file.display().to_string(),
            _ => format!("{}, run {number}", file.display()),
        };
        hosts.push(netgauge_host(run, name)?);
    }
    Ok(hosts)
}

/// Returns a run of netgauge as a host of one CPU.
fn netgauge_host(run: &NetgaugeRun, name: String) -> Result<Host, Problem> {
    if run.length_ns > LONGEST_NS {
        return Err(bad("the measurement is longer than can be simulated", A_LINE).about(name));
    }
    let mut detours = Vec::with_capacity(run.detours.len());
    for &(start_ns, duration_ns) in &run.detours {
        detours.push(Span { start_ns, end_ns: start_ns + duration_ns });
    }
    let timeline = Timeline::new(run.length_ns, detours);
    Host::new(name, vec![(0, timeline)]).ok_or_else(|| nothing("the file has no CPU"))
}

/// Reads a file of one CPU's detours: `start_ns`, white space, `duration_ns`. Lines that begin with `#` are comments;
/// `# length_ns: NUMBER` gives the length of the measurement, unless `length_ns` does. Decimals are rounded to ns.
///
/// Lines out of order are sorted, and detours that overlap are merged ([`Timeline::merged`]).
///
/// # Errors
///
/// The file cannot be read, a line cannot be parsed, or the length of the measurement is unknown.
fn read_detours(file: &Path, length_ns: Option<u64>) -> Result<Host, Problem> {
    let failed = |error: std::io::Error| {
        let why = format!("cannot read {}: {error}", file.display());
        ProblemKind::NoInput.problem(why, "give a recording or a text file of detours")
    };
    let in_line = |line: u64| {
        move |problem: Problem| problem.about(format_args!("{}:{line}", file.display()))
    };
    let mut reader = BufReader::new(File::open(file).map_err(failed)?);
    let (mut detours, mut stated_ns) = (Vec::new(), None);
    // The latest end, and the line that has it.
    let mut latest = (0, 0);
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        let read = std::io::Read::take(&mut reader, LONGEST_LINE).read_until(b'\n', &mut text);
        if read.map_err(failed)? == 0 {
            break;
        }
        match parse(&text).map_err(in_line(line))? {
            Line::Nothing => {}
            Line::Length(ns) => stated_ns = Some(ns),
            Line::Detour(detour) => {
                detours.push(detour);
                latest = latest.max((detour.end_ns, line));
            }
        }
    }
    let length_ns = length_ns.or(stated_ns).ok_or_else(|| {
        let remedy = "give --length, or a line \"# length_ns: NUMBER\" in the file";
        let problem =
            ProblemKind::Usage.problem("the length of the measurement is unknown", remedy);
        problem.about(file.display())
    })?;
    let length_ns = length_ns.min(LONGEST_NS);
    if latest.0 > length_ns {
        let why = format!(
            "the detour ends at {} ns, after the end of the measurement at {length_ns} ns",
            latest.0
        );
        let remedy =
            "times are relative to the start of the measurement, and --length is its length";
        return Err(in_line(latest.1)(ProblemKind::Data.problem(why, remedy)));
    }
    let timeline = Timeline::new(length_ns, detours);
    let host = Host::new(file.display().to_string(), vec![(0, timeline)]);
    host.ok_or_else(|| nothing("the file has no CPU"))
}

/// A line of a file of detours.
const A_LINE: &str = "write lines as start_ns, a tab, duration_ns";

fn bad(why: impl Into<String>, remedy: impl Into<String>) -> Problem {
    ProblemKind::Data.problem(why, remedy)
}

/// A line of a file of detours.
#[derive(Debug, PartialEq)]
enum Line {
    Nothing,
    Length(u64),
    Detour(Span),
}

fn parse(line: &[u8]) -> Result<Line, Problem> {
    if line.len() as u64 == LONGEST_LINE {
        return Err(bad("the line is too long", A_LINE));
    }
    let text = std::str::from_utf8(line).map_err(|_| bad("the line is not text", A_LINE))?.trim();
    if let Some(comment) = text.strip_prefix('#') {
        let length = comment.trim().strip_prefix(LENGTH);
        return length.map_or(Ok(Line::Nothing), |length| Ok(Line::Length(ns(length.trim())?)));
    }
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    match words[..] {
        [] => Ok(Line::Nothing),
        [start, duration] => {
            let (start_ns, duration_ns) = (ns(start)?, ns(duration)?);
            Ok(Line::Detour(Span { start_ns, end_ns: start_ns + duration_ns }))
        }
        [_] => Err(bad("the line has one word", A_LINE)),
        _ => Err(bad("the line has more than two words", A_LINE)),
    }
}

/// Parses a non-negative time in ns.
fn ns(word: &str) -> Result<u64, Problem> {
    let number = word.parse::<u64>().ok().or_else(|| {
        let decimal = word.parse::<f64>().ok().filter(|ns| (0.0..=LONGEST_NS as f64).contains(ns));
        decimal.map(|ns| ns.round() as u64)
    });
    let shown: String = word.chars().take(40).collect();
    number.filter(|&ns| ns <= LONGEST_NS).ok_or_else(|| {
        bad(
            format!("\"{}\" is not a time in ns", shown.escape_debug()),
            format!("give a number from 0 to {LONGEST_NS}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let detour = |start_ns, end_ns| Ok::<Line, &str>(Line::Detour(Span { start_ns, end_ns }));
        let cases = [
            ("a detour", &b"100\t20\n"[..], detour(100, 120)),
            ("spaces", b"  100   20  \r\n", detour(100, 120)),
            ("decimals", b"1.5e3\t20.4", detour(1_500, 1_520)),
            ("a comment", b"# netgauge 1.2\n", Ok(Line::Nothing)),
            ("a length", b"# length_ns: 1000\n", Ok(Line::Length(1_000))),
            ("nothing", b"\n", Ok(Line::Nothing)),
            ("one word", b"100\n", Err("one word")),
            ("three words", b"100 20 3\n", Err("more than two")),
            ("words", b"start duration\n", Err("\"start\" is not a time")),
            ("negative", b"-5\t20\n", Err("\"-5\" is not a time")),
            ("not a number", b"nan\t20\n", Err("\"nan\" is not a time")),
            ("endless", b"5\tinf\n", Err("\"inf\" is not a time")),
            ("beyond all", b"18446744073709551615\t1\n", Err("not a time")),
            ("binary", b"\xff\xfe\x00\n", Err("not text")),
            ("a length in words", b"# length_ns: long\n", Err("\"long\" is not a time")),
        ];
        for (name, text, expected) in cases {
            match (parse(text), expected) {
                (Ok(line), Ok(expected)) => assert_eq!(line, expected, "case: {name}"),
                (Err(error), Err(says)) => {
                    assert!(error.why.contains(says), "case: {name}: {error}")
                }
                (got, _) => panic!("case: {name}: {got:?}"),
            }
        }
        assert!(parse(&[b'1'; LONGEST_LINE as usize]).is_err());
    }

    #[test]
    fn files() {
        let dir = tempfile::tempdir().expect("a directory");
        let read = |text: &str, length| {
            let file = dir.path().join("detours.txt");
            std::fs::write(&file, text).expect("written");
            read_text(&file, length)
                .map(|hosts| hosts[0].cpus()[0].1.clone())
                .map_err(|e| e.to_string())
        };
        let timeline = read("# length_ns: 100\n50 5\n10 3\n52 10\n", None).expect("a timeline");
        assert_eq!((timeline.length_ns(), timeline.lost_ns(), timeline.merged()), (100, 15, 1));
        assert_eq!(read("# none\n", Some(7)).expect("a timeline").length_ns(), 7);
        assert_eq!(read("5 1\n", Some(7)).expect("a timeline").lost_ns(), 1);
        for (text, length, says) in [
            ("5 1\n", None, "--length"),
            ("5 1\n\n9 x\n", Some(100), "detours.txt:3: \"x\""),
            ("5 1\n90 20\n7 1", Some(100), "detours.txt:2: the detour ends at 110 ns"),
        ] {
            let error = read(text, length).expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
        let error = read_text(&dir.path().join("none"), None).expect_err("no file");
        assert!(error.to_string().contains("there is no"), "{error}");
    }

    /// The lines of two runs of netgauge with what it wrote below them: the hosts have its periods and its overheads.
    #[test]
    fn runs_of_netgauge_are_hosts_that_lose_what_it_stated() {
        let text = "# Benchmark Method: selfish\n# Minimal cycle length [ns]: 9.810000 \n# \n0.00\t990.19\n\
                    1000000000.00\t49999990.19\n2000000000.00\t290.19\n# CPU overhead due to noise: 2.50%\n\
                    # Measurement period: 2.00 s\n\
                    # Minimal cycle length [ns]: 9.810000 \n0.00\t100.00\n5000000.00\t5000000.00\n\
                    # CPU overhead due to noise: 50.00%\n# Measurement period: 0.01 s\n";
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("ng.out");
        std::fs::write(&file, text).expect("written");
        // The length is that of the measurements, whatever is given for other files.
        for length in [None, Some(7)] {
            let hosts = read_text(&file, length).expect("two runs");
            let stated = [("run 1", 2.0, 0.025), ("run 2", 0.01, 0.5)];
            assert_eq!(hosts.len(), stated.len());
            for (host, (name, seconds, share)) in hosts.iter().zip(stated) {
                assert!(host.name().ends_with(name), "{}", host.name());
                let timeline = &host.cpus()[0].1;
                let found = timeline.lost_ns() as f64 / timeline.length_ns() as f64;
                assert!((found - share).abs() < 5e-5, "{name}: {found}");
                assert!((timeline.length_ns() as f64 / 1e9 - seconds).abs() < 1e-6, "{name}");
                assert_eq!(timeline.merged(), 0, "{name}");
            }
        }
        std::fs::write(&file, text.replace("5000000.00\t5", "5000000.00\t4")).expect("written");
        let error = read_text(&file, None).expect_err("a detour was changed").to_string();
        assert!(error.contains("ng.out") && error.contains("run 2 states"), "{error}");
    }
}
