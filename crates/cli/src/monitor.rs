//! `anechoic monitor`: a service that reads the kernel's counters and saves what ran when one of them is unusual.

mod flight;
mod metrics;
mod place;
mod signals;

use crate::ask;
use crate::record::running::RunningArgs;
use crate::terminal::print_note;
use anechoic_analyze::monitor::{Found, Watch, Why, rate_by_row};
use anechoic_measure::monitor::Monitor;
use anechoic_recording::rates::{RateLimit, RateUnit, UNUSUAL};
use anechoic_recording::run::Monitoring;
use anechoic_recording::stop::StopCondition;
use anechoic_recording::{Problem, ProblemKind};
use anechoic_report::{amount_of_rate, shown};
use anechoic_system::cgroups;
use flight::{Flight, FlightPlan, Outcome};
use metrics::Metrics;
use place::MonitorPlace;
use signals::{Request, Signals};
use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Watch this machine all the time, and keep the seconds before something unusual: the flight recorder
///
/// Reads the kernel's own counters once a second and keeps them: time stolen by the hypervisor, waiting and pressure, interrupts,
/// softirqs, switches. No loop runs. Meanwhile kernel events go into a ring in memory. When a counter leaves the range of its last
/// hour, exceeds a limit, or a program waits too long, the seconds before that are saved as a recording: what ran, and who waited.
/// `anechoic history DIR` shows both together. Events cost CPU time, which is printed at the end; --no-events leaves them out.
///
/// SIGUSR1 saves the last seconds now, SIGHUP without a terminal begins a new recording of counters, SIGTERM and Ctrl-C end the service.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct MonitorArgs {
    #[command(flatten)]
    running: RunningArgs,
    /// What saves the last seconds: 'unusual', a rate like 'steal>20%' or 'switches>50000', or of the recorded program
    /// 'wait>5ms', 'release>1ms', 'lost>5%' or 'detour>1ms'; several times [default: unusual]
    #[arg(long, value_name = "CONDITION", value_parser = SaveOn::parse)]
    save_on: Vec<SaveOn>,
    /// Also keep the rates of this control group; several times
    #[arg(long, value_name = "PATH")]
    group: Vec<String>,
    /// How many seconds before something unusual are saved
    #[arg(long, value_name = "TIME", value_parser = ask::duration, default_value = "10s")]
    keep: Duration,
    /// Keep counters only: record no events
    #[arg(long)]
    no_events: bool,
    /// Save at most this often in an hour
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    most_per_hour: u32,
    /// Largest size of all that is kept; the oldest is removed first
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = place::bytes)]
    most_disk: u64,
    /// Metrics for Prometheus: a file for node_exporter, an address of this machine (127.0.0.1:9440), or unix:PATH; several times
    #[arg(long, value_name = "WHERE", value_parser = metrics::Where::parse)]
    metrics: Vec<metrics::Where>,
    /// End after this time [default: never]
    #[arg(long, short, value_name = "TIME", value_parser = ask::duration)]
    duration: Option<Duration>,
    /// Directory of all recordings; a service goes on in it
    #[arg(long, short, value_name = "DIR", default_value = "anechoic-monitor")]
    output: PathBuf,
    /// Print nothing but problems
    #[arg(long, short)]
    quiet: bool,
    /// How often counters are saved, for tests
    #[arg(long, hide = true, value_name = "TIME", value_parser = ask::duration, default_value = "1m")]
    save_every: Duration,
    /// How often counters are read, for tests
    #[arg(long, hide = true, value_name = "TIME", value_parser = ask::duration, default_value = "1s")]
    every: Duration,
}

const EXAMPLES: &str = "Examples:
  sudo anechoic monitor -o /var/lib/anechoic/monitor
  sudo anechoic monitor --unit nginx --save-on 'wait>5ms' --save-on unusual
                                   also when a thread of nginx waits for a CPU
  sudo anechoic monitor --metrics 127.0.0.1:9440
                                   for Prometheus: http://127.0.0.1:9440/metrics
  sudo pkill -USR1 -f 'anechoic monitor'
                                   save the last seconds now
  anechoic monitor --no-events     without privileges: counters only
  anechoic history anechoic-monitor
                                   what was seen, and what ran then";

