//! What the figures look like, and that no input breaks them.

use super::*;
use crate::style::{Style, Tone, View, width};
use proptest::prelude::*;

fn drawn(plot: &Plot, view: &View<'_>) -> String {
    let mut out = vec![];
    plot.write(view, &mut out).expect("writing to memory");
    String::from_utf8(out).expect("text is UTF-8")
}

fn view(width: usize) -> View<'static> {
    View { width, ..View::default() }
}

/// Excess times of 1 ms of work under 250 ticks per second and one long detour: median, most.
fn excess() -> Vec<Band> {
    let band = |n: u32| {
        let from = f64::from(n) * 1e8;
        let tick = 15_000.0 + f64::from((n * 7919) % 97) * 120.0;
        let high = if n == 63 { 8.1e6 } else { tick };
        Band {
            from,
            to: from + 1e8,
            low: 40.0,
            middle: Some(130.0 + f64::from(n % 5) * 20.0),
            high,
        }
    };
    (0..100).map(band).collect()
}

fn series(view: &View<'_>) -> Plot {
    let bands = excess();
    let x = Axis::over(Quantity::Time, Scale::Linear, [0.0, 1e10]);
    let y = Axis::over(Quantity::Time, Scale::Log, bands.iter().flat_map(|b| [b.low, b.high]));
    let mut plot = Plot::new("time over the shortest", x, y.rounded(6), ROWS, view);
    plot.band(&bands, Tone::Bar, Tone::Series(1));
    plot.key = vec![("⣿ least to most".into(), Tone::Bar), ("━ median".into(), Tone::Series(1))];
    plot
}

fn histogram(scale: Scale, view: &View<'_>) -> Plot {
    let bin = |n: u32| {
        let low = f64::from(n) * 250.0;
        let bell =
            |middle: f64, wide: f64, count: f64| count * (-((low - middle) / wide).powi(2)).exp();
        let count = bell(1_000.0, 400.0, 40_000.0) + bell(15_000.0, 1_500.0, 2_000.0);
        Bin { low, high: low + 250.0, count: count as u64 + u64::from(n == 119) }
    };
    let bins: Vec<Bin> = (0..120).map(bin).collect();
    let x = Axis::over(Quantity::Time, Scale::Linear, [0.0, 30_000.0]);
    let heights = columns(&bins, &x, 66);
    let floor = if scale == Scale::Log { 0.5 } else { 0.0 };
    let y = Axis::over(Quantity::Count, scale, heights.iter().copied().chain([floor]));
    let mut plot = Plot::new("samples by time over the shortest", x, y, ROWS, view);
    let heights = columns(&bins, &x, plot.canvas.columns);
    plot.bars(&heights, Tone::Bar);
    plot
}

fn survival(view: &View<'_>) -> Plot {
    let curve = |body: f64, tail: f64| -> Vec<(f64, f64)> {
        let points = (0..400).map(|n| 10f64.powf(1.0 + f64::from(n) / 70.0));
        points
            .map(|x| (x, (-(x / body)).exp() * 0.93 + 0.07 * (x / 10.0).powf(-tail)))
            .map(|(x, p)| (x, f64::min(p, 1.0)))
            .filter(|(_, p)| *p > 1e-5)
            .collect()
    };
    let curves = [curve(90.0, 0.6), curve(300.0, 0.7), curve(2_000.0, 0.9), curve(2_100.0, 0.62)];
    let all = || curves.iter().flatten();
    let x = Axis::over(Quantity::Time, Scale::Log, all().map(|(x, _)| *x));
    let y = Axis::over(Quantity::Share, Scale::Log, all().map(|(_, p)| *p)).rounded(6);
    let mut plot = Plot::new("part of the samples that took longer", x, y, 12, view);
    let letters = ['a', 'b', 'c', 'd'];
    let steps: Vec<Steps<'_>> = curves
        .iter()
        .zip(letters)
        .map(|(points, letter)| Steps { letter: Some(letter), points })
        .collect();
    plot.steps(&steps);
    plot.key = letters
        .iter()
        .zip(["counter", "sum", "fibonacci", "call"])
        .enumerate()
        .map(|(n, (letter, name))| (format!("{letter} {name}"), Tone::Series(n as u8)))
        .collect();
    plot
}

fn spectrum(view: &View<'_>) -> Plot {
    let power = |f: f64| {
        let peak = |at: f64, height: f64| height / (1.0 + ((f - at) / 0.6).powi(2));
        let floor = 0.6 + 0.5 * ((f * 12.9898).sin() * 43_758.547).fract().abs();
        floor + peak(100.0, 40.0) + peak(250.0, 900.0) + peak(500.0, 200.0)
    };
    let bands: Vec<Band> = (1..2_000)
        .map(|n| f64::from(n) * 0.25)
        .map(|f| Band { from: f, to: f, low: power(f), middle: None, high: power(f) })
        .collect();
    let x = Axis::over(Quantity::Frequency, Scale::Linear, [0.0, 500.0]);
    let y = Axis::over(Quantity::Ratio, Scale::Log, bands.iter().map(|b| b.high)).rounded(6);
    let mut plot = Plot::new("power over the background", x, y, ROWS, view);
    plot.band(&bands, Tone::Bar, Tone::Bar);
    plot.over = [(250.0, "250 Hz"), (100.0, "100 Hz"), (101.0, "101 Hz"), (500.0, "500 Hz")]
        .map(|(f, name)| (plot.x_dot(f) / 2, name.to_owned()))
        .to_vec();
    plot
}

