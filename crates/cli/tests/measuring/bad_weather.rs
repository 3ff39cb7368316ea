//! What can go wrong during a run: signals, a full disk, a lost CPU, missing privileges.

use crate::tool::{
    self, anechoic, arg, command, may_trace, signal, start, summary, until_running, wait,
};
use anechoic_lab::note;
use std::path::Path;
use std::process::Command;

/// A signal ends a run early with a complete result of what was measured.
#[test]
fn sigint_sigterm_and_sighup_keep_what_was_measured() {
    let _alone = tool::alone();
    for name in ["INT", "TERM", "HUP"] {
        let dir = tempfile::tempdir().expect("a directory");
        let recording = dir.path().join("recording");
        let child = start(&["run", "-d", "60s", "-o", arg(&recording)]);
        until_running(&recording);
        signal(&child, name);
        let done = wait(child);
        assert_eq!(done.code, Some(1), "SIG{name}: {}", done.err);
        assert!(done.out.contains("ended early"), "SIG{name}: {}", done.out);
        let summary = summary(&recording);
        let wall = summary["cpus"][0]["wall_ns"].as_u64().expect("wall_ns");
        assert!((100_000_000..30_000_000_000).contains(&wall), "SIG{name}: {wall} ns");
        assert_no_instance();
    }
}

/// One interruption often arrives as several signals: `timeout` signals the command and its group.
#[test]
fn signals_that_follow_each_other_are_one_interruption() {
    let _alone = tool::alone();
    for second in ["INT", "TERM"] {
        let dir = tempfile::tempdir().expect("a directory");
        let recording = dir.path().join("recording");
        let child = start(&["run", "-d", "60s", "-o", arg(&recording)]);
        until_running(&recording);
        for name in ["TERM", second, "HUP", second] {
            signal(&child, name);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let done = wait(child);
        assert_eq!(done.code, Some(1), "{second}: {} {}", done.out, done.err);
        assert!(done.out.contains("ended early"), "{second}: {}", done.out);
        assert_no_instance();
    }
}

/// A signal that was ignored when the tool was started (nohup) stays ignored.
#[test]
fn an_ignored_hangup_stays_ignored() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let script = format!(
        "trap '' HUP; {} run -d 2s -q -o {}/r & child=$!; sleep 1; kill -s HUP $child; wait $child; echo code $?",
        tool::ANECHOIC,
        arg(dir.path())
    );
    let done = command("sh", &["-c", &script]);
    assert!(done.out.ends_with("code 0\n"), "{} {}", done.out, done.err);
    assert!(!done.out.contains("ended early"), "{}", done.out);
}

/// A result that cannot be printed is an error, not silence.
#[test]
fn output_that_cannot_be_written_is_told() {
    let _alone = tool::alone();
    let done = command("sh", &["-c", &format!("{} check --json > /dev/full", tool::ANECHOIC)]);
    assert_eq!(done.code, Some(73), "{}", done.err);
    assert!(done.is_one_clear_line(), "{}", done.err);
}

/// After SIGKILL the recording opens and reports that it was cut off; the next start removes the trace
/// instance that was left.
#[test]
fn sigkill_leaves_a_recording_that_opens() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let recording = dir.path().join("recording");
    let mut child = start(&["run", "-d", "60s", "-o", arg(&recording)]);
    until_running(&recording);
    child.kill().expect("killed");
    child.wait().expect("dead");
    let done = anechoic(&["summary", arg(&recording)]);
    assert_eq!(done.code, Some(3), "{} {}", done.out, done.err);
    assert!(done.err.contains("cut off") && done.is_one_clear_line(), "{} {}", done.out, done.err);
    let next = dir.path().join("next");
    assert_eq!(anechoic(&["run", "-d", "200ms", "-q", "-o", arg(&next)]).code, Some(0));
    assert_no_instance();
}

