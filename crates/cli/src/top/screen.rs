//! The screen: a headline, the CPUs, the sources, the longest detours, the keys.

use super::app::{App, Order, Typing};
use super::keys::KEYS;
use anechoic_report::live::{
    Watched, asked, cpu, duration, elapsed, fitted, noise_share, picture, source, story,
};
use anechoic_report::plain;
use anechoic_system::cpus;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table};

/// The columns of a table.
struct Columns {
    /// The width of each.
    widths: &'static [u16],
    /// Those that a narrow screen leaves out, the first of these first.
    left_out: &'static [usize],
    /// The one that rows are sorted by, for each of [`Order::ALL`].
    ordered: [usize; Order::ALL.len()],
}

/// The columns of the table of CPUs.
const CPUS: Columns =
    Columns { widths: &[5, 9, 11, 9, 11, 8, 9], left_out: &[6, 4, 3, 2], ordered: [1, 2, 3, 5, 0] };
/// Those of the table of sources, after the name.
const SOURCES: Columns =
    Columns { widths: &[10, 11, 8, 9, 9], left_out: &[1, 3, 2], ordered: [1, 2, 4, 5, 0] };
/// The same where threads are woken.
const WOKEN_CPUS: Columns =
    Columns { widths: &[5, 6, 8, 8, 8, 8, 8, 9], left_out: &[7, 6, 4], ordered: [1, 3, 7, 5, 0] };
const WOKEN_SOURCES: Columns =
    Columns { widths: &[8, 8, 9, 9], left_out: &[2, 1], ordered: [1, 2, 3, 4, 0] };
/// The smallest width of a source's name, if there is room.
const NAME: usize = 24;
/// The heading of the graph, apart from the column before it.
const LAST_MINUTE: &str = " last minute";
/// The largest number of seconds drawn in the last minute.
const MINUTE: usize = 60;
/// The smallest number of longest detours shown, if there is room for everything else.
const STORIES: u16 = 3;

/// The smallest width for all keys.
const WIDE: u16 = 76;
/// The smallest width of a source's name on a narrow screen.
const NARROW_NAME: u16 = 18;

impl Columns {
    /// Returns the columns that fit, each with a blank after it.
    fn fitting(&self, room: u16) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..self.widths.len()).collect();
        for column in self.left_out {
            let taken: u16 = kept.iter().map(|&at| self.widths[at] + 1).sum();
            if taken <= room + 1 {
                break; // none follows the last one
            }
            kept.retain(|at| at != column);
        }
        kept
    }

    /// Returns the column that rows are sorted by.
    fn ordered(&self, order: Order) -> Option<usize> {
        let at = Order::ALL.iter().position(|&known| known == order)?;
        Some(self.ordered[at])
    }
}

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
    frame.render_widget(Paragraph::new(footline(app, foot.width)), foot);
    if app.help {
        help(frame, app.watched());
    }
}

/// Returns what is measured and how noisy it is, in lines of this width. What does not fit gets a line of its own; the
/// host's name is left out first, then the threshold.
fn headline(app: &App, room: usize) -> Text<'static> {
    let Some(run) = app.run() else { return Text::from("anechoic top") };
    let snapshot = &app.snapshot;
    let measured: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
    let name = if measured.len() == 1 { "CPU" } else { "CPUs" };
    let subject = match &run.program {
        Some(program) => vec![plain(&program.name)],
        None => vec![
            format!("{name} {}", cpus::list(&measured)),
            match app.watched() {
                Watched::WakeUps => {
                    let interval = asked(app.waking.interval.as_nanos() as u64);
                    format!("wake-ups every {interval}, {}", run.policy)
                }
                _ => format!("detours over {}", duration(run.clock.ns(run.threshold_ticks))),
            },
        ],
    };
    let mut what = vec!["anechoic top".to_owned(), run.machine.host.clone()];
    what.extend(subject);
    what.push(elapsed(snapshot.elapsed_ns));
    // The host's name, then the threshold.
    for goes in [1, 2] {
        if what.join(" · ").chars().count() > room && what.len() > 3 {
            what.remove(goes);
        }
    }
    let first = Line::styled(what.join(" · "), app.colors.accent());
    let paused = if app.paused { "paused (space resumes) · " } else { "" };
    let mut second = Line::from(paused.bold());
    match app.watched() {
        Watched::WakeUps => second.push_span(app.late().bold()),
        watched => {
            let now = format!("{} {} now", watched.quantity(), noise_share(snapshot.noise_now));
            second.push_span(now.bold());
            second.push_span(format!(", {} since the start", noise_share(snapshot.noise)));
        }
    }
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