/// What saves the last seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SaveOn {
    Unusual,
    Rate(RateLimit),
    Program(StopCondition),
}

impl SaveOn {
    fn parse(text: &str) -> Result<Self, String> {
        let name = text.split('>').next().unwrap_or(text).trim();
        match name {
            UNUSUAL if text.trim() == UNUSUAL => Ok(Self::Unusual),
            "wait" | "release" | "lost" | "detour" => {
                ask::program_stop_condition(text).map(Self::Program)
            }
            _ => text.parse().map(Self::Rate),
        }
    }
}

impl std::fmt::Display for SaveOn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unusual => f.write_str(UNUSUAL),
            Self::Rate(limit) => limit.fmt(f),
            Self::Program(condition) => condition.fmt(f),
        }
    }
}

/// After something unusual, this is still recorded.
const AFTER: Duration = Duration::from_secs(2);
/// What is unusual is known within this time after its start: it may be a median over five seconds.
const KNOWN_AFTER: Duration = Duration::from_secs(6);
/// Counters are saved first after this time, so that there is something to look at.
const FIRST: Duration = Duration::from_secs(5);
/// Number of readings of a recording of counters: those of an hour. Then the next one begins.
const READINGS: u32 = 3_600;
/// What could not be saved is tried again after this time.
const AGAIN: Duration = Duration::from_secs(60);

pub fn run(args: &MonitorArgs) -> Result<ExitCode, Problem> {
    let save_on = match &args.save_on[..] {
        [] => vec![SaveOn::Unusual],
        asked => asked.to_vec(),
    };
    let program = program_condition(&save_on, args)?;
    let groups = groups(args)?;
    let asked = Monitoring {
        save_on: save_on.iter().map(ToString::to_string).collect(),
        groups: groups.iter().map(|group| group.path().to_owned()).collect(),
        ..Monitoring::default()
    };
    let limits = save_on.iter().filter_map(|one| match one {
        SaveOn::Rate(limit) => Some(*limit),
        _ => None,
    });
    let flight = FlightPlan {
        target: args.running.as_args(),
        condition: program,
        keep: args.keep,
        known_after: KNOWN_AFTER + AFTER,
        most_per_hour: args.most_per_hour,
    };
    let monitor = Monitor::begin(&groups, asked, env!("CARGO_PKG_VERSION"));
    verify_limits(&save_on, &monitor.names())?;
    let signals = Signals::catch()?;
    let metrics = Metrics::open(&args.metrics)?;
    let place = MonitorPlace::take(&args.output, args.most_disk)?;
    let mut service = Service {
        watch: Watch::new(limits.collect(), save_on.contains(&SaveOn::Unusual)),
        monitor,
        metrics,
        flight: (!args.no_events).then(|| Flight::new(flight)),
        place,
        quiet: args.quiet,
        pending: None,
        save_due: Instant::now() + args.save_every.min(FIRST),
        every: args.every,
        save_every: args.save_every,
        started: Instant::now(),
        readings: 0,
        trouble: false,
    };
    service.run(&signals, args.duration.map(|duration| Instant::now() + duration))
}

/// Returns the condition of the recorded program, of which there may be one.
fn program_condition(
    save_on: &[SaveOn],
    args: &MonitorArgs,
) -> Result<Option<StopCondition>, Problem> {
    let mut conditions = save_on.iter().filter_map(|one| match one {
        SaveOn::Program(condition) => Some(*condition),
        _ => None,
    });
    let first = conditions.next();
    if let Some(second) = conditions.next() {
        let why = format!("'{second}' is a second condition of a program");
        return Err(ProblemKind::Usage.problem(why, "give one, and any number of rates"));
    }
    if args.no_events && args.running.names_processes() {
        let why = "--no-events records no process";
        return Err(ProblemKind::Usage.problem(why, "leave --pid out"));
    }
    if let Some(condition) = first.filter(|_| args.no_events) {
        let why = format!("'{condition}' is known from events only");
        return Err(ProblemKind::Usage.problem(why, "leave --no-events out"));
    }
    Ok(first)
}