/// What was saved every few seconds of a quiet run is there after SIGKILL, and no other time counts.
#[test]
fn sigkill_keeps_what_was_saved_before() {
    let _alone = tool::alone();
    let Some(noisy) = tool::noisy() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let recording = dir.path().join("recording");
    // Few detours are over 20 µs, far fewer than a block of memory holds.
    let run = ["run", "-d", "60s", "-t", "20us", "-q", "--cpus", &noisy, "-o", arg(&recording)];
    let mut child = start(&run);
    until_running(&recording);
    let first = std::fs::read(recording.join("run.json")).expect("a description");
    let saved = |_: &u32| std::fs::read(recording.join("run.json")).is_ok_and(|now| now != first);
    let naps = 0..400;
    let nap = |_: &u32| std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(naps.inspect(nap).any(|n| saved(&n)), "nothing was saved in 40 s");
    child.kill().expect("killed");
    child.wait().expect("dead");
    let done = anechoic(&["summary", "--json", arg(&recording)]);
    assert_eq!(done.code, Some(1), "{} {}", done.out, done.err);
    let summary: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    let cpu = &summary["cpus"][0];
    let wall = cpu["wall_ns"].as_u64().expect("wall_ns");
    assert!((5_000_000_000..60_000_000_000).contains(&wall), "{cpu}");
    assert!(cpu["detours"].as_u64() > Some(0), "{cpu}");
}

/// In a PID namespace the kernel's events have other numbers for our threads than these know themselves.
#[test]
fn in_a_pid_namespace_no_loop_is_a_source() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let run = ["--pid", "--fork", "--mount-proc", tool::ANECHOIC, "run", "-d", "1s", "-q", "-o"];
    // Another anechoic may run here, under the same names.
    let others = || command("pgrep", &["-w", "-x", "anechoic"]).out;
    let before = others();
    let done = command("unshare", &[&run[..], &[arg(&dir.path().join("r"))]].concat());
    assert!(matches!(done.code, Some(0 | 1)), "{} {}", done.out, done.err);
    let (summary, after) = (summary(&dir.path().join("r")), others());
    let rows = summary["sources"]["rows"].as_array().expect("sources");
    assert!(rows.iter().any(|row| row["source"] == "timer-tick"), "{rows:?}");
    let is_other = |thread: &serde_json::Value| {
        let number = thread["tid"].to_string();
        before.lines().chain(after.lines()).any(|other| other == number)
    };
    for row in rows.iter().filter(|row| row["source"] == "thread") {
        let name = row["name"].as_str().unwrap_or_default();
        let ours = name == "anechoic" || name.starts_with("loop");
        let threads = row["threads"].as_array().map_or(&[][..], |threads| threads);
        assert!(!ours || (!threads.is_empty() && threads.iter().all(is_other)), "{row:#}");
    }
}

/// Without /sys there is no list of CPUs, whose events must be read nevertheless.
#[test]
fn without_sys_the_events_are_read() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let script = format!(
        "mount -t tmpfs none /sys && {} run -d 1s -o {}",
        tool::ANECHOIC,
        arg(&dir.path().join("r"))
    );
    let done = command("unshare", &["-m", "sh", "-c", &script]);
    assert!(matches!(done.code, Some(0 | 1)), "{} {}", done.out, done.err);
    assert!(done.out.contains("timer tick"), "{}", done.out);
}

/// No instance of a dead process is left in tracefs.
fn assert_no_instance() {
    if !may_trace() {
        return;
    }
    // A private mount, so that the system's stays as it is.
    let script = "mount -t tracefs none /mnt && ls /mnt/instances";
    let done = command("unshare", &["-m", "sh", "-c", script]);
    for name in done.out.lines().filter(|name| name.starts_with("anechoic-")) {
        let pid = name.split('-').nth(1).expect("a pid in the name");
        assert!(Path::new("/proc").join(pid).exists(), "{name} was left behind");
    }
}

