//! Tests `anechoic top` on a terminal of its own (tmux), by what its screen shows.

use crate::tool::{self, ANECHOIC, anechoic, arg, command, may_trace};
use anechoic_lab::note;
use anechoic_recording::Recording;
use anechoic_recording::run::RunState;
use anechoic_system::cpus;
use anechoic_system::perf::TimerInterrupts;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};
use tempfile::TempDir;

/// How long to wait for what should come, because this machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal of 80 columns and 24 rows in which a shell runs. It ends with the test.
pub(super) struct Terminal {
    pub(super) dir: TempDir,
    name: String,
}

impl Terminal {
    /// Prints the reason and returns `None` without tmux, or with only one CPU.
    pub(super) fn open(test: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            note::skipped("needs tmux");
            return None;
        }
        if cpus::allowed().len() < 2 {
            note::skipped("needs two CPUs");
            return None;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let name = format!("anechoic-{test}-{}", std::process::id());
        let terminal = Terminal { dir, name };
        let at = arg(terminal.dir.path());
        let shell = ["-x", "80", "-y", "24", "-c", at, "env", "PS1=ready> ", "sh"];
        terminal.tmux(&[&["-f", "/dev/null", "new-session", "-d"][..], &shell].concat());
        terminal.until("ready>");
        Some(terminal)
    }

    pub(super) fn tmux(&self, args: &[&str]) -> String {
        let done = command("tmux", &[&["-L", &self.name][..], args].concat());
        assert_eq!(done.code, Some(0), "{args:?}: {}", done.err);
        done.out
    }

    /// Types this and Enter.
    pub(super) fn enter(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
        self.tmux(&["send-keys", "Enter"]);
    }

    /// Presses a key.
    pub(super) fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    pub(super) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Returns the screen once it contains `wanted`.
    pub(super) fn until(&self, wanted: &str) -> String {
        self.until_it(wanted, |screen| screen.contains(wanted))
    }

    /// Returns the screen once it is as wanted.
    pub(super) fn until_it(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if wanted(&screen) {
                return screen;
            }
            assert!(Instant::now() < end, "no {what} on\n{screen}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns whether a program has the screen, hides the cursor, or keeps the terminal raw.
    fn is_taken(&self) -> bool {
        let state = self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
        state.trim() != "0 1"
    }

    /// Checks that the terminal is as before: the shell's, with a cursor and with echo.
    pub(super) fn is_given_back(&self) {
        self.until_it("prompt", |screen| screen.trim_end().ends_with("ready>"));
        assert!(!self.is_taken());
        self.enter("stty -a | tr ';' '\\n' | grep -o -w -e '-\\?echo' -e '-\\?icanon'; echo over");
        let screen = self.until_it("end", |screen| screen.contains("\nover"));
        let words: Vec<&str> = screen.lines().map(str::trim).collect();
        assert!(words.contains(&"echo") && words.contains(&"icanon"), "{screen}");
    }

    /// Returns the number of the process that the shell has started.
    fn program(&self) -> String {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let children = format!("/proc/{0}/task/{0}/children", shell.trim());
        fs::read_to_string(children).expect("of the shell").trim().to_owned()
    }

    /// Starts `anechoic top` on one CPU; returns its screen once it shows one second of measurement.
    fn top(&self, args: &str) -> String {
        self.enter(&format!("{ANECHOIC} top {args}; echo code=$?"));
        self.until_it("second of it", |screen| !screen.contains("· 00:00:00") && shows_cpu(screen))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.name, "kill-server"]).status();
    }
}

/// Returns whether the table of CPUs has a row.
fn shows_cpu(screen: &str) -> bool {
    let cpu = last_cpu().to_string();
    screen.lines().any(|line| line.split_whitespace().next() == Some(&cpu) && line.contains('%'))
}

fn last_cpu() -> u32 {
    *cpus::allowed().last().expect("a CPU")
}

/// Returns the recordings in a directory, including hidden ones.
fn recordings(dir: &Path) -> Vec<String> {
    let all = fs::read_dir(dir).expect("readable");
    let names =
        all.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("anechoic")).collect()
}

