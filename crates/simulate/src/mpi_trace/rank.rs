//! Reads what one rank did from its file.

use super::calls::{self, Call, Does};
use super::collectives::{Algorithm, Meeting};
use super::handles::{Library, Peer};
use super::line::{Line, between};
use super::requests::{Handles, Requests};
use super::steps::{How, Made, Message, RankTrace, Step, Used, What};
use super::values::Values;
use crate::schedule::bad;
use anechoic_recording::{Problem, ProblemKind};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// A line that is not as liballprof writes it.
const AS_WRITTEN: &str = "give the trace as liballprof wrote it";
/// A call that is not simulated.
const NOT_SIMULATED: &str =
    "trace the program without it, or describe what ranks do in GOAL and use --goal";

/// Reads the trace of a rank.
///
/// # Errors
/// The file cannot be read or is cut off, a line has another form, or a call is not simulated.
pub(super) fn read(path: &Path) -> Result<RankTrace, Problem> {
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| unreadable(&error).about(&file);
    let mut input = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
    let mut reader = Reader::default();
    reader.trace.file.clone_from(&file);
    let (mut text, mut number) = (vec![], 0_u32);
    while input.read_until(b'\n', &mut text).map_err(failed)? > 0 {
        number = number.saturating_add(1);
        let line = std::str::from_utf8(&text).map_err(|_| bad("it is no text", AS_WRITTEN));
        line.and_then(|line| reader.take(number, line.trim_end_matches(['\n', '\r'])))
            .map_err(|problem| reader.trace.problem(number, problem))?;
        text.clear();
    }
    reader.finish().map_err(|problem| problem.about(&file))
}

fn unreadable(error: &std::io::Error) -> Problem {
    ProblemKind::NoInput.problem(format!("cannot read it: {error}"), "make it readable")
}

/// Where a rank is in its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Before,
    Inside,
    After,
}

/// Reads the trace of a rank, line by line.
#[derive(Debug, Default)]
struct Reader {
    trace: RankTrace,
    stage: Stage,
    library: Option<Library>,
    requests: Requests,
    /// Messages that were described, by the addresses of their requests.
    prepared: HashMap<u64, (bool, Message)>,
    /// Numbers of communicators by handle, own rank and number of ranks.
    numbers: HashMap<(i64, u32, u32), u32>,
    begin_ns: u64,
    /// When the last call ended.
    clock_ns: u64,
    /// When the last call ended that is no part of a computation.
    since_ns: u64,
    /// Computation since the last step.
    before_ns: u64,
}

/// Returns the error of a line of another form.
fn malformed(why: impl Into<String>) -> Problem {
    bad(why, AS_WRITTEN)
}

impl Reader {
    /// Takes the next line.
    fn take(&mut self, number: u32, text: &str) -> Result<(), Problem> {
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        let line = Line::read(text).map_err(malformed)?;
        match (self.stage, line.name) {
            (Stage::After, _) => return Err(malformed("it stands after MPI_Finalize")),
            (Stage::Before, "MPI_Init" | "MPI_Init_thread") => return self.begin(&line),
            (Stage::Before, name) if calls::is_local(name) => return Ok(()),
            (Stage::Before, _) => return Err(malformed("it stands before MPI_Init")),
            (Stage::Inside, "MPI_Finalize") => return self.end(&line),
            (Stage::Inside, "MPI_Abort") => {
                let why = "the program ended with MPI_Abort";
                return Err(bad(why, "trace a run that ends with MPI_Finalize"));
            }
            (Stage::Inside, _) => self.trace.calls += 1,
        }
        let (start_ns, end_ns) =
            line.start_ns.zip(line.end_ns).ok_or_else(|| malformed("it has no time"))?;
        between(self.clock_ns, start_ns).map_err(malformed)?;
        between(start_ns, end_ns).map_err(|_| malformed("it ends before it begins"))?;
        self.clock_ns = end_ns;
        let Some(call) = calls::find(line.name) else {
            if calls::is_local(line.name) {
                self.trace.local_calls += 1;
                return Ok(());
            }
            let name: String = line.name.chars().take(64).collect();
            return Err(bad(format!("{name} may communicate and is not simulated"), NOT_SIMULATED));
        };
        let values = Values::read(&line, call.arguments).map_err(malformed)?;
        if let Does::Release | Does::Name = call.does {
            return self.note(number, &values).map_err(malformed);
        }
        self.before_ns += start_ns - self.since_ns;
        self.since_ns = end_ns;
        let what = self.what(number, call, &values).map_err(malformed)?;
        if let Some(what) = what {
            let before_ns = std::mem::take(&mut self.before_ns);
            self.trace.steps.push(Step { line: number, before_ns, what });
        }
        Ok(())
    }

