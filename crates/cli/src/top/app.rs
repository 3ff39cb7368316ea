//! The state of the screen: what was measured, and how the user wants to see it.

use super::colors::Colors;
use super::functions::Functions;
use super::session::{SessionConfig, SessionEvent, WakingArgs, own_time};
use anechoic_analyze::live::{Live, LiveCpu, LiveSource, Snapshot};
use anechoic_recording::{Problem, Run};
use anechoic_report::live::{Watched, asked, duration, elapsed, noise_share};
use anechoic_report::{count, counted, shown};
use anechoic_system::cpus;
use std::cmp::Ordering;
use std::time::{Duration, Instant};

/// What the rows are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Now,
    Since,
    Rate,
    Worst,
    Number,
}

impl Order {
    pub const ALL: [Order; 5] =
        [Order::Now, Order::Since, Order::Rate, Order::Worst, Order::Number];

    /// Returns the order in words.
    pub fn name(self, watched: Watched) -> &'static str {
        match self {
            Order::Now if watched == Watched::WakeUps => "late wake-ups",
            Order::Since if watched == Watched::WakeUps => "99th percentile, and share of all",
            Order::Rate if watched == Watched::WakeUps => "number of wake-ups",
            Order::Worst if watched == Watched::WakeUps => "longest wake-up",
            Order::Now => "noise now",
            Order::Since => "noise since the start",
            Order::Rate => "rate",
            Order::Worst => "longest detour",
            Order::Number => "number and name",
        }
    }

    pub fn next(self) -> Self {
        let at = Order::ALL.iter().position(|&order| order == self).unwrap_or(0);
        Order::ALL[(at + 1) % Order::ALL.len()]
    }
}

/// What a line of text is typed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    Filter,
    Threshold,
}

/// The run in progress, and its sums.
struct Progress {
    attribute: anechoic_attribute::Live,
    sums: Live,
}

/// The overhead of the tool: the screen and the housekeeper.
#[derive(Debug, Default)]
struct OwnCost {
    housekeeper: Duration,
    /// The time that both took together, at that instant.
    before: Option<(Instant, Duration)>,
    /// Share of one CPU over the last seconds.
    share: Option<f64>,
}

/// The time over which the overhead is averaged.
const COST_OVER: Duration = Duration::from_secs(2);

pub struct App {
    progress: Option<Progress>,
    pub snapshot: Snapshot,
    /// The CPUs that are not measured.
    pub free: Vec<u32>,
    pub colors: Colors,
    pub order: Order,
    pub filter: String,
    pub typing: Option<(Typing, String)>,
    pub paused: bool,
    pub help: bool,
    /// Number of rows scrolled away, in both tables.
    pub scrolled: usize,
    /// A message for the user, and when it disappears.
    message: Option<(String, Instant)>,
    watched: Watched,
    /// How threads are woken, if they are.
    pub waking: WakingArgs,
    /// Whether the measurement is kept from the start.
    pub kept: bool,
    pub pressed: bool,
    /// Whether a save is in progress; there is nothing new to save until the next run begins.
    pub saving: bool,
    /// When the first run began.
    pub begun: Option<Instant>,
    /// Whether there is more data than the screen shows.
    pub has_news: bool,
    cost: OwnCost,
    functions: Functions,
    ended: bool,
}

impl App {
    pub fn new(config: &SessionConfig, free: Vec<u32>) -> Self {
        App {
            progress: None,
            snapshot: Snapshot::default(),
            free,
            colors: Colors::from_terminal(),
            order: Order::Now,
            filter: String::new(),
            typing: None,
            paused: false,
            help: false,
            scrolled: 0,
            message: None,
            watched: match (config.program.is_named(), config.waking.wakeup) {
                (true, _) => Watched::Program,
                (_, true) => Watched::WakeUps,
                _ => Watched::Cpus,
            },
            waking: config.waking.clone(),
            kept: config.output.is_some(),
            pressed: true, // draw the empty screen at once
            has_news: false,
            saving: false,
            begun: None,
            cost: OwnCost::default(),
            functions: Functions::default(),
            ended: false,
        }
    }