/// A full disk ends the run; what was saved is readable, and the rest is reported.
#[test]
fn a_full_disk_is_told() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let disk = dir.path().join("disk");
    std::fs::create_dir(&disk).expect("a mount point");
    // Samples of no work: about 30 million per second.
    let script = format!(
        "mount -t tmpfs -o size=20m none {disk} && {tool} measure fwq --work empty --repetitions 600000000 -q --no-trace --cpus 0 -o {disk}/r; \
         echo code $?; {tool} summary {disk}/r; echo code $?",
        disk = arg(&disk),
        tool = tool::ANECHOIC
    );
    let done = command("unshare", &["-m", "sh", "-c", &script]);
    let codes: Vec<&str> = done.out.lines().filter(|line| line.starts_with("code ")).collect();
    assert_eq!(codes, ["code 1", "code 1"], "{} {}", done.out, done.err);
    assert!(done.out.contains("no space left"), "{} {}", done.out, done.err);
    assert!(!done.err.contains("panicked"), "{}", done.err);
}

/// Runs a script with `disk` as a private file system of that size, which ends with the script.
fn on_a_disk_of(size: &str, script: &str) -> tool::Done {
    let dir = tempfile::tempdir().expect("a directory");
    let disk = arg(dir.path());
    let script =
        format!("mount -t tmpfs -o size={size} none {disk} || exit; cd {disk} || exit; {script}");
    command("unshare", &["-m", "sh", "-c", &script])
}

/// Starts a run of a second into `r`, and continues once its loops run.
const BEGUN: &str = "-d 1s -o r & for i in $(seq 500); do [ -e r/run.json ] && break; sleep 0.01; done; sleep 0.4; ";

/// If nothing of a run fits on the disk at its end, all of it is lost, and the result does not look like a
/// quiet machine.
#[test]
fn what_finds_no_room_at_the_end_is_lost() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let done = on_a_disk_of(
        "4m",
        &format!(
            "{tool} run {BEGUN} cat /dev/zero > filler 2>&-; wait $!; echo code $?; \
             for what in 'summary --json' sources 'predict phases'; do \
             echo; echo part; {tool} $what r; echo code $?; done",
            tool = tool::ANECHOIC
        ),
    );
    assert!(!done.err.contains("panicked"), "{}", done.err);
    let parts: Vec<&str> = done.out.split("\npart\n").collect();
    let [run, summary, sources, phases] = parts[..] else { panic!("{} {}", done.out, done.err) };
    for says in ["code 1", "≥", "rows could not be saved", "detours in"] {
        assert!(run.contains(says), "{says}: {run} {}", done.err);
    }
    let (json, code) = summary.trim_end().rsplit_once('\n').expect("a result and its code");
    assert_eq!(code, "code 1");
    let json: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let count = |field: &serde_json::Value| field.as_u64().expect("a count");
    for cpu in json["cpus"].as_array().expect("CPUs") {
        assert!(count(&cpu["lost_detours"]) > 0 && count(&cpu["detours"]) == 0, "{cpu}");
        assert!(cpu["interval"].is_null(), "{cpu}");
    }
    let lost = json["losses"].as_array().expect("losses");
    let detours = lost.iter().find(|loss| loss["what"] == "detours").expect("lost detours");
    assert_eq!(detours["count"], json["total"]["lost_detours"]);
    assert_eq!(detours["cpus"].as_array().map(Vec::len), json["cpus"].as_array().map(Vec::len));
    assert!(detours["time_share"].as_f64().expect("a share") > 0.5, "{detours}");
    for says in ["lost at least 0", "No detour was recorded", "detours in"] {
        assert!(sources.contains(says), "{says}: {sources}");
    }
    assert!(phases.ends_with("code 3\n"), "{phases}");
    assert!(done.err.contains("were lost, so its noise is unknown"), "{}", done.err);
}

