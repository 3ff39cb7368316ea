//! What the detours of a run come to, in two sentences.

use crate::advice::quota_took_more;
use crate::names::source_name;
use crate::results::longest::stopped;
use crate::results::summary::{levels, pace};
use crate::style::plain;
use crate::units::{asked, counted, length, noise, noise_certainty, share, span};
use anechoic_analyze::competition::{Competition, competition};
use anechoic_analyze::lengths::Lengths;
use anechoic_analyze::owners::OwnerKind;
use anechoic_analyze::program::ProgramFacts;
use anechoic_analyze::sources::SourceRow;
use anechoic_analyze::{Summary, summarize};
use anechoic_recording::{Recording, sources};

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
        return program_sentences(summary, program);
    }
    let cpus = counted(run.cpus.len() as u64, "CPU", "CPUs");
    let threshold = asked(run.threshold_ns);
    let Some(lengths) = summary.total.lengths.as_ref() else {
        let so_long = span(run.wall_ns);
        return vec![match summary.total.lost_detours {
            0 => format!("{cpus} had no detour over {threshold} in {so_long}."),
            lost => {
                let lost = counted(lost, "detour", "detours");
                format!(
                    "The noise of {cpus} is unknown: {lost} over {threshold} occurred, and none was recorded."
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
    let competition = competition(summary).map(|kind| competition_sentence(kind, run.cpus.len()));
    let artefact = artefact(summary);
    let second = source_and_lengths(summary, lengths);
    let (slower, level) = (pace::sentence(summary), levels::sentence(summary));
    [Some(first), competition, artefact, Some(second), slower, level]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns what took most of the lost time, and how long the detours were.
fn source_and_lengths(summary: &Summary, lengths: &Lengths) -> String {
    let mut sentence = String::new();
    if summary.run.alternate_ns.is_some() {
        sentence = "Kernel events were recorded half of the time, to measure what that costs; a run without --tracer-cost names the sources of all. ".to_owned();
    } else if let Some(quota) = quota_above_all(summary) {
        sentence = quota;
    } else if let Some(row) = summary.sources.as_ref().and_then(|sources| sources.rows.first()) {
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

/// Returns that the own CPU quota took more than each source. What ran while it held the threads back has their time only by
/// the events.
fn quota_above_all(summary: &Summary) -> Option<String> {
    let owners = summary.owners.as_ref()?;
    let quota = owners.iter().find(|owner| owner.kind == OwnerKind::OwnQuota)?;
    let largest = summary.sources.as_ref()?.rows.first()?;
    if !quota_took_more(quota.lost_ns, largest) {
        return None;
    }
    let cgroup = plain(summary.run.limits.as_ref()?.limited.as_deref()?);
    let most = if quota.at_most { "up to " } else { "" };
    Some(format!(
        "The CPU quota of {cgroup} took {most}{} of it, whatever ran meanwhile. ",
        share(quota.share)
    ))
}

/// Returns what a program lost.
fn program_sentences(summary: &Summary, program: &ProgramFacts) -> Vec<String> {
    let run = &summary.run;
    let cpus = counted(run.cpus.len() as u64, "CPU", "CPUs");
    let name = plain(&program.name);
    if run.cpus.is_empty() {
        let ran = span(program.ran_ns);
        return vec![format!("{name} ran for {ran}, on none of the CPUs that were asked for.")];
    }
    // On the CPUs that are shown, which may be fewer than it used.
    let lost_ns = summary.total.noise * summary.total.wall_ns as f64;
    let ran = span((summary.total.wall_ns as f64 - lost_ns).round() as u64);
    let Some(lengths) = summary.total.lengths.as_ref() else {
        return vec![format!("{name} ran for {ran} and lost nothing on {cpus}.")];
    };
    let first = format!(
        "{name} ran for {ran} on {cpus} and was held up for another {}: {} of the time in which it wanted a CPU, in {}.",
        span(lost_ns.round() as u64),
        noise(summary.total.noise),
        match program.wall_ns(run.wall_ns) {
            Some(ns) => format!("{} from start to end", span(ns)),
            None => format!("{} of recording", span(run.wall_ns)),
        },
    );
    vec![first, source_and_lengths(summary, lengths)]
}

/// Returns the sentence that states what had this number of measured CPUs, and what to do.
pub(crate) fn competition_sentence(kind: Competition, cpus: usize) -> String {
    let them = if cpus == 1 { "it" } else { "them" };
    let remedy = match kind {
        Competition::Programs(_) => "Repeat when these CPUs are idle, or use --fifo.",
        Competition::Waiting(_) => "Repeat when these CPUs are idle.",
    };
    format!("{} {remedy}", competition_fact(kind, cpus, them))
}

/// Returns the sentence that states what had this number of measured CPUs, which are called `them`.
fn competition_fact(kind: Competition, cpus: usize, them: &str) -> String {
    match kind {
        Competition::Programs(part) => format!(
            "Other programs ran on {them} for {} of the time: that is competition, not operating-system noise.",
            share(part)
        ),
        Competition::Waiting(part) => format!(
            "For {} of the time {}, because other threads ran there or a CPU quota was used up: that is competition, not operating-system noise.",
            share(part),
            match cpus {
                1 => "the loop waited for its CPU",
                _ => "the loops waited for their CPUs",
            },
        ),
    }
}

/// States in which of these recordings other programs were at work on the measured CPUs, for results that are not
/// summaries. A recording whose lost time is not known says nothing of that.
pub(crate) fn at_work(recordings: &[&Recording]) -> Vec<String> {
    let several = recordings.len() > 1;
    recordings.iter().filter_map(|recording| at_work_in(recording, several)).collect()
}

/// States whether other programs were at work during one of several recordings, or of a single one.
fn at_work_in(recording: &Recording, several: bool) -> Option<String> {
    let summary = summarize(recording).ok()?;
    let host = match several {
        true => format!("{}: ", plain(&summary.run.host)),
        false => String::new(),
    };
    let cpus = summary.run.cpus.len();
    let fact = competition_fact(competition(&summary)?, cpus, "the measured CPUs");
    Some(format!("{host}{fact} Repeat when these CPUs are idle."))
}

/// States the share of the lost time that only the policy of the measuring threads caused, if it changes the picture,
/// and what is left without it.
fn artefact(summary: &Summary) -> Option<String> {
    let rows = summary.sources.iter().flat_map(|sources| &sources.rows);
    let (artefacts, others): (Vec<&SourceRow>, Vec<&SourceRow>) = rows.partition(|row| {
        sources::FAIR_SERVER.is(&row.source) || sources::RT_THROTTLING.is(&row.source)
    });
    let part: f64 = artefacts.iter().map(|row| row.share).sum();
    if part < ARTEFACT || !summary.run.policy.is_fifo() {
        return None;
    }
    let longest = others.iter().max_by_key(|row| row.charged.max_ns).map(|row| {
        let name = source_name(&row.source, &row.name, &summary.run);
        format!(
            ", and no other source took more than {} at once ({name} did)",
            length(row.charged.max_ns)
        )
    });
    Some(format!(
        "{} of it is an artefact of --fifo: the kernel takes real-time threads off a CPU so that others run there. The rest is {} of the time{}.",
        share(part),
        noise(summary.total.noise * (1.0 - part)),
        longest.unwrap_or_default(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders::activity;
    use anechoic_lab::two_cpus::{self, MICRO, SECOND, SHORTEST};
    use anechoic_recording::attribution::Attribution;
    use anechoic_recording::{Activity, ActivityKind, Detour, Recorder};
    use std::path::Path;

    /// Two seconds in which a thread has each of two CPUs for this part of each 10 ms.
    fn record(dir: &Path, source: &str, part: f64) -> Recording {
        let run = two_cpus::run(2 * SECOND);
        let (mut detours, mut activities) = (vec![], vec![]);
        for cpu in 0..2 {
            for number in 0..200_u64 {
                let start_ticks = number * 10_000 * MICRO;
                let self_ticks = (part * 10_000.0) as u64 * MICRO;
                let (key, kind) = ((cpu, number), ActivityKind::OffCpu);
                let row = activity(key, kind, source, start_ticks, self_ticks);
                activities.push(Activity { thread: Some(77), name: "hog".into(), ..row });
                let end_ticks = start_ticks + self_ticks + SHORTEST;
                detours.push(Detour { cpu, start_ticks, end_ticks });
            }
        }
        let mut recorder = Recorder::create(dir, &run).expect("a new directory");
        recorder.append(&detours).expect("in order");
        recorder.finish(&run).expect("there is space");
        let recording = Recording::open(dir).expect("just written");
        let mut writer = recording.derive::<Activity>().expect("writable");
        writer.append(&activities).expect("in order");
        writer.finish().expect("there is space");
        recording.write_attribution(&Attribution::default()).expect("writable");
        Recording::open(dir).expect("just written")
    }

    #[test]
    fn competition_is_found_in_any_recording_with_detours() {
        let place = tempfile::tempdir().expect("a place for it");
        let cases = [
            ("busy", "thread", 0.45, true),
            ("quiet", "thread", 0.05, false),
            ("another cause", "vm-or-hardware", 0.45, false),
        ];
        for (name, source, part, expected) in cases {
            let recording = record(&place.path().join(name), source, part);
            let found = at_work(&[&recording]);
            let states = found.iter().any(|text| {
                text.starts_with("Other programs ran on the measured CPUs for 45.0 % of the time")
            });
            assert_eq!(
                (states, found.len()),
                (expected, usize::from(expected)),
                "{name}: {found:?}"
            );
        }
    }
}
