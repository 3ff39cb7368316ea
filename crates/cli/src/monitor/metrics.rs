//! The metrics of a service: a file, an address of this machine or a socket.

use anechoic_recording::rows::Growth;
use anechoic_recording::{Problem, ProblemKind, verify_place};
use anechoic_report::{MonitorCounts, monitor_metrics};
use anechoic_system::counters::run_times;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// More clients at once are sent away.
const MOST_CLIENTS: usize = 16;
/// A client has so long to ask, and as long to read the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often files are written.
const FILE_EVERY: Duration = Duration::from_secs(10);
/// More bytes than a request has.
const MOST_BYTES: usize = 8 << 10;

/// Where metrics are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Where {
    File(PathBuf),
    Address(SocketAddr),
    Socket(PathBuf),
}

impl Where {
    /// Parses an address of this machine, `unix:PATH`, or the path of a file that ends in `.prom`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() {
                Err("unix: lacks its path".into())
            } else {
                Ok(Self::Socket(path.into()))
            };
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return match address.ip().is_loopback() {
                true => Ok(Self::Address(address)),
                false => Err(format!(
                    "{address} can be reached from elsewhere: use 127.0.0.1 or [::1], and let a proxy decide who may read"
                )),
            };
        }
        match Path::new(text).extension().is_some_and(|end| end == "prom") {
            true => Ok(Self::File(text.into())),
            false => Err(format!(
                "'{text}' is no place for metrics; write for example 127.0.0.1:9440, unix:/run/anechoic.sock or /var/lib/node_exporter/anechoic.prom"
            )),
        }
    }
}

impl std::fmt::Display for Where {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Address(address) => write!(f, "http://{address}/metrics"),
            Self::Socket(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// One of the clients that are served now.
struct Busy(Arc<AtomicUsize>);

impl Busy {
    fn with(number: &Arc<AtomicUsize>) -> Self {
        number.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(number))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What is counted, and who reads it.
pub(super) struct Metrics {
    counts: MonitorCounts,
    places: Vec<Where>,
    /// The text that is served.
    text: Arc<Mutex<String>>,
    /// Sockets to remove at the end.
    sockets: Vec<PathBuf>,
    /// When files were written last.
    written: Option<Instant>,
    /// Whether the last attempt to write a file failed.
    trouble: bool,
}

impl Metrics {
    /// Opens all places.
    ///
    /// # Errors
    /// One cannot be used.
    pub(super) fn open(places: &[Where]) -> Result<Self, Problem> {
        let mut metrics = Self {
            counts: MonitorCounts::default(),
            places: places.to_vec(),
            text: Arc::default(),
            sockets: vec![],
            written: None,
            trouble: false,
        };
        for place in places {
            match place {
                Where::File(path) => replace_readable(path, "")?,
                Where::Address(address) => {
                    let listener = TcpListener::bind(address).map_err(|error| {
                        let why = format!("{address} cannot be used: {error}");
                        ProblemKind::Usage.problem(why, "name another port with --metrics")
                    })?;
                    let waits = [TcpStream::set_read_timeout, TcpStream::set_write_timeout];
                    metrics.serve(move || patient(listener.accept()?.0, waits))?;
                }
                Where::Socket(path) => {
                    let listener = listen(path)?;
                    metrics.sockets.push(path.clone());
                    let waits = [UnixStream::set_read_timeout, UnixStream::set_write_timeout];
                    metrics.serve(move || patient(listener.accept()?.0, waits))?;
                }
            }
        }
        Ok(metrics)
    }

    /// Serves the metrics, each client in a thread of its own.
    fn serve<C: Read + Write + Send + 'static>(
        &self,
        accept: impl Fn() -> io::Result<C> + Send + 'static,
    ) -> Result<(), Problem> {
        let (text, busy) = (Arc::clone(&self.text), Arc::new(AtomicUsize::new(0)));
        let spawned = thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            loop {
                match accept() {
                    Ok(mut client) => {
                        if busy.load(Ordering::Acquire) >= MOST_CLIENTS {
                            continue; // it is closed
                        }
                        let text = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
                        let more = Busy::with(&busy);
                        let _ = thread::Builder::new().spawn(move || {
                            let _ = answer(&mut client, &text); // the client is gone
                            drop(more);
                        });
                    }
                    Err(_) => thread::sleep(PATIENCE), // no descriptor is left
                }
            }
        });
        spawned.map(drop).map_err(Problem::from)
    }

    pub(super) fn places(&self) -> &[Where] {
        &self.places
    }

    pub(super) fn count(&mut self, rows: &[Growth]) {
        for row in rows {
            let known = self.counts.grown.entry(row.name.to_string()).or_insert(0);
            *known = known.saturating_add(row.value);
        }
    }

    pub(super) fn count_unusual(&mut self, name: &str) {
        *self.counts.unusual.entry(name.to_owned()).or_insert(0) += 1;
    }

    pub(super) fn count_saved(&mut self) {
        self.counts.saved += 1;
    }

    pub(super) fn count_not_saved(&mut self) {
        self.counts.not_saved += 1;
    }

    /// Tells how much is kept, in bytes.
    pub(super) fn keeps(&mut self, bytes: u64) {
        self.counts.kept_bytes = bytes;
    }

