//! Tests of all drawings: how far their texts reach.

use super::sheet::{COLUMN, Drawing, PAGE, TEXT, width};
use super::{chart, heat};
use crate::palette;
use crate::picture::Look;
use crate::picture::{
    Axis, Cell, Chart, Column, Curve, Draw, Heat, Panel, Panels, Place, Quantity, Row,
};
use anechoic_analyze::timeline;
use resvg::usvg::roxmltree::{Document, Node};

fn number(node: &Node<'_, '_>, name: &str) -> Option<f64> {
    node.attribute(name).and_then(|text| text.parse().ok())
}

/// From where to where a text goes across, as far as is known without its font; and the text.
fn reach(text: &Node<'_, '_>) -> (f64, f64, String) {
    let size = |node: &Node<'_, '_>| number(node, "font-size").unwrap_or(TEXT);
    let parts = || text.descendants().filter(Node::is_text);
    let wide = |part: Node<'_, '_>| {
        let size = part.parent_element().map_or(TEXT, |node| size(&node));
        width(part.text().unwrap_or_default(), size)
    };
    let turned = text.attribute("transform").and_then(|turn| turn.strip_prefix("rotate("));
    let turned = turned.and_then(|turn| turn.split(' ').next()?.parse::<f64>().ok());
    let (sin, cos) = turned.unwrap_or(0.0).to_radians().sin_cos();
    let long = parts().map(wide).sum::<f64>() * cos.abs();
    let x = number(text, "x").expect("a place");
    let from = match text.attribute("text-anchor") {
        Some("middle") => x - long / 2.0,
        Some("end") => x - long,
        _ => x,
    };
    let high = size(text) * sin.abs();
    (from - high, from + long, parts().filter_map(|part| part.text()).collect())
}

/// The texts that stand within the paper: all of them.
#[track_caller]
fn texts(drawing: &Drawing) -> Vec<String> {
    let file = drawing.file("");
    let document = Document::parse(&file).expect("XML");
    let all = document.descendants().filter(|node| node.tag_name().name() == "text");
    let within = |(from, to, text): (f64, f64, String)| {
        let paper = -0.01..=drawing.width + 0.01;
        assert!(
            paper.contains(&from) && paper.contains(&to),
            "{text:?} goes from {from:.1} to {to:.1} of {} points",
            drawing.width
        );
        text
    };
    all.map(|text| within(reach(&text))).collect()
}

fn axis_drawing(axis: Axis, ends: (f64, f64)) -> Drawing {
    let points = [(ends.0, 1.0), (ends.1, 2.0)];
    let curve = Curve::numbered(0, "one".into(), Draw::Points, &points);
    chart::draw(&Chart::new(axis, Axis::linear("samples", Quantity::Count), vec![curve]))
}

#[test]
fn values_at_the_end_of_an_axis_have_room() {
    use Quantity::{Count, Frequency, Number, Share, Time};
    let long = "a name so long that no paper has room for all of it ".repeat(2);
    // The last value stands at the very end, as far to the right as a value can.
    let cases = [
        (Axis::log("time", Time), (1e3, 1e7 / 1.15), "10 ms"),
        (Axis::log("time", Time), (10.0, 1e5 / 1.15), "100 µs"),
        (Axis::linear("time", Time), (0.0, 10e9 / 1.04), "10 s"),
        (Axis::linear("frequency", Frequency), (0.0, 5_000.0 / 1.04), "5 kHz"),
        (Axis::linear("frequency", Frequency), (0.0, 20e6), "20 MHz"),
        (Axis::log("share", Share), (1e-4, 1.0 / 1.15), "100 %"),
        (Axis::log("count", Count), (1.0, 1e9 / 1.15), "108"),
        (Axis::linear(&long, Number), (0.0, 1.0), "1"),
    ];
    for (axis, ends, last) in cases {
        let found = texts(&axis_drawing(axis, ends));
        assert!(found.iter().any(|text| text == last), "no {last} in {found:?}");
    }
    for at in 0..200 {
        let high = 1.1f64.powi(at);
        for quantity in [Time, Count, Share, Frequency, Number] {
            texts(&axis_drawing(Axis::linear("", quantity), (0.0, high)));
            texts(&axis_drawing(Axis::log("", quantity), (high / 1e4, high)));
        }
    }
    let names = ["a", "b", "a name of the last that has no room at all beside the frame"];
    let names = (1..).zip(names).map(|(at, name)| Place { at: f64::from(at), name: name.into() });
    texts(&axis_drawing(Axis::named("", names.collect()), (1.0, 3.0)));
}

#[test]
fn timelines_have_room() {
    for span_ns in [1, 999, 10_000_000, 1_000_000_000, 3_600_000_000_000] {
        let look = |number: usize| Look {
            source: "thread".into(),
            name: String::new(),
            label: "a thread with a name so long that few of them stand beside each other".into(),
            color: palette::source_color("thread"),
            shape: number,
            number,
        };
        let cell = timeline::Cell { start_ns: 0, length_ns: 100, count: 1, source: 0 };
        let panel = Panel { cpu: 4_095, cells: vec![cell] };
        let looks = (0..12).map(look).collect();
        texts(&super::timeline::draw(&Panels { span_ns, looks, legend: 11, panels: vec![panel] }));
    }
}

#[test]
fn tables_have_room() {
    for (columns, name) in [(1, 4), (2, 100), (9, 30), (11, 100), (60, 12)] {
        let cells = || (0..columns).map(|at| Cell::value(f64::from(at), "12.3 %".into()));
        let heat = Heat {
            title: String::new(),
            name: String::new(),
            corner: "CPU".into(),
            columns: (0..columns).map(|_| Column::plain("w".repeat(name))).collect(),
            rows: vec![Row::new("n".repeat(name), cells().collect())],
            most: 60.0,
            decades: 4.0,
            write: |value| format!("{value} of a long unit"),
        };
        let drawing = heat::draw(&heat);
        assert!([COLUMN, PAGE].contains(&drawing.width));
        texts(&drawing);
    }
}
