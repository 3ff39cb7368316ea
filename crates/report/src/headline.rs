//! What the detours of a run come to, in two sentences.

use crate::names::source_name;
use crate::stopped;
use crate::style::plain;
use crate::units::{asked, counted, length, noise, noise_certainty, share, span};
use anechoic_analyze::Summary;
use anechoic_analyze::facts::ProgramFacts;
use anechoic_analyze::lengths::Lengths;
use anechoic_recording::sources;

/// Share of the time from which on other programs are at work, and not a disturbance.
const AT_WORK: f64 = 0.2;
/// Share of the lost time from which an artefact of the measurement is stated.
const ARTEFACT: f64 = 0.05;

/// Returns what ended the run if a condition did, how much time was lost, and what took most of it.
pub(crate) fn sentences(summary: &Summary) -> Vec<String> {
    let stopped = summary.stopped.iter().map(|stopped| stopped::sentence(stopped, &summary.run));
    stopped.chain(noise_and_source(summary)).collect()
}

fn noise_and_source(summary: &Summary) -> Vec<String> {
    let run = &summary.run;
    if let Some(program) = &run.program {
        return of_program(summary, program);
    }
    let cpus = counted(run.cpus.len() as u64, "CPU", "CPUs");
    let over = asked(run.threshold_ns);
    let Some(lengths) = summary.total.lengths.as_ref() else {
        let so_long = span(run.wall_ns);
        return vec![match summary.total.lost_detours {
            0 => format!("{cpus} had no detour over {over} in {so_long}."),
            lost => {
                let lost = counted(lost, "detour", "detours");
                format!(
                    "The noise of {cpus} is unknown: {lost} over {over} occurred, and none was recorded."
                )
            }
        }];
    };
    let least = if summary.total.lost_detours > 0 { "at least " } else { "" };
    let first = format!(
        "{cpus} lost {least}{} of {} time{}.",
        noise(summary.total.noise),
        if run.cpus.len() == 1 { "its" } else { "their" },
        noise_certainty(summary.total.noise, summary.total.interval, summary.total.at_least),
    );
    let competition = competition(summary).map(|part| {
        format!(
            "Other programs ran on {} for {} of the time: that is competition, not operating-system noise. Measure while they rest, or with --fifo.",
            if run.cpus.len() == 1 { "it" } else { "them" },
            share(part)
        )
    });
    let artefact = artefact(summary).map(|part| {
        format!(
            "{} of it is an artefact of --fifo: the kernel takes real-time threads off a CPU so that others run there. The rest is {} of the time.",
            share(part),
            noise(summary.total.noise * (1.0 - part))
        )
    });
    let second = source_and_lengths(summary, lengths);
    [Some(first), competition, artefact, Some(second)].into_iter().flatten().collect()
}

/// Returns what took most of the lost time, and how long the detours were.
fn source_and_lengths(summary: &Summary, lengths: &Lengths) -> String {
    let mut sentence = String::new();
    if let Some(row) = summary.sources.as_ref().and_then(|sources| sources.rows.first()) {
        let name = source_name(&row.source, &row.name, &summary.run);
        sentence = format!("The largest source, {name}, took {} of it. ", share(row.share));
    }
    sentence += &format!(
        "The longest of {} took {}; half of the lost time lies in detours of {} or longer.",
        counted(summary.total.detours, "detour", "detours"),
        length(lengths.max_ns),
        length(lengths.p50_by_time_ns),
    );
    sentence
}

/// Returns what a program lost.
fn of_program(summary: &Summary, program: &ProgramFacts) -> Vec<String> {
    let run = &summary.run;
    let cpus = counted(run.cpus.len() as u64, "CPU", "CPUs");
    let (name, ran) = (plain(&program.name), span(program.ran_ns));
    if run.cpus.is_empty() {
        return vec![format!("{name} ran for {ran}, on none of the CPUs that were asked for.")];
    }
    let Some(lengths) = summary.total.lengths.as_ref() else {
        return vec![format!("{name} ran for {ran} and lost nothing on {cpus}.")];
    };
    let lost_ns = summary.total.noise * summary.total.wall_ns as f64;
    let first = format!(
        "{name} lost {} of its run time on {cpus}: {} beside the {ran} in which it executed, in {} from start to end.",
        noise(summary.total.noise),
        span(lost_ns.round() as u64),
        span(run.wall_ns),
    );
    vec![first, source_and_lengths(summary, lengths)]
}

/// Returns the share of the time in which other programs had the CPUs, if that is most of what was lost and so much
/// that the machine was at work, not idle.
pub(crate) fn competition(summary: &Summary) -> Option<f64> {
    let rows = summary.sources.iter().flat_map(|sources| &sources.rows);
    let threads = rows.filter(|row| {
        sources::THREAD.is(&row.source)
            && row.threads.iter().any(|of| of.command.as_deref() != Some(""))
    });
    let of_lost: f64 = threads.map(|row| row.share).sum();
    let part = of_lost * summary.total.noise;
    let is_loop = summary.run.program.is_none();
    (is_loop && of_lost > 0.5 && part >= AT_WORK && !summary.run.policy.is_fifo()).then_some(part)
}

/// Returns the share of the lost time that only the policy of the measuring threads caused, if it changes the picture.
fn artefact(summary: &Summary) -> Option<f64> {
    let rows = summary.sources.iter().flat_map(|sources| &sources.rows);
    let of_policy = rows.filter(|row| {
        sources::FAIR_SERVER.is(&row.source) || sources::RT_THROTTLING.is(&row.source)
    });
    let part: f64 = of_policy.map(|row| row.share).sum();
    (part >= ARTEFACT && summary.run.policy.is_fifo()).then_some(part)
}