#[test]
fn the_screen_shows_what_is_measured_and_takes_keys() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let Some(terminal) = Terminal::open("keys") else { return };
    let cpu = last_cpu();
    // Known noise: a thousand interrupts per second, of which a busy host delays some.
    let _timer = TimerInterrupts::start(cpu, 1_000_000).expect("perf events");
    let screen = terminal.top(&format!("--cpus {cpu}"));
    assert!(terminal.is_taken());
    for wanted in ["detours over", "since the start", "anechoic itself", "of CPU 0", "q  quit"] {
        assert!(screen.contains(wanted), "no {wanted}:\n{screen}");
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let rate = |screen: &str| -> Option<f64> {
        let row = screen.lines().find(|line| line.contains("perf_swevent_hrtimer"))?;
        let cells: Vec<&str> = row.split_whitespace().collect();
        // ... rate, worst and its unit
        cells[cells.len() - 3].replace(',', "").parse().ok()
    };
    terminal.until_it("some hundred a second", |screen| {
        rate(screen).is_some_and(|rate| (500.0..=1_001.0).contains(&rate))
    });

    terminal.press("?");
    terminal.until("keys");
    terminal.press("Escape");
    terminal.until_it("screen without help", |screen| !screen.contains("pause the screen"));
    terminal.press("o");
    terminal.until("sorted by noise since the start");
    terminal.press("/");
    terminal.enter("PERF_SW");
    let only = terminal.until("only: PERF_SW");
    assert_eq!(only.lines().filter(|line| line.starts_with('■')).count(), 1, "{only}");
    terminal.press("Escape");
    terminal.until_it("screen without a filter", |screen| !screen.contains("only:"));

    terminal.press("Space");
    let held = terminal.until("paused");
    thread::sleep(Duration::from_secs(2));
    let later = terminal.screen();
    assert_eq!(held.lines().next(), later.lines().next(), "the clock stands still");
    terminal.press("Space");
    terminal.until_it("picture that goes on", |screen| !screen.contains("paused"));

    terminal.press("t");
    terminal.enter("1parsec");
    terminal.until("1parsec");
    terminal.press("t");
    terminal.enter("10us");
    terminal.until("detours over 10 µs");
    terminal
        .until_it("a second of it", |screen| !screen.contains("· 00:00:00") && shows_cpu(screen));

    terminal.press("q");
    terminal.until("code=0");
    terminal.is_given_back();
    assert_eq!(recordings(terminal.dir.path()), [""; 0], "nothing was to be kept");
}

#[test]
fn what_was_seen_can_be_saved() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let Some(terminal) = Terminal::open("save") else { return };
    let cpu = last_cpu();
    terminal.top(&format!("--cpus {cpu} --threshold 1us"));
    terminal.press("s");
    let screen = terminal.until("saved: anechoic-");
    let name = screen.split("saved: ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let saved = terminal.dir.path().join(name.expect("a name"));
    let recording = Recording::open(&saved).expect("a recording");
    assert_eq!(recording.run().cpus[0].cpu, cpu);
    assert!(recording.run().cpus[0].detours > 0);
    // The measurement goes on and keeps counting: the screen now shows more than was saved.
    terminal.until_it("picture that goes on", |screen| !screen.contains("saving"));
    // Repeatedly, as fast as keys arrive: none overwrites another, and the measurement goes on.
    terminal.until_it("second recording", |_| {
        terminal.press("s");
        recordings(terminal.dir.path()).len() > 2
    });
    terminal.press("q");
    let end = terminal.until("code=0");
    assert!(end.contains("recording: anechoic-"), "{end}");
    terminal.is_given_back();
    let all = recordings(terminal.dir.path());
    assert!(all.len() > 1 && all.iter().all(|kept| kept.starts_with("anechoic-")), "{all:?}");
    for kept in &all {
        assert!(end.contains(kept), "{kept} is not told:\n{end}");
    }
    let summary = anechoic(&["summary", arg(&saved)]);
    assert!(summary.out.contains("timer tick"), "{}", summary.out);
}

#[test]
fn a_recording_from_the_start() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let Some(terminal) = Terminal::open("output") else { return };
    terminal.enter(&format!("{ANECHOIC} top --cpus {} -d 3s -o kept; echo code=$?", last_cpu()));
    terminal.until("code=0");
    terminal.is_given_back();
    let summary = tool::summary(&terminal.dir.path().join("kept"));
    let complete = serde_json::to_value(RunState::Complete).expect("a value");
    assert_eq!(summary["run"]["state"], complete);
    // The duration is that of the measurement, not of what comes before it.
    let wall_ns = summary["cpus"][0]["wall_ns"].as_u64();
    assert!(wall_ns > Some(2_700_000_000), "{wall_ns:?} of 3 s");
    assert!(summary["total"]["detours"].as_u64() > Some(100), "{}", summary["total"]);
}

#[test]
fn a_long_detour_ends_it_and_is_kept() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let Some(terminal) = Terminal::open("stop") else { return };
    let cpu = last_cpu();
    terminal.enter(&format!("{ANECHOIC} top --cpus {cpu} --stop-on 'detour>2us'; echo code=$?"));
    let end = terminal.until("code=2");
    terminal.is_given_back();
    assert!(end.contains("ended the run (detour>2us)"), "{end}");
    let all = recordings(terminal.dir.path());
    assert_eq!(all.len(), 1, "{all:?}");
    let summary = tool::summary(&terminal.dir.path().join(&all[0]));
    assert!(summary["stopped"]["after_ns"].is_u64(), "{}", summary["stopped"]);
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    for signal in ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "ALRM", "XCPU"] {
        let Some(terminal) = Terminal::open(signal) else { return };
        terminal.top(&format!("--cpus {}", last_cpu()));
        let sent = command("kill", &["-s", signal, &terminal.program()]);
        assert_eq!(sent.code, Some(0), "{}", sent.err);
        terminal.until("code=0");
        terminal.is_given_back();
        assert_eq!(recordings(terminal.dir.path()), [""; 0], "{signal}");
    }
}

