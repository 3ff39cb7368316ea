//! A job that was simulated, message by message.

mod lateness;
mod path;
mod tolerance;
mod wave;
mod words;

use super::described::{Grouping, Section};
use super::row::{Print, Row};
use super::{Input, Model};
use crate::names::title_of;
use crate::screen::Screen;
use crate::style::{View, clip};
use crate::table::Table;
use crate::units::{bounds, count, counted, fine, long, noise, share, slowdown};
use anechoic_analyze::injection::Verdict;
use anechoic_recording::Problem;
use anechoic_simulate::{Ask, OPTIONS, Replica, Simulation, run_with};

/// The row of the result.
pub static SIMULATED: Row<Simulation> = Row {
    compute: Some(compute),
    verdict: |found, _| if found.ended_early { Verdict::Warning } else { Verdict::Good },
    headline: words::headline,
    section: Some(Section { anchor: "simulated", title: "A simulated job", short: "Simulated" }),
    model: Some(Model {
        about: "Simulate a parallel job under recorded noise, message by message (LogGOPS)",
        details: DETAILS,
        examples: EXAMPLES,
        inputs: "Recordings, directories of recordings, or text files of detours; none for a law or no noise",
        needs_no_recording: true,
        takes_files: true,
        is_command: true,
        options: OPTIONS,
        ..Model::NEW
    }),
    print: Some(Print::with(screen)),
    ..Row::new("simulate", "simulated job", Grouping::Live)
};

const DETAILS: &str = "Executes what every rank of a job does (sends, receives and computations) with the noise of a recording on \
its CPUs, and prints how much longer the job takes, and whether noise was absorbed, passed on or amplified. The job is a pattern \
of communication, a traced MPI program or a GOAL file; messages cost what the LogGOPS model says, with published parameters of a network. \
`predict phases` has closed forms for jobs whose ranks all meet.";

const EXAMPLES: &str = "Examples:
  anechoic run -d 60s -o noise && anechoic simulate --pattern allreduce-rd --ranks 1024 noise
  anechoic simulate --pattern halo2d --ranks 1e5 --replicas 2 --sources 0 --network daint noise
  anechoic simulate --pattern sweep --ranks 256 --tolerate 1% noise                   what may grow until it is 1 % slower
  anechoic simulate --pattern chain --ranks 64 --law once --on-rank 32 --delay 10ms   how far one delay reaches
  anechoic simulate --pattern chain --ranks 64 --law once --on-rank 32 --delay 10ms noise   the same under recorded noise
  anechoic simulate --pattern barrier --network-noise latencies.txt                   noise of the network alone
  anechoic simulate --goal job.goal --model loggopsim noise                           the times of LogGOPSim
  anechoic simulate --trace traces noise                                              an MPI program, traced by liballprof
  anechoic simulate --pattern barrier --law periodic --json | jq .slowdown";

fn compute(input: &Input<'_>) -> Result<Simulation, Problem> {
    let ask = input.answers(OPTIONS).and_then(|answers| Ask::read(&answers));
    let ask = input.ranks.agree(ask)?;
    let recordings = input.recordings.iter().map(|recording| recording.dir().to_owned());
    let paths: Vec<_> = input.files.iter().cloned().chain(recordings).collect();
    let progress = input.progress;
    let goes_on = |done, all| progress.is_none_or(|progress| progress.0(done, all));
    run_with(&ask, &paths, input.ranks, &goes_on)
}