#[test]
fn pictures() {
    for width in [80, 100, 60] {
        let view = view(width);
        let pictures = [
            series(&view),
            histogram(Scale::Linear, &view),
            histogram(Scale::Log, &view),
            survival(&view),
            spectrum(&view),
        ];
        let text = pictures.map(|plot| drawn(&plot, &view)).join("\n");
        insta::assert_snapshot!(format!("pictures_{width}"), text);
    }
}

#[test]
fn little_to_show() {
    let view = view(60);
    let band = |at: f64, value: f64| Band {
        from: at,
        to: at,
        low: value,
        middle: Some(value),
        high: value,
    };
    let cases: [(&str, Vec<Band>); 4] = [
        ("nothing", vec![]),
        ("one value", vec![band(5e9, 1_000_000.0)]),
        ("all equal", (0..30).map(|n| band(f64::from(n), 4_000.0)).collect()),
        ("a huge range", vec![band(0.0, 0.1), band(1.0, 1e18)]),
    ];
    let mut text = String::new();
    for (name, bands) in cases {
        for scale in [Scale::Linear, Scale::Log] {
            let x = Axis::over(Quantity::Time, Scale::Linear, bands.iter().map(|b| b.from));
            let y = Axis::over(Quantity::Time, scale, bands.iter().map(|b| b.low)).rounded(4);
            let mut plot = Plot::new(&format!("{name}, {scale:?}"), x, y, 6, &view);
            plot.band(&bands, Tone::Bar, Tone::Series(1));
            text += &drawn(&plot, &view);
        }
    }
    insta::assert_snapshot!("little", text);
}

#[test]
fn colour_is_the_same_picture() {
    let coloured = View { style: Style { color: true }, ..View::default() };
    for plot in [series(&coloured), survival(&coloured)] {
        let text = drawn(&plot, &coloured);
        let parts: Vec<&str> = text.split("\x1b[").collect();
        assert!(parts.len() > 10, "{text}");
        let stripped: String =
            parts[1..].iter().map(|part| part.split_once('m').expect("a code ends").1).collect();
        assert_eq!(parts[0].to_owned() + &stripped, drawn(&plot, &View::default()));
    }
}

/// Any number, with the hostile ones more often than chance has them.
fn number() -> impl Strategy<Value = f64> {
    let odd = [
        0.0,
        -0.0,
        1.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN_POSITIVE,
        1e18,
        5e-324,
    ];
    prop_oneof![any::<f64>(), 0.0..1e10, Just(1_000_000.0), proptest::sample::select(odd.to_vec())]
}

fn axis(
    quantity: Quantity,
    scale: Scale,
    values: &[(f64, f64, f64)],
    of: fn(&(f64, f64, f64)) -> f64,
) -> Axis {
    Axis::over(quantity, scale, values.iter().map(of))
}

proptest! {
    #[test]
    fn anything_can_be_drawn(
        values in proptest::collection::vec((number(), number(), number()), 0..40),
        scales in (any::<bool>(), any::<bool>()),
        rounded in any::<bool>(),
        quantity in 0usize..5,
        rows in 0usize..16,
        wide in 0usize..200,
        count in any::<u64>(),
    ) {
        let view = view(wide);
        let quantities = [Quantity::Time, Quantity::Count, Quantity::Share, Quantity::Frequency, Quantity::Ratio];
        let quantity = quantities[quantity];
        let scale = |log| if log { Scale::Log } else { Scale::Linear };
        let (x, y) = (axis(quantity, scale(scales.0), &values, |v| v.0), axis(quantity, scale(scales.1), &values, |v| v.1));
        let (x, y) = if rounded { (x.rounded(5), y.rounded(5)) } else { (x, y) };
        let mut plot = Plot::new("any\x1b[2J title that goes on and on", x, y, rows, &view);
        let bands: Vec<Band> = values.iter()
            .map(|&(from, low, high)| Band { from, to: high, low, middle: Some(low), high })
            .collect();
        plot.band(&bands, Tone::Bar, Tone::Bad);
        let bins: Vec<Bin> = values.iter().map(|&(low, high, _)| Bin { low, high, count }).collect();
        let heights = columns(&bins, &x, plot.canvas.columns);
        plot.bars(&heights, Tone::Bar);
        let points: Vec<(f64, f64)> = values.iter().map(|v| (v.0, v.1)).collect();
        plot.steps(&[Steps { letter: Some('a'), points: &points }, Steps { letter: None, points: &points }]);
        plot.over = values.iter().map(|v| (plot.x_dot(v.0) / 2, "a name".to_owned())).collect();
        plot.key = vec![("word ".repeat(wide), Tone::Bar), ("b".into(), Tone::Bad)];
        let text = drawn(&plot, &view);
        let widest = text.lines().map(width).max().unwrap_or(0);
        prop_assert!(widest <= wide.clamp(60, 100), "{widest} columns\n{text}");
        prop_assert!(!text.contains('\x1b'));
    }
}
