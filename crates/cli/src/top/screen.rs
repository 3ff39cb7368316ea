//! The screen: a headline, the CPUs, the sources, the longest detours, the keys.

use super::app::{App, Order, Typing};
use super::keys::KEYS;
use anechoic_report::live::{
    CPU_COLUMNS, SOURCE_COLUMNS, cpu, duration, elapsed, fitted, noise_share, picture, source,
    story,
};
use anechoic_system::cpus;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table};

/// Column widths of the CPU table.
const CPU_WIDTHS: [u16; 7] = [5, 9, 11, 9, 11, 8, 9];
/// Column widths of the source table, after the name.
const SOURCE_WIDTHS: [u16; 5] = [10, 11, 8, 9, 9];
/// The smallest width of a source's name, if there is room.
const NAME: usize = 24;
/// The largest number of seconds drawn in the last minute.
const MINUTE: usize = 60;
/// The smallest number of longest detours shown, if there is room for everything else.
const STORIES: u16 = 3;

pub fn draw(frame: &mut Frame, app: &App) {
    let text = headline(app, usize::from(frame.area().width));
    let lines = Constraint::Length(text.height() as u16);
    let [head, body, foot] =
        Layout::vertical([lines, Constraint::Fill(1), Constraint::Length(1)]).areas(frame.area());
    frame.render_widget(Paragraph::new(text), head);
    match app.run() {
        None => frame.render_widget(Paragraph::new("starting …"), body),
        Some(_) => tables(frame, app, body),
    }
    frame.render_widget(Paragraph::new(footline(app)), foot);
    if app.help {
        help(frame);
    }
}

/// Returns what is measured and how noisy it is, in lines of this width. What does not fit gets a line of its own; the
/// host's name is left out first.
fn headline(app: &App, room: usize) -> Text<'static> {
    let Some(run) = app.run() else { return Text::from("anechoic top") };
    let snapshot = &app.snapshot;
    let measured: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
    let name = if measured.len() == 1 { "CPU" } else { "CPUs" };
    let mut what = vec![
        "anechoic top".to_owned(),
        run.machine.host.clone(),
        format!("{name} {}", cpus::list(&measured)),
        format!("detours over {}", duration(run.clock.ns(run.threshold_ticks))),
        elapsed(snapshot.elapsed_ns),
    ];
    if what.join(" · ").chars().count() > room {
        what.remove(1);
    }
    let first = Line::styled(what.join(" · "), app.colors.accent());
    let paused = if app.paused { "paused (space resumes) · " } else { "" };
    let mut second = Line::from(vec![
        paused.bold(),
        format!("noise {} now", noise_share(snapshot.noise_now)).bold(),
        Span::raw(format!(", {} since the start", noise_share(snapshot.noise))),
    ]);
    let cost = cost(app);
    if second.width() + cost.chars().count() + 3 > room {
        return Text::from(vec![first, second, Line::from(cost)]);
    }
    second.push_span(Span::raw(format!(" · {cost}")));
    Text::from(vec![first, second])
}

/// Returns the overhead of the tool, and which CPU it uses.
fn cost(app: &App) -> String {
    let whose = match &app.free[..] {
        [] => "of the measured CPUs".to_owned(),
        [cpu] => format!("of CPU {cpu}"),
        free => format!("of one of CPUs {}", cpus::list(free)),
    };
    let share = app.own_cost().map_or("…".to_owned(), |share| format!("{:.1} %", share * 100.0));
    format!("anechoic itself {share} {whose}")
}

fn footline(app: &App) -> Line<'static> {
    match &app.typing {
        Some((Typing::Filter, text)) => return Line::from(format!("filter: {text}▏")),
        Some((Typing::Threshold, text)) => {
            return Line::from(format!("threshold, like 1us: {text}▏"));
        }
        None => {}
    }
    if let Some(message) = app.message() {
        return Line::from(message.to_owned()).bold();
    }
    let keys = [("q", "quit"), ("space", "pause"), ("o", "order"), ("/", "filter")];
    let more = [("t", "threshold"), ("s", "save"), ("?", "help")];
    let mut line = Line::default();
    if !app.filter.is_empty() {
        line.push_span(format!("only: {} (esc: all)  ", app.filter).bold());
    }
    for (key, what) in keys.into_iter().chain(more) {
        line.push_span(format!(" {key} ").reversed());
        line.push_span(Span::raw(format!(" {what} ")));
    }
    line
}

/// Draws the CPUs at the top, then the sources, then the longest detours.
fn tables(frame: &mut Frame, app: &App, area: Rect) {
    let (cpus, sources) = (app.cpus().count() as u16, app.sources().count() as u16);
    let stories = STORIES.min(app.snapshot.longest.len() as u16);
    let room = area.height.saturating_sub(stories + 1 + 4); // headings and blank lines
    let shown_cpus = cpus.min((room / 2).max(room.saturating_sub(sources))).max(1);
    let [above, below, last] = Layout::vertical([
        Constraint::Length(shown_cpus + 2),
        Constraint::Fill(1),
        Constraint::Length(if stories == 0 { 0 } else { stories + 1 }),
    ])
    .areas(area);
    cpu_table(frame, app, above);
    source_table(frame, app, below);
    longest(frame, app, last);
}