    /// Notes what a call that does not communicate has of a communicator.
    fn note(&mut self, line: u32, values: &Values) -> Result<(), String> {
        self.trace.local_calls += 1;
        match values.communicator {
            Some(communicator) => {
                self.communicator(line, communicator)?;
            }
            // It is given up.
            None => {
                self.trace.released.push((line, values.address));
                self.numbers.clear();
            }
        }
        Ok(())
    }

    /// Begins at the end of `MPI_Init`.
    fn begin(&mut self, line: &Line<'_>) -> Result<(), Problem> {
        self.begin_ns = line.end_ns.ok_or_else(|| malformed("it has no time"))?;
        (self.clock_ns, self.since_ns) = (self.begin_ns, self.begin_ns);
        self.stage = Stage::Inside;
        self.trace.calls += 1;
        Ok(())
    }

    /// Ends at the start of `MPI_Finalize`.
    fn end(&mut self, line: &Line<'_>) -> Result<(), Problem> {
        let start_ns = line.start_ns.ok_or_else(|| malformed("it has no time"))?;
        between(self.clock_ns, start_ns).map_err(malformed)?;
        if line.end_ns.is_some() {
            return Err(malformed("MPI_Finalize ends with `-`, not with a time"));
        }
        self.trace.after_ns = self.before_ns + (start_ns - self.since_ns);
        self.trace.traced_ns = start_ns - self.begin_ns;
        self.trace.calls += 1;
        self.stage = Stage::After;
        Ok(())
    }

    /// Returns what a call does, unless it is nothing.
    fn what(&mut self, line: u32, call: &Call, values: &Values) -> Result<Option<What>, String> {
        let number = match values.communicator {
            Some(communicator) => self.communicator(line, communicator)?,
            None => 0,
        };
        if let Some(used) = self.trace.communicators.get_mut(number as usize) {
            used.communicates |= values.communicator.is_some();
        }
        let message =
            |reader: &Self, at: (usize, usize), sends| reader.message(number, values, at, sends);
        let exists = |message: &Message| message.peer != Peer::Nobody;
        Ok(match call.does {
            Does::Send => Some(message(self, (0, 0), true)?).filter(exists).map(What::Send),
            Does::Buffer => Some(message(self, (0, 0), true)?).filter(exists).map(What::Buffer),
            Does::Receive => Some(message(self, (0, 0), false)?).filter(exists).map(What::Receive),
            Does::Exchange => {
                let received = (values.counts.len() - 1, 1);
                let both = [message(self, (0, 0), true)?, message(self, received, false)?];
                Some(What::Exchange(Box::new(both)))
            }
            Does::Post { sends } => {
                let message = message(self, (0, 0), sends)?;
                self.requests.begin(values.address);
                Some(What::Begin { sends, message })
            }
            Does::Prepare { sends } => {
                let message = message(self, (0, 0), sends)?;
                self.prepared.insert(values.address, (sends, message));
                None
            }
            Does::Start => return self.start(line, values),
            Does::Wait => {
                let ended = self.requests.end(self.handles(values));
                Some(ended).filter(|ended| !ended.is_empty()).map(What::End)
            }
            Does::EndSome => {
                self.trace.unclear_calls += 1;
                self.requests.perhaps_end(self.handles(values), self.trace.steps.len());
                Some(What::End(vec![]))
            }
            Does::Forget => {
                self.requests.forget(values.address);
                None
            }
            Does::Meet(algorithm) => {
                self.make(line, number, algorithm, call.name, values);
                let meeting = Meeting::read(call.name, algorithm, number, values)?;
                Some(What::Meet(Box::new(meeting)))
            }
            Does::Look | Does::Release | Does::Name => None,
        })
    }

