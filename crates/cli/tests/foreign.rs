//! Exports, read by the programs they are made for, where those are there.

use crate::tool::parsers::Parsers;
use crate::tool::{Done, anechoic, arg, command};
use anechoic_lab::note;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Reads an interval log: number of intervals, detours, and the longest in ns.
const READ_LOG: &str = "
import sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
total, intervals = HdrHistogram(1, 3_600_000_000_000, 3), 0
reader = HistogramLogReader(sys.argv[1], total)
while (histogram := reader.get_next_interval_histogram()) is not None:
    total.add(histogram)
    intervals += 1
print(intervals, total.get_total_count(), total.get_max_value())
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn node_exporter() -> PathBuf {
    root().join("target/node-exporter/usr/bin/prometheus-node-exporter")
}

/// Exports the recording of the documents, which measured one CPU, and returns its summary.
fn exported(format: &str, file: &Path) -> serde_json::Value {
    let recording = root().join("docs/examples/before");
    let done = anechoic(&["export", format, arg(&recording), "-o", arg(file)]);
    assert_eq!((done.code, &*done.err), (Some(0), ""), "{format}");
    let json = anechoic(&["summary", arg(&recording), "--json"]).out;
    serde_json::from_str(&json).expect("JSON")
}

#[test]
fn python_reads_the_interval_log_of_hdr_histogram() {
    let python = root().join("target/notebook/bin/python");
    let ready = Command::new(&python).args(["-c", "import hdrh.log"]).output();
    if !ready.is_ok_and(|done| done.status.success()) {
        return note::skipped("no Python with hdrhistogram (make notebook)");
    }
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("before.hlog");
    let summary = exported("hdr-log", &file);
    let Done { code, out, err } = command(arg(&python), &["-c", READ_LOG, arg(&file)]);
    assert_eq!(code, Some(0), "{err}");
    let read: Vec<u64> =
        out.split_whitespace().map(|number| number.parse().expect("numbers")).collect();
    let detours = summary["total"]["detours"].as_u64().expect("a number");
    let longest = summary["total"]["lengths"]["max_ns"].as_u64().expect("a number");
    assert_eq!(read[..2], [5, detours], "seconds and detours");
    assert!(read[2].abs_diff(longest) * 1_000 <= longest, "three digits: {} {longest}", read[2]);
}

/// Otherwise no output of changed input could fail.
#[test]
fn parsers_object_to_what_is_malformed() {
    let Some(mut parsers) = Parsers::start() else {
        return note::skipped(
            "no Python with html5lib, prometheus_client and pyarrow (make notebook)",
        );
    };
    let page = |body: &str| {
        format!("<!DOCTYPE html><html lang=en><title>t</title><body>{body}</body></html>")
    };
    let cases: [(&str, &str, &str, &str); 9] = [
        ("not a number", "json", "{\"a\": 1e300}", "{\"a\": NaN}"),
        ("cut short", "xml", "<a><b/></a>", "<a><b></a>"),
        ("no character of XML", "xml", "<a>x</a>", "<a>\u{1}</a>"),
        ("not closed", "html", &page("<p>x</p>"), &page("<b>x</p>")),
        ("a quote within", "csv", "a,b\r\n1,2\r\n", "a,b\r\n1,\"x\"y\r\n"),
        ("another width", "csv", "a,b\r\n1,2\r\n", "a,b\r\n1,2,3\r\n"),
        ("twice", "prometheus", "a{b=\"c\"} 1\n", "a{b=\"c\"} 1\na{b=\"c\"} 2\n"),
        ("no end", "openmetrics", "# TYPE a gauge\na 1\n# EOF\n", "# TYPE a gauge\na 1\n"),
        ("a turn of direction", "text", "a b", "a \u{202e}b"),
    ];
    for (name, kind, sound, malformed) in cases {
        assert_eq!(parsers.objection(kind, sound.as_bytes()), None, "case: {name}");
        assert!(parsers.objection(kind, malformed.as_bytes()).is_some(), "case: {name}");
    }
    assert!(parsers.objection("parquet", b"PAR1PAR1").is_some());
}

/// A running node_exporter, which ends with the test.
struct NodeExporter(Child);

impl Drop for NodeExporter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl NodeExporter {
    /// Starts it at an unused port of loopback, with its textfile collector alone.
    fn start(directory: &Path) -> (Self, String) {
        let unused = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = unused.local_addr().expect("an address").to_string();
        drop(unused);
        let child = Command::new(node_exporter())
            .args(["--collector.disable-defaults", "--collector.textfile"])
            .arg(format!("--collector.textfile.directory={}", directory.display()))
            .arg(format!("--web.listen-address={address}"))
            .stderr(Stdio::null())
            .spawn();
        (Self(child.expect("it starts")), address)
    }
}

/// Returns what the server at this address answers, once it has started.
pub fn get_metrics(address: &str) -> String {
    for _ in 0..100 {
        if let Ok(mut server) = TcpStream::connect(address) {
            let mut answer = String::new();
            let asked = server.write_all(b"GET /metrics HTTP/1.0\r\n\r\n");
            asked.and_then(|()| server.read_to_string(&mut answer)).expect("an answer");
            return answer;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("no server answers at {address}");
}

#[test]
fn node_exporter_shows_the_metrics_of_its_directory() {
    if !node_exporter().exists() {
        return note::skipped("no node_exporter (make node-exporter)");
    }
    let place = tempfile::tempdir().expect("a directory");
    let summary = exported("prometheus", &place.path().join("anechoic.prom"));
    let (_server, address) = NodeExporter::start(place.path());
    let answer = get_metrics(&address);
    let value = |name: &str| -> f64 {
        let line = answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name}: {answer}")).parse().expect("a number")
    };
    assert_eq!(value("node_textfile_scrape_error"), 0.0, "{answer}");
    let noise = summary["total"]["noise"].as_f64().expect("a number");
    assert!((value("anechoic_noise_ratio") - noise).abs() <= 1e-9 * noise, "{noise}");
    let detours = summary["total"]["detours"].as_f64().expect("a number");
    assert_eq!(value("anechoic_detour_seconds_count"), detours);
}
