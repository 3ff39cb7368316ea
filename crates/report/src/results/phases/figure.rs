//! The figure of the slowdown against the number of ranks, with one curve for each grain.
//!
//! A curve ends where the recording no longer supports the number of ranks; the next number is drawn as a point.

use crate::picture::{Axis, Chart, Curve, Draw, Quantity, ROWS};
use crate::units::asked;
use anechoic_predict::phases::{GrainModel, PhaseModel};

/// Numbers of ranks with the slowdown at each.
type Points = Vec<(f64, f64)>;

/// Returns the figure.
pub(super) fn figure(model: &PhaseModel) -> Chart {
    let x = Axis::log("ranks", Quantity::Count);
    let y = Axis::log("slowdown", Quantity::Number);
    Chart::new(x, y, curves(&model.grains)).titled("slowdown against the number of ranks", ROWS + 2)
}

/// Returns whether there are not two numbers of ranks, or none is slowed down.
pub(super) fn is_flat(model: &PhaseModel) -> bool {
    let cells = || model.grains.iter().flat_map(|grain| &grain.cells);
    cells().count() < 2 || cells().all(|cell| cell.slowdown() <= 1.0)
}

/// Returns a line for each grain up to the number of ranks that the recording supports, and a point of the same colour
/// beyond.
fn curves(grains: &[GrainModel]) -> Vec<Curve> {
    let mut curves = vec![];
    for (number, grain) in grains.iter().enumerate() {
        let name = asked(grain.grain_ns);
        let underestimate = format!("{name}: underestimate");
        for (supported, name, draw, first_letter) in
            [(true, name, Draw::Line, b'A'), (false, underestimate, Draw::Points, b'a')]
        {
            let points = points_of(grain, supported);
            if !points.is_empty() {
                let letter = char::from(first_letter + (number % 26) as u8);
                curves.push(Curve::numbered(number, name, draw, &points).lettered(Some(letter)));
            }
        }
    }
    curves
}

/// Returns the best estimate for each number of ranks that the recording supports, or does not.
fn points_of(grain: &GrainModel, supported: bool) -> Points {
    let cells = grain.cells.iter().filter(|cell| cell.supported == supported);
    let mut points: Points = cells.map(|cell| (cell.ranks as f64, cell.slowdown())).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by_key(|point| point.0);
    // All further ones are as little known as the first.
    points.truncate(if supported { points.len() } else { 1 });
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_predict::phases::{Ask, Host, Noise, Span, Timeline, predict};

    #[test]
    fn what_is_not_supported_is_no_line() {
        let span = |at: u64| Span { start_ns: at * 4_000_000, end_ns: at * 4_000_000 + 50_000 };
        let timeline = Timeline::new(10_000_000_000, (0..2_500).map(span).collect());
        let host = Host::new("one".into(), vec![(0, timeline)]).expect("a host");
        let ranks = vec![1, 10, 1_000, 10_000];
        let grains_ns = vec![1_000_000, 100_000_000];
        let ask = Ask { grains_ns, ranks, budget: 1, ..Ask::default() };
        let model = predict(&Noise::from_hosts(vec![host]), &ask).expect("a prediction");
        let drawn: Vec<_> = curves(&model.grains)
            .into_iter()
            .map(|curve| (curve.name, curve.draw, curve.x, curve.color.name, curve.letter))
            .collect();
        let curve = |name: &str, draw, x: &[f64], color, letter| {
            (name.to_owned(), draw, x.to_vec(), color, Some(letter))
        };
        let [first, second] = [0, 1].map(|number| crate::palette::curve_color(number).name);
        let expected = [
            curve("1 ms", Draw::Line, &[1.0, 10.0, 1e3], first, 'A'),
            curve("1 ms: underestimate", Draw::Points, &[1e4], first, 'a'),
            curve("100 ms", Draw::Line, &[1.0, 10.0], second, 'B'),
            curve("100 ms: underestimate", Draw::Points, &[1e3], second, 'b'),
        ];
        assert_eq!(drawn, expected);
    }
}