#[test]
fn it_ends_with_its_terminal() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let Some(terminal) = Terminal::open("gone") else { return };
    terminal.top(&format!("--cpus {}", last_cpu()));
    let top = Path::new("/proc").join(terminal.program());
    assert!(top.exists());
    terminal.tmux(&["kill-server"]);
    let end = Instant::now() + PATIENCE;
    while top.exists() {
        assert!(Instant::now() < end, "{} still runs", top.display());
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(recordings(terminal.dir.path()), [""; 0]);
}

#[test]
fn where_it_cannot_be_drawn_it_says_what_to_do() {
    let cases: [(&[&str], &str); 4] = [
        (&["top"], "use `anechoic run` for files and pipes"),
        (&["top", "--pid", "1"], "use `anechoic record` for files and pipes"),
        (&["top", "--threshold", "10parsecs"], "10parsecs"),
        (&["top", "--every", "0s"], "is zero"),
    ];
    for (args, expected) in cases {
        let done = anechoic(args);
        assert_eq!(done.code, Some(64), "{args:?}: {} {}", done.out, done.err);
        assert!(done.err.contains(expected), "{args:?}: {}", done.err);
    }
    let Some(terminal) = Terminal::open("bare") else { return };
    terminal.enter(&format!("{ANECHOIC} top --no-trace --cpus {} ; echo code=$?", last_cpu()));
    terminal.until("no causes: --no-trace was given");
    terminal.press("C-c");
    terminal.until("code=0");
    terminal.enter(&format!("{ANECHOIC} top -t 1ns ; echo code=$?"));
    terminal.until("code=64");
    terminal.is_given_back();
}

/// Returns for how long a process has executed and waited for a CPU, by the kernel's account, in ns.
fn schedstat(pid: u32) -> [f64; 2] {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).expect("it goes on");
    let mut numbers = text.split(' ').map(|number| number.parse().expect("a number"));
    [0; 2].map(|_| numbers.next().expect("two numbers"))
}

/// A program that shares its CPU with another one is shown with what it lost by the kernel's account, and to whom.
#[test]
fn a_program_is_watched_until_it_ends() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let Some(terminal) = Terminal::open("program") else { return };
    let cpu = last_cpu().to_string();
    let spin = |name: &str| {
        let program = terminal.dir.path().join(name);
        fs::copy("/bin/sh", &program).expect("a copy");
        // It ends by itself, also if this test does not get that far.
        let code = "ulimit -t 60; while :; do :; done";
        tool::spawn(Command::new("taskset").args(["-c", &cpu, arg(&program), "-c", code]))
    };
    let (victim, hog) = (spin("victim"), spin("neighbour"));
    terminal.enter(&format!("{ANECHOIC} top --pid {}; echo code=$?", victim.id()));
    terminal.until("lost now");
    let before = schedstat(victim.id());
    thread::sleep(Duration::from_secs(5));
    let screen = terminal.screen();
    let [ran, waited] = [0, 1].map(|at| schedstat(victim.id())[at] - before[at]);
    let truth = waited / (ran + waited) * 100.0;
    let percent = |line: &str, before: &str| -> Option<f64> {
        line.split(before).next()?.split_whitespace().last()?.parse().ok()
    };
    let head = screen.lines().find(|line| line.contains("since the start")).expect("a headline");
    let lost = percent(head, " % since the start").expect("a share");
    assert!(screen.contains("victim") && screen.contains("thread neighbour"), "{screen}");
    if !(25.0..75.0).contains(&truth) {
        note::not_judged(format!("it waited for {truth:.0} % of the time"));
    } else {
        assert!((lost - truth).abs() < 6.0, "{lost} of {truth}:\n{screen}");
    }
    terminal.press("t");
    terminal.until("a program has no threshold");
    terminal.press("s");
    terminal.until("saved: anechoic-");
    terminal.until_it("going on", |screen| screen.contains("lost now"));
    tool::signal(&victim, "TERM");
    tool::wait(victim);
    let last = terminal.until("code=0");
    assert!(last.contains("measured: lost "), "{last}");
    tool::signal(&hog, "TERM");
    tool::wait(hog);
    let saved = recordings(terminal.dir.path());
    assert_eq!(saved.len(), 1, "{saved:?}");
    let recording = Recording::open(&terminal.dir.path().join(&saved[0])).expect("a recording");
    assert_eq!(recording.run().state, RunState::Complete);
    assert!(recording.run().program.is_some());
}
