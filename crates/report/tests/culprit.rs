//! Headline, advice and periods name what took the time, whatever else is there.

use anechoic_analyze::{Readings, Wanted, summarize};
use anechoic_lab::trains::{Train, random, unit};
use anechoic_lab::two_cpus::{self, SECOND};
use anechoic_recording::sources;
use anechoic_report::View;

const KINDS: [&str; 6] =
    ["thread", "timer", "device-irq", "softirq", "victim-kernel", "vm-or-hardware"];

/// One dominant source of random kind, rate and length, beside a tick that is present in more beats.
#[test]
fn the_dominant_source_is_named_everywhere() {
    let mut random = random(11);
    let view = View::default();
    let mut named = 0;
    for case in 0..24 {
        let kind = KINDS[case % KINDS.len()];
        // 7 to 900 Hz, and 5 to 40 % of the time; the tick takes 0.6 %.
        let hz = 7.0 * 130_f64.powf(unit(&mut random));
        let length_s = (0.05 + 0.35 * unit(&mut random)) / hz / 1.125;
        let dominant = Train { length_s, phase: unit(&mut random), ..Train::ticks(hz) };
        let dominant = dominant.play(10.0, &mut random);
        // A tick inside of it is part of it.
        let is_inside = |at: f64, (from, length): (f64, f64)| (0.0..length).contains(&(at - from));
        let mut ticks = Train::ticks(250.0).play(10.0, &mut random);
        ticks.retain(|&(at, _)| !dominant.iter().any(|&one| is_inside(at, one)));
        let played = [("timer-tick", ticks), (kind, dominant)];
        let place = tempfile::tempdir().expect("a directory");
        let run = two_cpus::run(10 * SECOND);
        let recording = two_cpus::record(&place.path().join("recording"), &run, &played);
        let summary = summarize(&recording).expect("a sound recording");
        let guest = summary.run.hypervisor.is_some();
        let title = sources::find(kind).expect("a known source").title_on(guest);

        let about = format!("case {case}: {title} of {length_s:.2e} s at {hz:.1} Hz");
        let rows = &summary.sources.as_ref().expect("it was attributed").rows;
        assert_eq!(rows[0].source, kind, "{about}");
        let text = anechoic_report::summary(&summary, &view).to_text(&view);
        let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
        assert!(text.contains(&format!("largest source, {title}")), "{about}: {text}");
        let (_, advice) =
            text.split_once("what would help").unwrap_or_else(|| panic!("{about}: {text}"));
        assert!(advice.contains(title), "{about}: {advice}");

        let wanted = Wanted { periods: 1, ..Wanted::default() };
        let found = Readings::read(&recording, wanted, &mut |_| {}).expect("a sound recording");
        let spectrum = &found.periods[0].spectrum;
        let noise = Some(summary.cpus[1].noise);
        let screen = anechoic_report::spectrum("", spectrum, noise, &summary.run, &view);
        let text = screen.to_text(&view);
        let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
        let headline = text.split_once(" power over").map_or(text.as_str(), |(first, _)| first);
        let is_named = headline.contains(title);
        assert!(is_named || headline.starts_with("No period carries"), "{about}: {text}");
        named += u32::from(is_named);
    }
    assert!(named >= 18, "{named} of 24 periods are found");
}