/// A disk without room for a recording is left unchanged.
#[test]
fn a_disk_that_is_too_small_is_told_and_left_empty() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    // Too small for the space reserved for the end, and for the first description of the run as well.
    for size in ["512k", "1028k"] {
        let tool = tool::ANECHOIC;
        let script = format!("{tool} run -q -d 100ms -o r; echo code $?; ls -A r; du -sk .");
        let done = on_a_disk_of(size, &script);
        assert_eq!(done.out.replace('\t', " "), "code 73\n0 .\n", "{size}: {}", done.err);
        assert!(done.is_one_clear_line() && done.err.contains("KiB"), "{size}: {}", done.err);
    }
}

/// If the attribution does not fit on the disk, the measurement is shown without it.
#[test]
fn what_was_measured_is_shown_without_sources() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    // A mount at the place where the activities are prepared cannot be removed.
    let done = on_a_disk_of(
        "64m",
        &format!(
            "{tool} run {BEGUN} mkdir r/.activities.new; mount -t tmpfs none r/.activities.new; \
             wait $!; echo code $?; umount r/.activities.new; cat /dev/zero > filler 2>&-; \
             {tool} attribute r; echo code $?; rm filler; {tool} attribute r; echo code $?",
            tool = tool::ANECHOIC
        ),
    );
    let codes: Vec<&str> = done.out.lines().filter(|line| line.starts_with("code ")).collect();
    assert_eq!(codes, ["code 1", "code 73", "code 0"], "{} {}", done.out, done.err);
    assert!(done.out.contains("recording: r"), "{}", done.out);
    assert!(done.err.contains("the measurement itself is complete"), "{}", done.err);
    assert!(done.err.contains("`anechoic attribute r`"), "{}", done.err);
}

/// A thread cannot have waited for its CPU longer than the whole run, however short that is.
#[test]
fn no_suspect_had_more_than_all_the_time() {
    let _alone = tool::alone();
    let last = anechoic_system::cpus::allowed().last().copied().expect("a CPU");
    let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell");
    let mut others: Vec<_> = (0..6).map(|_| busy()).collect();
    for other in &others {
        command("taskset", &["-pc", &last.to_string(), &other.id().to_string()]);
    }
    let dir = tempfile::tempdir().expect("a directory");
    let recording = dir.path().join("recording");
    let cpu = last.to_string();
    let run = ["run", "--no-trace", "-q", "-d", "50ms", "-c", &cpu, "-o", arg(&recording)];
    let done = anechoic(&run);
    for other in &mut others {
        other.kill().and_then(|()| other.wait()).expect("ended");
    }
    // 3: other threads had the CPU until the end.
    assert!(matches!(done.code, Some(0 | 3)), "{} {}", done.out, done.err);
    let summary = summary(&recording);
    let suspects = summary["suspects"].as_array().expect("suspects");
    let waited = suspects.iter().find(|suspect| suspect["counter"] == "victim/run_delay_ns");
    if let Some(share) = waited.map(|suspect| suspect["time_share"].as_f64().expect("a share")) {
        assert!(share <= 1.0, "{share} of the time");
    }
}

/// Without privileges the run measures the same detours and reports what is missing.
#[test]
fn unprivileged_runs_say_what_is_missing() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let tool = dir.path().join("anechoic");
    std::fs::copy(tool::ANECHOIC, &tool).expect("a copy that nobody may run");
    for path in [dir.path(), &tool] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(path, mode).expect("open to all");
    }
    let recording = dir.path().join("recording");
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"];
    let run = [arg(&tool), "run", "-d", "1s", "-o", arg(&recording)];
    let done = command("setpriv", &[&nobody[..], &run[..]].concat());
    assert_eq!(done.code, Some(0), "{} {}", done.out, done.err);
    for says in ["not available", "root", "local timer"] {
        assert!(done.out.to_lowercase().contains(says), "{says}: {}", done.out);
    }
    assert!(summary(&recording)["cpus"][0]["detours"].as_u64().expect("a count") > 0);
    let check = command("setpriv", &[&nobody[..], &[arg(&tool), "check"][..]].concat());
    assert_eq!(check.code, Some(0), "{}", check.err);
}