    /// Makes the metrics of this second.
    pub(super) fn publish(&mut self, records: Option<bool>, dropped: u64) {
        if self.places.is_empty() {
            return;
        }
        self.counts.records_events = records;
        self.counts.dropped_rows = dropped;
        self.counts.cpu_seconds = cpu_seconds();
        let text = monitor_metrics(&self.counts);
        let write_files = self.written.is_none_or(|at| at.elapsed() >= FILE_EVERY);
        if write_files {
            self.written = Some(Instant::now());
        }
        for place in self.places.iter().filter(|_| write_files) {
            let Where::File(path) = place else { continue };
            let written = replace_readable(path, &text);
            if let Err(error) = &written
                && !self.trouble
            {
                crate::terminal::print_note(format_args!(
                    "anechoic: metrics are not written to {}: {error}",
                    path.display()
                ));
            }
            self.trouble = written.is_err();
        }
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        let files = self.places.iter().filter_map(|place| match place {
            Where::File(path) => Some(path), // nothing may take it for the present state
            _ => None,
        });
        for path in self.sockets.iter().chain(files) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Sets how long a client is waited for.
type SetTimeout<C> = fn(&C, Option<Duration>) -> io::Result<()>;

/// Returns a client that is read and written for at most [`PATIENCE`] each time. `set` are the two ways to say so.
fn patient<C>(client: C, set: [SetTimeout<C>; 2]) -> io::Result<C> {
    set.iter().try_for_each(|set| set(&client, Some(PATIENCE)))?;
    Ok(client)
}

/// Replaces a file as a whole by one that other users can read, as node_exporter's.
fn replace_readable(path: &Path, text: &str) -> Result<(), Problem> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".new");
    let new = path.with_file_name(name);
    let failed = |error: io::Error| Problem::cannot_write_to(path, &error);
    verify_place(&new).map_err(failed)?;
    let _ = fs::remove_file(&new); // of a service that was killed
    let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&new);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.and_then(|()| fs::rename(&new, path)).map_err(failed)
}

/// Listens at a path, in place of a socket that nobody serves any more.
fn listen(path: &Path) -> Result<UnixListener, Problem> {
    let failed = |error: io::Error| Problem::cannot_write_to(path, &error);
    let is_socket = path.symlink_metadata().is_ok_and(|about| about.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err() {
        fs::remove_file(path).map_err(failed)?;
    }
    UnixListener::bind(path).map_err(failed)
}

/// Answers one request (RFC 9112): whoever asks gets the metrics, whatever the path.
fn answer<C: Read + Write>(client: &mut C, text: &str) -> io::Result<()> {
    let (mut request, mut bytes, begin) = (vec![], [0; 1 << 10], Instant::now());
    let ends = |request: &[u8]| request.ends_with(b"\r\n\r\n") || request.ends_with(b"\n\n");
    while !ends(&request) && request.len() < MOST_BYTES && begin.elapsed() < PATIENCE {
        match client.read(&mut bytes)? {
            0 => break,
            read => request.extend_from_slice(&bytes[..read]),
        }
    }
    let allowed = request.starts_with(b"GET ") || request.starts_with(b"HEAD ");
    let (status, body) = if allowed { ("200 OK", text) } else { ("405 Method Not Allowed", "") };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    if !request.starts_with(b"HEAD ") {
        client.write_all(body.as_bytes())?;
    }
    client.flush()
}

/// Returns the CPU time of this process so far, in s.
fn cpu_seconds() -> f64 {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    run_times(own).map_or(0.0, |times| times.ran_ns as f64 / 1e9)
}

/// States what the service cost: its own CPU time and memory, and those of the recorders of events.
pub(super) fn own_costs(watched: Duration, recorders: Option<(Duration, Duration)>) -> String {
    let share = |part: f64, whole: Duration| 100.0 * part / whole.as_secs_f64().max(1e-9);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb: Option<u64> = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
    let memory = kb.map_or(String::new(), |kb| format!(" and {:.0} MB", kb as f64 / 1e3));
    let own =
        format!("reading counters took {:.3} % of one CPU{memory}", share(cpu_seconds(), watched));
    match recorders {
        Some((ran, flew)) if !flew.is_zero() => format!(
            "{own}; recording events {:.2} % (what the events themselves cost is in each saved recording)",
            share(ran.as_secs_f64(), flew)
        ),
        _ => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_stay_on_this_machine() {
        for (text, expected) in [
            ("127.0.0.1:9440", Some(Where::Address(([127, 0, 0, 1], 9440).into()))),
            ("/var/lib/x.prom", Some(Where::File("/var/lib/x.prom".into()))),
            ("unix:/run/x", Some(Where::Socket("/run/x".into()))),
            ("0.0.0.0:9440", None),
            ("192.168.1.1:80", None),
            ("unix:", None),
            ("x", None),
        ] {
            assert_eq!(Where::parse(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn requests_get_an_answer() {
        for (request, status, has_body) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200", true),
            ("HEAD / HTTP/1.1\r\n\r\n", "200", false),
            ("POST / HTTP/1.1\r\n\r\n", "405", false),
            ("", "405", false),
        ] {
            let (mut client, mut server) = UnixStream::pair().expect("a socket");
            client.write_all(request.as_bytes()).expect("sent");
            client.shutdown(std::net::Shutdown::Write).expect("ended");
            answer(&mut server, "a 1\n").expect("answered");
            drop(server);
            let mut text = String::new();
            client.read_to_string(&mut text).expect("text");
            assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
            assert_eq!(text.ends_with("a 1\n"), has_body, "{text}");
        }
    }
}