    /// Returns the run in progress, once it has begun.
    pub fn run(&self) -> Option<&Run> {
        self.progress.as_ref().map(|watched| watched.attribute.run())
    }

    /// Returns what the screen is about.
    pub fn watched(&self) -> Watched {
        self.watched
    }

    /// Returns whether this machine is a guest of a hypervisor.
    pub fn guest(&self) -> bool {
        self.run().is_some_and(|run| run.machine.hypervisor.is_some())
    }

    /// Takes in an event of the session.
    ///
    /// # Errors
    /// Returns what ended the measurement.
    pub fn take(&mut self, event: SessionEvent) -> Result<(), Problem> {
        self.has_news = !self.paused;
        match event {
            SessionEvent::Begun { run, anew } => {
                self.saving = false;
                self.begun.get_or_insert_with(Instant::now);
                let sums = match self.progress.take() {
                    Some(mut watched) if !anew => {
                        watched.sums.resume(&run);
                        watched.sums
                    }
                    _ if self.watched == Watched::WakeUps => {
                        Live::waking((*run).clone(), self.waking.late.as_nanos() as u64)
                    }
                    _ => Live::new((*run).clone()),
                };
                self.progress =
                    Some(Progress { attribute: anechoic_attribute::Live::new(*run), sums });
            }
            SessionEvent::News { news, housekeeper } => {
                self.cost.housekeeper = housekeeper;
                self.functions.add(&news.names);
                if let Some(watched) = &mut self.progress {
                    let until = news.until_ticks;
                    for sample in &news.samples {
                        watched.sums.overrun(sample.cpu, sample.count.saturating_sub(1));
                    }
                    for explained in watched.attribute.explain(*news)? {
                        watched.sums.add(&explained.detour, &explained.rows);
                    }
                    watched.sums.until(until);
                    watched.sums.waiting(watched.attribute.waiting());
                    for (cpu, ticks) in watched.attribute.executed() {
                        watched.sums.executed(cpu, ticks);
                    }
                }
            }
            SessionEvent::Saved(dir) => {
                let dir = shown(&dir);
                self.say(format!("saved: {dir} (show it: anechoic summary {dir})"));
            }
            SessionEvent::Ended(result) => {
                self.ended = true;
                result?;
            }
        }
        Ok(())
    }

    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Updates what is shown, unless the screen is paused.
    pub(crate) fn refresh(&mut self) {
        self.cost.look();
        let Some(watched) = self.progress.as_ref().filter(|_| !self.paused) else { return };
        self.snapshot = watched.sums.snapshot();
        self.functions.rename(&mut self.snapshot);
        let (order, watched) = (self.order, self.watched);
        self.snapshot.cpus.sort_by(|a, b| {
            descending(order, cpu_figures(a, watched), cpu_figures(b, watched))
                .then(a.cpu.cmp(&b.cpu))
        });
        // They come by decreasing time.
        self.snapshot.sources.sort_by(|a, b| match order {
            Order::Number => (&a.source, &a.name).cmp(&(&b.source, &b.name)),
            _ => descending(order, source_figures(a, watched), source_figures(b, watched)),
        });
        let rows = self.snapshot.cpus.len().max(self.snapshot.sources.len());
        self.scrolled = self.scrolled.min(rows.saturating_sub(1));
    }

    /// Shows the user a message for a while.
    pub fn say(&mut self, text: String) {
        self.message = Some((text, Instant::now() + Duration::from_secs(8)));
    }

    pub fn message(&self) -> Option<&str> {
        let (text, until) = self.message.as_ref()?;
        (Instant::now() < *until).then_some(text)
    }

    /// Returns the overhead of the tool as a share of one CPU.
    pub(crate) fn own_cost(&self) -> Option<f64> {
        self.cost.share
    }