/// Refuses a limit on what the kernel does not show here.
fn verify_limits(save_on: &[SaveOn], names: &[&str]) -> Result<(), Problem> {
    for one in save_on {
        let SaveOn::Rate(limit) = one else { continue };
        if !names.contains(&limit.rate.name) {
            let why = format!(
                "the kernel does not show '{}' here ({})",
                limit.rate.name, limit.rate.source
            );
            let remedy = match limit.rate.is_of_group {
                true => "name a control group with --group".to_owned(),
                false => format!("choose one of {}", names.join(", ")),
            };
            return Err(ProblemKind::Usage.problem(why, remedy));
        }
    }
    Ok(())
}

/// Returns the control groups whose rates are kept.
fn groups(args: &MonitorArgs) -> Result<Vec<cgroups::Cgroup>, Problem> {
    let mut groups = vec![];
    groups.extend(args.running.group()?);
    for path in &args.group {
        groups.push(cgroups::named(path)?);
    }
    let mut seen = HashSet::new();
    groups.retain(|group| seen.insert(group.path().to_owned()));
    Ok(groups)
}

/// The service while it runs.
struct Service {
    watch: Watch,
    monitor: Monitor,
    metrics: Metrics,
    flight: Option<Flight>,
    place: MonitorPlace,
    quiet: bool,
    /// Why the last seconds are saved, and when that is due.
    pending: Option<(Vec<String>, Instant)>,
    save_due: Instant,
    save_every: Duration,
    /// When the service began.
    started: Instant,
    /// Number of readings in the recording of counters that is open.
    readings: u32,
    every: Duration,
    /// Whether the last attempt to save failed.
    trouble: bool,
}

impl Service {
    fn run(&mut self, signals: &Signals, end: Option<Instant>) -> Result<ExitCode, Problem> {
        self.announce();
        let mut next = Instant::now() + self.every;
        loop {
            if let Some(flight) = &mut self.flight {
                flight.keep_flying(&mut self.place);
            }
            let until = end.map_or(next, |end| end.min(next));
            match signals.wait(until) {
                Some(Request::End) => break,
                Some(Request::Save) => self.want_saved("SIGUSR1".into(), Duration::ZERO),
                Some(Request::Reload) => {
                    self.save();
                    self.monitor.close(None);
                    self.readings = 0;
                    self.note(|| "a new recording of counters begins (SIGHUP)".into());
                }
                None => {}
            }
            let now = Instant::now();
            if now >= next {
                // What was missed, because the machine was suspended or busy, is one longer interval.
                next = (next + self.every).max(now);
                self.look();
            }
            let can_save =
                self.flight.as_ref().is_some_and(|flight| !flight.is_young() || !flight.flies());
            if can_save && self.pending.as_ref().is_some_and(|(_, due)| now >= *due) {
                self.save_flight();
            }
            self.reap();
            if now >= self.save_due {
                self.save();
            }
            if end.is_some_and(|end| now >= end) {
                break;
            }
        }
        Ok(self.finish())
    }

    /// Reads the counters, and looks for what is unusual.
    fn look(&mut self) {
        let clock = self.monitor.clock().clone();
        self.readings += 1;
        let rows = self.monitor.read();
        let found = self.watch.take(rows, &clock);
        self.metrics.count(rows);
        for one in found {
            self.metrics.count_unusual(&one.name);
            let what = describe(&one);
            self.note(|| what.clone());
            self.want_saved(what, AFTER);
        }
        let records = self.flight.as_ref().map(Flight::flies);
        self.metrics.publish(records, self.monitor.dropped);
    }

    /// Has the last seconds saved after this time, unless that is due already.
    fn want_saved(&mut self, why: String, after: Duration) {
        if self.flight.is_none() {
            return;
        }
        let due = Instant::now() + after;
        let (reasons, old_due) = self.pending.get_or_insert_with(|| (vec![], due));
        *old_due = due.min(*old_due);
        reasons.push(why);
    }