    /// Begins messages that were described. All but the last become steps here.
    fn start(&mut self, line: u32, values: &Values) -> Result<Option<What>, String> {
        let Handles { first, count, distance } = self.handles(values);
        let mut last = None;
        for place in 0..count {
            let address = place.checked_mul(distance).and_then(|offset| first.checked_add(offset));
            let prepared = address.and_then(|address| self.prepared.get(&address));
            let Some((address, &(sends, message))) = address.zip(prepared) else {
                return Err("it starts a request that no call prepared".into());
            };
            self.requests.begin(address);
            if let Some(what) = last.replace(What::Begin { sends, message }) {
                let before_ns = std::mem::take(&mut self.before_ns);
                self.trace.steps.push(Step { line, before_ns, what });
            }
        }
        Ok(last)
    }

    /// Returns the handles of requests that a call names.
    fn handles(&self, values: &Values) -> Handles {
        let distance = self.library.unwrap_or(Library::OpenMpiC).request_bytes();
        let count = values.counts.first().copied().unwrap_or(1);
        Handles { first: values.address, count, distance }
    }

    /// Returns the message whose number of elements, datatype and so on stand at these places.
    fn message(
        &self,
        communicator: u32,
        values: &Values,
        (count, at): (usize, usize),
        sends: bool,
    ) -> Result<Message, String> {
        let library = self.library.unwrap_or(Library::OpenMpiC);
        let (number, tag) = (values.ranks[at], values.tags[at]);
        let ranks = self.trace.communicators[communicator as usize].ranks;
        let peer = library.peer(number).filter(|peer| match peer {
            Peer::Rank(rank) => *rank < ranks,
            Peer::Any => !sends,
            Peer::Nobody => true,
        });
        let peer = peer.ok_or_else(|| format!("{number} is none of {ranks} ranks"))?;
        let tag = match tag {
            _ if peer == Peer::Nobody => Some(0),
            -1 if !sends => None,
            tag => {
                let tag = u32::try_from(tag).ok().filter(|&tag| tag <= i32::MAX as u32);
                Some(tag.ok_or_else(|| format!("{} is no tag", values.tags[at]))?)
            }
        };
        let bytes = values.bytes(count, count)?;
        Ok(Message { peer, bytes, tag, communicator })
    }

    /// Returns the number of a communicator in this trace.
    fn communicator(
        &mut self,
        line: u32,
        (handle, rank, ranks): (i64, u32, u32),
    ) -> Result<u32, String> {
        let library = Library::from_communicator(handle);
        if *self.library.get_or_insert(library) != library {
            let why = "is from another MPI library or language than those before it";
            return Err(format!("the communicator {handle} {why}"));
        }
        let communicators = &mut self.trace.communicators;
        Ok(*self.numbers.entry((handle, rank, ranks)).or_insert_with(|| {
            communicators.push(Used { handle, rank, ranks, line, communicates: false });
            (communicators.len() - 1) as u32
        }))
    }

    /// Notes a communicator that is made.
    fn make(&mut self, line: u32, from: u32, algorithm: Algorithm, name: &str, values: &Values) {
        let how = match (algorithm, name) {
            (Algorithm::Split, _) => {
                How::Split { color: values.numbers[0], key: values.numbers[1] }
            }
            (_, "MPI_Comm_dup") => How::Same,
            (Algorithm::Create, _) => How::Unknown,
            _ => return,
        };
        self.trace.made.push(Made { line, from, address: values.address, how });
    }

    /// Returns the trace.
    fn finish(mut self) -> Result<RankTrace, Problem> {
        if self.stage != Stage::After {
            let why =
                "it ends without MPI_Finalize: the program did not end, or the file is cut off";
            return Err(bad(why, "copy the whole file of a run that ended"));
        }
        let (ended, lost) = self.requests.finish();
        for (step, number) in ended {
            if let What::End(numbers) = &mut self.trace.steps[step].what {
                numbers.push(number);
            }
        }
        self.trace.lost_messages = lost;
        Ok(self.trace)
    }
}