    /// Returns the CPUs that match the filter.
    pub fn cpus(&self) -> impl Iterator<Item = &LiveCpu> {
        let listed = self.numbers();
        let shown =
            move |cpu: &&LiveCpu| listed.as_ref().is_none_or(|list| list.contains(&cpu.cpu));
        self.snapshot.cpus.iter().filter(shown)
    }

    /// Returns the sources that match the filter.
    pub fn sources(&self) -> impl Iterator<Item = &LiveSource> {
        let numbers = self.numbers();
        let text = self.filter.to_lowercase();
        let shown = move |source: &&LiveSource| match &numbers {
            Some(list) => list.iter().any(|cpu| source.cpus.contains(cpu)),
            None => self.title(source).to_lowercase().contains(&text),
        };
        self.snapshot.sources.iter().filter(shown)
    }

    /// Returns the filter as a list of CPUs, if it is one.
    fn numbers(&self) -> Option<Vec<u32>> {
        cpus::parse(&self.filter).ok().filter(|list| !list.is_empty())
    }

    fn title(&self, source: &LiveSource) -> String {
        anechoic_report::live::title(source, self.guest())
    }

    /// States how many wake-ups were late.
    pub fn late(&self) -> String {
        let cpus = &self.snapshot.cpus;
        let [late, all] =
            [cpus.iter().map(|cpu| cpu.woken.late).sum(), cpus.iter().map(|cpu| cpu.detours).sum()];
        let wakeups = counted(all, "wake-up", "wake-ups");
        format!("{} of {wakeups} over {}", count(late), asked(self.waking.late.as_nanos() as u64))
    }

    /// Returns the last line, printed after the screen is closed if nothing is kept.
    pub(crate) fn farewell(&self) -> String {
        let snapshot = &self.snapshot;
        let longest =
            snapshot.longest.first().map_or("none".to_owned(), |it| duration(it.length_ns));
        let what = match self.watched {
            Watched::WakeUps => self.late(),
            watched => format!("{} {}", watched.quantity(), noise_share(snapshot.noise)),
        };
        format!(
            "{} measured: {what}, longest {} {longest}",
            elapsed(snapshot.elapsed_ns),
            self.watched.event(),
        )
    }
}

impl OwnCost {
    fn look(&mut self) {
        let (now, spent) = (Instant::now(), own_time() + self.housekeeper);
        match self.before {
            Some((then, before)) if now - then >= COST_OVER => {
                let over = (now - then).as_secs_f64();
                self.share = Some(spent.saturating_sub(before).as_secs_f64() / over);
                self.before = Some((now, spent));
            }
            Some(_) => {}
            None => self.before = Some((now, spent)),
        }
    }
}

/// Returns what a CPU is sorted by, for each of [`Order::ALL`] but the last.
fn cpu_figures(cpu: &LiveCpu, watched: Watched) -> [f64; 4] {
    let worst = cpu.worst_ns as f64;
    if watched == Watched::WakeUps {
        let p99 = cpu.woken.p99_ns.unwrap_or(0);
        return [cpu.woken.late as f64, p99 as f64, cpu.detours as f64, worst];
    }
    [cpu.noise_now, cpu.noise, cpu.rate_now_per_s, worst]
}

/// Returns what a source is sorted by likewise.
fn source_figures(source: &LiveSource, watched: Watched) -> [f64; 4] {
    let worst = source.worst_ns as f64;
    if watched == Watched::WakeUps {
        return [source.share_late, source.share, source.detours as f64, worst];
    }
    [source.noise_now, source.noise, source.rate_now_per_s, worst]
}

/// Compares rows by these figures: the larger comes first.
fn descending(order: Order, a: [f64; 4], b: [f64; 4]) -> Ordering {
    let by = Order::ALL.iter().position(|&column| column == order).filter(|&at| at < a.len());
    by.map_or(Ordering::Equal, |at| b[at].total_cmp(&a[at]))
}