    fn save_flight(&mut self) {
        let (Some((reasons, _)), Some(flight)) = (self.pending.take(), &mut self.flight) else {
            return;
        };
        if let Err(why) = flight.save(&mut self.place, reasons) {
            self.metrics.count_not_saved();
            print_note(format_args!("anechoic: not saved: {why}"));
        }
    }

    /// Takes recordings that are complete.
    fn reap(&mut self) {
        let Some(flight) = &mut self.flight else { return };
        let outcomes = flight.reap(&mut self.place);
        self.report(outcomes);
    }

    fn report(&mut self, outcomes: Vec<Outcome>) {
        for saved in outcomes {
            match saved {
                Ok((dir, reasons)) => {
                    self.metrics.count_saved();
                    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    self.monitor.note_saved(name, reasons.clone());
                    self.note(|| format!("saved {}: {}", shown(&dir), reasons.join("; ")));
                    let kept = self.place.make_room();
                    self.metrics.keeps(kept);
                }
                Err(why) => {
                    self.metrics.count_not_saved();
                    print_note(format_args!("anechoic: {why}"));
                }
            }
        }
    }

    /// Saves the counters that were read, and begins the next recording where that is due.
    fn save(&mut self) {
        self.save_due = Instant::now() + self.save_every;
        self.metrics.keeps(self.place.make_room());
        let place = &mut self.place;
        match self.monitor.save(|| place.next(place::COUNTERS)) {
            Ok(()) => {
                if std::mem::take(&mut self.trouble) {
                    self.note(|| "counters are saved again".into());
                }
                self.place.opened(self.monitor.dir());
                if self.readings >= READINGS {
                    self.monitor.close(None);
                    self.readings = 0;
                }
            }
            Err(problem) => {
                self.save_due = Instant::now() + AGAIN.min(self.save_every);
                if !std::mem::replace(&mut self.trouble, true) {
                    print_note(format_args!(
                        "anechoic: counters are not saved, and are kept in memory: {problem}"
                    ));
                }
            }
        }
    }

    fn finish(&mut self) -> ExitCode {
        if self.pending.is_some() {
            self.save_flight();
        }
        let landed = self.flight.as_mut().map(|flight| flight.land(&mut self.place));
        self.report(landed.unwrap_or_default());
        self.save();
        self.monitor.close(None);
        let costs =
            metrics::own_costs(self.started.elapsed(), self.flight.as_ref().map(Flight::cost));
        self.note(|| costs);
        let dir = shown(self.place.dir()).to_string();
        match self.trouble {
            true => {
                print_note("anechoic: the last readings are lost, because they could not be saved")
            }
            false => self.note(|| format!("`anechoic history {dir}` shows it")),
        }
        ExitCode::from(u8::from(self.trouble || self.monitor.dropped > 0))
    }

    fn announce(&self) {
        let dir = shown(self.place.dir()).to_string();
        self.note(|| format!("reads the kernel's counters once a second into {dir}"));
        if let Some(flight) = &self.flight {
            self.note(|| flight.describe());
        }
        for address in self.metrics.places() {
            self.note(|| format!("metrics: {address}"));
        }
    }

    fn note(&self, text: impl FnOnce() -> String) {
        if !self.quiet {
            print_note(format_args!("anechoic: {}", text()));
        }
    }
}

/// States what is unusual: "steal 12 % (at most 2 % in the last hour)".
fn describe(found: &Found) -> String {
    let name = &found.name;
    let unit = rate_by_row(name).map_or(RateUnit::Number, |rate| rate.unit);
    let value = amount_of_rate(found.value, unit);
    match found.why {
        Why::Limit { most } => format!("{name} {value} (limit {})", amount_of_rate(most, unit)),
        Why::Range { usual_most, seconds } => {
            let usual = amount_of_rate(usual_most, unit);
            let over = if seconds > 1 { format!(" over {seconds} s") } else { String::new() };
            format!("{name} {value}{over} (at most {usual} in the last hour)")
        }
    }
}