/// Returns the keys, on a narrow screen the most important ones; or what is typed, or a message.
fn footline(app: &App, room: u16) -> Line<'static> {
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
    let mut keys = vec![("q", "quit"), ("space", "pause"), ("?", "help")];
    if room >= WIDE {
        keys.splice(2..2, [("o", "order"), ("/", "filter"), ("t", "threshold"), ("s", "save")]);
        keys.retain(|&(key, _)| key != "t" || app.watched() == Watched::Cpus); // a program has none
    }
    let mut line = Line::default();
    if !app.filter.is_empty() {
        line.push_span(format!("only: {} (esc: all)  ", app.filter).bold());
    }
    for (key, what) in keys {
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
    let table = if app.watched() == Watched::WakeUps { WOKEN_CPUS } else { CPUS };
    let ordered = table.ordered(app.order);
    let kept = table.fitting(area.width);
    let taken: u16 = kept.iter().map(|&at| table.widths[at] + 1).sum();
    let columns = usize::from(area.width.saturating_sub(taken)).min(MINUTE);
    let most = app.snapshot.cpus.iter().flat_map(|cpu| &cpu.history).copied().fold(0.0, f64::max);
    let rows = app.cpus().skip(scroll(app, area, app.cpus().count())).map(|live| {
        let numbers = cpu(live, app.watched());
        let history = picture(&live.history, columns, most);
        let cells = kept.iter().map(|&at| match at {
            0 => Cell::from(numbers[0].clone()),
            _ => right(numbers[at].clone()),
        });
        Row::new(cells.chain([Cell::from(Span::styled(history, app.colors.accent()))]))
    });
    let mut head: Vec<&'static str> =
        kept.iter().map(|&at| app.watched().cpu_columns()[at]).collect();
    if columns >= LAST_MINUTE.len() {
        head.push(LAST_MINUTE);
    }
    let ordered = ordered.and_then(|column| kept.iter().position(|&at| at == column));
    let widths = kept.iter().map(|&at| Constraint::Length(table.widths[at]));
    let widths = widths.chain([Constraint::Fill(1)]);
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
    let table = if app.watched() == Watched::WakeUps { WOKEN_SOURCES } else { SOURCES };
    let ordered = table.ordered(app.order);
    let first = scroll(app, area, app.sources().count());
    let sources: Vec<_> = app
        .sources()
        .skip(first)
        .map(|live| (live, source(live, app.guest(), app.watched())))
        .collect();
    let longest = sources.iter().map(|(_, cells)| cells[0].chars().count()).max().unwrap_or(0);
    let kept = table.fitting(area.width.saturating_sub(NARROW_NAME + 1));
    let numbers: u16 = kept.iter().map(|&at| table.widths[at] + 1).sum();
    let title = (longest.max(NAME) as u16 + 2).min(area.width.saturating_sub(numbers));
    let rows = sources.into_iter().map(|(live, cells)| {
        let mark = Span::styled("■ ", app.colors.source(&live.source));
        let name = Span::raw(fitted(&cells[0], usize::from(title.saturating_sub(2))));
        let title = Cell::from(Line::from(vec![mark, name]));
        let numbers = kept.iter().map(|&at| right(cells[at + 1].clone())).collect::<Vec<_>>();
        Row::new(std::iter::once(title).chain(numbers))
    });
    let widths = [title].into_iter().chain(kept.iter().map(|&at| table.widths[at]));
    let shown: Vec<usize> = [0].into_iter().chain(kept.iter().map(|at| at + 1)).collect();
    let head: Vec<&'static str> =
        shown.iter().map(|&at| app.watched().source_columns()[at]).collect();
    let ordered = ordered.and_then(|column| shown.iter().position(|&at| at == column));
    let table = Table::new(rows, widths.map(Constraint::Length));
    frame.render_widget(table.header(heading(&head, ordered)), area);
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
    let title = format!("longest {}s since the start", app.watched().event());
    let title = Line::from(title).bold();
    let text: Vec<Line> = std::iter::once(title).chain(lines).collect();
    frame.render_widget(Paragraph::new(text), area);
}

/// Width of the help.
const HELP: u16 = 84;

fn help(frame: &mut Frame, watched: Watched) {
    let legend = match watched {
        Watched::WakeUps => [
            " of late, of all: share of the latency of late wake-ups, and of all wake-ups;",
            " picture: the longest of each second; now: the last second",
        ],
        _ => [
            " now: the last second, updated every quarter of a second; longest: the longest",
            " detour or, for a source, the longest time that it took of one detour",
        ],
    };
    let lines: Vec<Line> = KEYS
        .iter()
        .filter(|&&(key, _)| key != "t" || watched == Watched::Cpus)
        .map(|(key, what)| Line::from(vec![format!(" {key:>8}  ").bold(), Span::raw(*what)]))
        .chain([Line::default()])
        .chain(legend.map(|line| Line::from(line).dim()))
        .collect();
    let high = match frame.area().width {
        ..HELP => frame.area().height, // its lines are wrapped
        _ => lines.len() as u16 + 2,
    };
    let high = Constraint::Max(high);
    let place = frame.area().centered(Constraint::Max(HELP), high);
    frame.render_widget(Clear, place);
    frame.render_widget(
        Paragraph::new(lines)
            .wrap(ratatui::widgets::Wrap { trim: false })
            .block(Block::bordered().title(" keys ")),
        place,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_screen_has_whole_columns() {
        for (room, cpus, sources) in [
            (100, vec![0, 1, 2, 3, 4, 5, 6], vec![0, 1, 2, 3, 4]),
            (60, vec![0, 1, 2, 3, 4, 5], vec![0, 2, 3, 4]),
            (40, vec![0, 1, 2, 5], vec![0, 4]),
        ] {
            assert_eq!(CPUS.fitting(room), cpus, "{room}");
            assert_eq!(SOURCES.fitting(room - NARROW_NAME - 1), sources, "{room}");
        }
        for (room, cpus, sources) in [
            (80, vec![0, 1, 2, 3, 4, 5, 6, 7], vec![0, 1, 2, 3]),
            (60, vec![0, 1, 2, 3, 4, 5, 6], vec![0, 1, 2, 3]),
            (40, vec![0, 1, 2, 3, 5], vec![0, 3]),
        ] {
            assert_eq!(WOKEN_CPUS.fitting(room), cpus, "{room}");
            assert_eq!(WOKEN_SOURCES.fitting(room - NARROW_NAME - 1), sources, "{room}");
        }
    }
}