/// Builds a heading; the column that rows are sorted by is underlined.
fn heading(columns: &[&'static str], ordered: Option<usize>) -> Row<'static> {
    let cells = columns.iter().enumerate().map(|(at, &name)| {
        let text = Text::from(name).bold();
        let text = if Some(at) == ordered { text.underlined() } else { text };
        Cell::from(if at == 0 { text } else { text.alignment(Alignment::Right) })
    });
    Row::new(cells)
}

fn right(text: String) -> Cell<'static> {
    Cell::from(Text::from(text).alignment(Alignment::Right))
}

fn cpu_table(frame: &mut Frame, app: &App, area: Rect) {
    let ordered = match app.order {
        Order::Now => Some(1),
        Order::Since => Some(2),
        Order::Rate => Some(3),
        Order::Worst => Some(5),
        Order::Number => Some(0),
    };
    let taken: u16 = CPU_WIDTHS.iter().sum::<u16>() + CPU_WIDTHS.len() as u16;
    let columns = usize::from(area.width.saturating_sub(taken)).min(MINUTE);
    let most = app.snapshot.cpus.iter().flat_map(|cpu| &cpu.history).copied().fold(0.0, f64::max);
    let rows = app.cpus().skip(scroll(app, area, app.cpus().count())).map(|live| {
        let [number, numbers @ ..] = cpu(live);
        let history = picture(&live.history, columns, most);
        let cells = std::iter::once(Cell::from(number)).chain(numbers.map(right));
        Row::new(cells.chain([Cell::from(Span::styled(history, app.colors.accent()))]))
    });
    let mut head: Vec<&'static str> = CPU_COLUMNS.to_vec();
    if columns >= 11 {
        head.push("last minute");
    }
    let widths = CPU_WIDTHS.map(Constraint::Length).into_iter().chain([Constraint::Fill(1)]);
    frame.render_widget(Table::new(rows, widths).header(heading(&head, ordered)), area);
}

fn source_table(frame: &mut Frame, app: &App, area: Rect) {
    if app.run().is_some_and(|run| run.trace.is_none()) {
        let why = app.run().and_then(|run| {
            let missing =
                run.not_available.iter().find(|missing| missing.what == "kernel events")?;
            Some(format!("no causes: {}; {}", missing.why, missing.remedy))
        });
        let text = Paragraph::new(why.unwrap_or_default()).wrap(ratatui::widgets::Wrap::default());
        return frame.render_widget(text, area);
    }
    let ordered = match app.order {
        Order::Now => Some(1),
        Order::Since => Some(2),
        Order::Rate => Some(4),
        Order::Worst => Some(5),
        Order::Number => Some(0),
    };
    let first = scroll(app, area, app.sources().count());
    let sources: Vec<_> =
        app.sources().skip(first).map(|live| (live, source(live, app.guest()))).collect();
    let longest = sources.iter().map(|(_, cells)| cells[0].chars().count()).max().unwrap_or(0);
    let numbers = SOURCE_WIDTHS.iter().sum::<u16>() + SOURCE_WIDTHS.len() as u16;
    let title = (longest.max(NAME) as u16 + 2).min(area.width.saturating_sub(numbers));
    let rows = sources.into_iter().map(|(live, [name, numbers @ ..])| {
        let mark = Span::styled("■ ", app.colors.source(&live.source));
        let name = Span::raw(fitted(&name, usize::from(title.saturating_sub(2))));
        let title = Cell::from(Line::from(vec![mark, name]));
        Row::new(std::iter::once(title).chain(numbers.map(right)))
    });
    let widths = [title].into_iter().chain(SOURCE_WIDTHS).map(Constraint::Length);
    frame.render_widget(Table::new(rows, widths).header(heading(&SOURCE_COLUMNS, ordered)), area);
}

/// Returns how many rows of a table are scrolled away, so that no line stays empty.
fn scroll(app: &App, area: Rect, rows: usize) -> usize {
    let room = usize::from(area.height.saturating_sub(2));
    app.scrolled.min(rows.saturating_sub(room))
}

fn longest(frame: &mut Frame, app: &App, area: Rect) {
    let shown = usize::from(area.height.saturating_sub(1));
    let width = usize::from(area.width);
    let line = |detour| Line::from(fitted(&story(detour, app.guest()), width));
    let lines = app.snapshot.longest.iter().take(shown).map(line);
    let title = Line::from("longest detours since the start").bold();
    let text: Vec<Line> = std::iter::once(title).chain(lines).collect();
    frame.render_widget(Paragraph::new(text), area);
}

fn help(frame: &mut Frame) {
    let lines: Vec<Line> = KEYS
        .iter()
        .map(|(key, what)| Line::from(vec![format!(" {key:>8}  ").bold(), Span::raw(*what)]))
        .chain([
            Line::default(),
            Line::from(
                " now: the last second, updated every quarter of a second; longest: the longest",
            )
            .dim(),
            Line::from(" detour or, for a source, the longest time that it took of one detour")
                .dim(),
        ])
        .collect();
    let high = Constraint::Max(lines.len() as u16 + 2);
    let place = frame.area().centered(Constraint::Max(84), high);
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" keys ")), place);
}
