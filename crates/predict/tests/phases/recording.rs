//! A made-up recording of two CPUs: ticks, short gaps and, if asked, a daemon. One tick of the counter is a ns.

use anechoic_lab::builders::{self, activity};
use anechoic_recording::attribution::Attribution;
use anechoic_recording::{Activity, ActivityKind, Detour, Recorder, Recording, Run};
use std::path::{Path, PathBuf};

const MS: u64 = 1_000_000;
/// Start of the loops.
const FIRST: u64 = 7_000_000_000;
/// How long they ran: 20 s.
const LENGTH: u64 = 20_000 * MS;
const SHORTEST: u64 = 20;

/// What is written.
#[derive(Debug, Clone)]
pub struct Planted<'a> {
    pub place: &'a Path,
    pub name: &'a str,
    pub threshold_ns: u64,
    pub attributed: bool,
    pub guest: bool,
    /// Length of a thread that runs once on each CPU; 0 for none.
    pub daemon_ns: u64,
    /// What else is unusual about the run.
    pub change: fn(&mut Run),
}

impl<'a> Planted<'a> {
    pub fn new(place: &'a Path) -> Self {
        let (name, threshold_ns) = ("planted", 200);
        let (attributed, guest, daemon_ns) = (false, false, 0);
        Self { place, name, threshold_ns, attributed, guest, daemon_ns, change: |_| () }
    }

    pub fn dir(&self) -> PathBuf {
        self.place.join(self.name)
    }

    pub fn write(&self) {
        let run = self.run();
        let mut recorder = Recorder::create(&self.dir(), &run).expect("a directory");
        for cpu in 0..2 {
            let detours: Vec<Detour> =
                self.detours(cpu).iter().map(|(detour, _)| *detour).collect();
            recorder.append(&detours).expect("in order");
        }
        recorder.finish(&run).expect("written");
        if self.attributed {
            self.attribute();
        }
    }

    /// Detours with what they are: two thirds of each tick are its handler, the rest a softirq.
    fn detours(&self, cpu: u32) -> Vec<(Detour, &'static str)> {
        let mut detours = vec![];
        let mut add = |start: u64, length: u64, what| {
            let start_ticks = FIRST + start;
            let detour = Detour { cpu, start_ticks, end_ticks: start_ticks + length + SHORTEST };
            detours.push((detour, what));
        };
        let daemon = LENGTH / 3 + u64::from(cpu) * 1_000 * MS;
        // Beside the daemon there is much other noise.
        let tick = if self.daemon_ns > 0 { 900_000 } else { 20_000 };
        for ms in 0..LENGTH / MS {
            if ms % 4 == 0 {
                add(ms * MS, tick, "tick");
            }
            // A tick of 900 µs is not over yet.
            if self.threshold_ns < 1_000 {
                add(ms * MS + 950_000, 1_000, "short");
            }
        }
        if self.daemon_ns > 0 {
            let from = FIRST + daemon / (4 * MS) * 4 * MS + 970_000;
            let to = from + self.daemon_ns;
            detours.retain(|(detour, _)| detour.end_ticks < from || detour.start_ticks > to);
            let detour = Detour { cpu, start_ticks: from, end_ticks: to + SHORTEST };
            detours.push((detour, "daemon"));
            detours.sort_by_key(|(detour, _)| detour.start_ticks);
        }
        detours
    }

    fn attribute(&self) {
        let recording = Recording::open(&self.dir()).expect("a recording");
        let mut writer = recording.derive::<Activity>().expect("a table");
        for cpu in 0..2 {
            let mut rows = vec![];
            for (index, (detour, what)) in (0..).zip(self.detours(cpu)) {
                let length = detour.end_ticks - detour.start_ticks - SHORTEST;
                let row = |start, ticks, source: &str, name: &str| {
                    let (at, kind) = ((cpu, index), ActivityKind::Activity);
                    Activity { name: name.into(), ..activity(at, kind, source, start, ticks) }
                };
                let start = detour.start_ticks;
                match what {
                    "tick" => {
                        let handler = length / 3 * 2;
                        rows.push(row(start, handler, "timer-tick", ""));
                        let (at, rest) = (start + handler, length - handler);
                        rows.push(row(at, rest, "softirq", "RCU"));
                    }
                    "daemon" => rows.push(row(start, length, "thread", "updatedb")),
                    _ => rows.push(row(start, length, "vm-or-hardware", "")),
                }
            }
            writer.append(&rows).expect("in order");
        }
        writer.finish().expect("written");
        recording.write_attribution(&Attribution::default()).expect("written");
    }

    fn run(&self) -> Run {
        let cpus = [0, 1].map(|cpu| builders::cpu_run(cpu, (FIRST, FIRST + LENGTH), SHORTEST));
        let mut run = builders::run("detours", builders::clock(1_000 * MS), cpus.to_vec());
        run.threshold_ticks = self.threshold_ns;
        run.machine.hypervisor = self.guest.then(|| "KVM".into());
        (self.change)(&mut run);
        run
    }
}