/// Shows the simulation.
fn screen(found: &Simulation, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.in_terminal(|terminal| terminal.heading("simulated job"));
    screen.context(&words::job(found));
    if let Some(traced) = &found.job.traced {
        screen.context(&words::traced(traced));
        screen.context(&words::traced_times(traced, found.quiet_ns));
    }
    screen.context(&found.network);
    screen.context(&words::parameters(found));
    if let Some(network) = &found.network_noise {
        words::drawn(network).iter().for_each(|text| screen.context(text));
    }
    if let Some(noise) = &found.noise {
        if let Some(law) = &noise.law {
            screen.context(law);
        }
        screen.contexts(&noise.hosts, host_line, ["host", "hosts"]);
    }
    words::phase(found).iter().for_each(|text| screen.context(text));
    found.notes.iter().for_each(|note| screen.warning(note));
    screen.gap();
    screen.in_terminal(|terminal| {
        words::headline(found).iter().for_each(|text| terminal.headline(text));
    });
    let tolerance = found.tolerance.as_ref().filter(|tolerance| !tolerance.growth.is_empty());
    if let Some(tolerance) = tolerance.filter(|_| found.slowdown.is_none()) {
        screen.section(&tolerance::heading(tolerance));
        screen.table(tolerance::table(tolerance, &found.parameters, false));
    }
    if found.slowdown.is_none() {
        screen.gap();
        screen.note(match found.model.replays() {
            true => "give a recording of `anechoic run` to see what noise costs",
            false => "give a recording of `anechoic run`, or --law, to see what noise costs",
        });
        return screen;
    }
    let asks_for_wave = found.wave.is_some() && !view.all;
    if !found.sources.is_empty() && !asks_for_wave {
        screen.section("without one source (the same simulations)");
        screen.table(sources(found, noise_of_guest(found)));
    }
    if let Some(found) = &found.wave {
        screen.section(&wave::heading(found));
        screen.table(wave::table(found, view.all));
        screen.note(&wave::note(found, view.all));
    }
    if let Some(tolerance) = tolerance {
        screen.section(&tolerance::heading(tolerance));
        screen.table(tolerance::table(tolerance, &found.parameters, noise_of_guest(found)));
    }
    if let Some(found) = &found.lateness {
        lateness::show(found, view.all, &mut screen);
    }
    if let Some(path) = found.critical_path.as_ref().filter(|_| !asks_for_wave) {
        path::show(path, &found.parameters, noise_of_guest(found), view.all, &mut screen);
    }
    screen.gap();
    match found.replicas.len() {
        1 if asks_for_wave => {}
        2.. if !view.all => screen.note(&words::left_out(&found.replicas)),
        _ => {
            screen.table(replicas(&found.replicas));
            screen.gap();
            screen.note(words::COLUMNS);
        }
    }
    screen
}

/// Returns whether the noise was recorded in a guest of a hypervisor.
fn noise_of_guest(found: &Simulation) -> bool {
    found.noise.as_ref().is_some_and(|noise| noise.guest)
}

/// Widest name of a source.
const NAME: usize = 28;

fn sources(found: &Simulation, guest: bool) -> Table {
    Table::with_rows(&found.sources)
        .name("source", move |source| clip(&title_of(&source.source, &source.name, guest), NAME))
        .number("share of noise", |source| share(source.share))
        .number("longest", |source| fine(source.longest_ns as f64))
        .number("without", |source| slowdown(source.without))
        .number("cost", |source| format!("{:+.3}", source.cost))
        .number("95 %", |source| bounds(source.interval, None, |cost| format!("{cost:+.3}")))
        .captioned("The slowdown without each source")
}

/// Describes a recorded host.
fn host_line(host: &anechoic_predict::phases::HostFacts) -> String {
    let cpus = counted(host.cpus.len() as u64, "CPU", "CPUs");
    let detours = counted(host.detours, "detour", "detours");
    let (name, window) = (clip(&host.name, 28), long(host.window_ns));
    format!("{name} · {cpus} for {window} · {detours} · noise {}", noise(host.noise))
}

fn replicas(replicas: &[Replica]) -> Table {
    Table::with_rows(replicas)
        .number("seed", |replica| replica.seed.to_string())
        .number("slowdown", |replica| slowdown(replica.slowdown))
        .number("finish", |replica| fine(replica.finish_ns))
        .number("last rank", |replica| count(u64::from(replica.last_rank)))
        .number("late ranks", |replica| count(replica.late_ranks))
        .number("lost per rank", |replica| fine(replica.lost_ns))
        .number("at most", |replica| fine(replica.most_lost_ns))
        .captioned("Simulations")
}