/// A CPU that goes offline ends its own results and no others.
#[test]
fn a_cpu_that_goes_offline_is_told() {
    let _alone = tool::alone();
    let Some(last) = anechoic_system::cpus::allowed().last().copied().filter(|&cpu| cpu > 0) else {
        return note::skipped("needs a second CPU");
    };
    let switch = format!("/sys/devices/system/cpu/cpu{last}/online");
    if std::fs::OpenOptions::new().write(true).open(&switch).is_err() {
        return note::skipped(format_args!("{switch} cannot be written"));
    }
    let dir = tempfile::tempdir().expect("a directory");
    let recording = dir.path().join("recording");
    let child = start(&["run", "-d", "3s", "-o", arg(&recording)]);
    until_running(&recording);
    let _back = Back { file: switch.clone(), value: "1".to_owned() };
    if std::fs::write(&switch, "0").is_err() {
        wait(child);
        return note::skipped(format_args!("the kernel keeps CPU {last} online"));
    }
    let done = wait(child);
    assert!(done.out.contains(&format!("CPU {last} went offline")), "{} {}", done.out, done.err);
    let offline = anechoic(&["run", "-d", "100ms", "--cpus", &last.to_string()]);
    assert_eq!(offline.code, Some(64), "{}", offline.err);
    assert!(offline.err.contains("offline") && offline.is_one_clear_line(), "{}", offline.err);
}

/// A change of the kernel's clock during the run is reported; the samples stay.
#[test]
fn a_change_of_the_kernels_clock_is_told() {
    let _alone = tool::alone();
    let dir = "/sys/devices/system/clocksource/clocksource0";
    let read = |file| std::fs::read_to_string(format!("{dir}/{file}")).unwrap_or_default();
    let (available, current) = (read("available_clocksource"), read("current_clocksource"));
    let other = available.split_whitespace().find(|clock| *clock != current.trim());
    let file = format!("{dir}/current_clocksource");
    let Some(other) = other.filter(|_| std::fs::OpenOptions::new().write(true).open(&file).is_ok())
    else {
        return note::skipped("there is no other clock, or no right to choose it");
    };
    let temporary = tempfile::tempdir().expect("a directory");
    let recording = temporary.path().join("recording");
    let samples = ["measure", "fwq", "--repetitions", "3000", "-o", arg(&recording)];
    let child = start(&samples);
    until_running(&recording);
    let back = Back { file, value: current.trim().to_owned() };
    std::fs::write(&back.file, other).expect("the kernel takes it");
    let done = wait(child);
    let says = format!("clocksource changed from {} to {other}", current.trim());
    assert!(
        done.out.split_whitespace().collect::<Vec<_>>().join(" ").contains(&says),
        "{}",
        done.out
    );
    drop(back);
    let kept = anechoic_recording::Recording::open(&recording).expect("a recording");
    assert!(kept.run().outcomes.iter().all(|outcome| outcome.samples == 3_000));
}

/// Writes a setting back when dropped.
struct Back {
    file: String,
    value: String,
}

impl Drop for Back {
    fn drop(&mut self) {
        std::fs::write(&self.file, &self.value).expect("it is as it was");
    }
}

/// Other tracing on the machine is not changed.
#[test]
fn tracing_in_use_by_others_is_left_alone() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let script = format!(
        "mount -t tracefs none /mnt && cd /mnt && mkdir instances/others && \
         echo 1 > instances/others/events/sched/sched_switch/enable && \
         {} run -d 300ms -q -o {}/r >/dev/null; echo code $?; \
         cat instances/others/events/sched/sched_switch/enable tracing_on current_tracer; \
         grep -c . instances/others/trace; echo 0 > instances/others/events/enable; rmdir instances/others",
        tool::ANECHOIC,
        arg(dir.path())
    );
    let done = Command::new("unshare").args(["-m", "sh", "-c", &script]).output().expect("unshare");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..4], ["code 0", "1", "1", "nop"], "{text}");
    assert!(lines[4].parse::<u64>().expect("a count") > 20, "its events go on: {text}");
}
