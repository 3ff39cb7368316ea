//! Bad input: one clear line, an exit code of 64 or more, no panic.

use crate::tool::{self, anechoic, arg, command};
use anechoic_lab::note;

#[test]
fn wrong_arguments_are_told_in_words() {
    let cases: &[(&str, &[&str], i32, &str)] = &[
        ("duration 0", &["run", "-d", "0s"], 64, "is zero"),
        ("a duration of decades", &["run", "-d", "100000h"], 64, "longer than ten years"),
        ("duration in words", &["run", "-d", "long"], 64, "not a duration"),
        ("duration without unit", &["run", "-d", "10"], 64, "a unit"),
        ("negative duration", &["run", "--duration=-3s"], 64, "negative"),
        ("threshold 0", &["run", "-t", "0ns"], 64, "is zero"),
        ("negative threshold", &["run", "--threshold=-1us"], 64, "negative"),
        ("threshold in words", &["run", "-t", "small"], 64, "not a duration"),
        ("threshold under an iteration", &["run", "-t", "1ns"], 64, "two iterations"),
        ("a run shorter than a detour", &["run", "-d", "1ns"], 64, "measure longer"),
        ("a threshold that long", &["run", "-d", "1s", "-t", "10s"], 64, "over 10s fits into 1s"),
        ("no such CPU", &["run", "--cpus", "60000"], 64, "does not exist"),
        ("CPUs backwards", &["run", "--cpus", "3-1"], 64, "not a CPU list"),
        ("CPUs in words", &["run", "--cpus", "some"], 64, "not a CPU list"),
        ("no CPU", &["run", "--cpus", ""], 64, "no CPU is named"),
        ("FIFO on every CPU", &["run", "--fifo", "-d", "1s"], 64, "--all-cpus"),
        ("repeat 0", &["run", "--repeat", "0"], 64, "give 1 to 1000"),
        ("unknown subcommand", &["rum"], 64, "run"),
        ("no method", &["measure", "fwk"], 64, "fwq"),
        ("no such kernel", &["measure", "fwq", "--work", "intad"], 64, "intadd"),
        ("no such body", &["measure", "loops", "--variants", "sun"], 64, "sum"),
        ("a grain of nothing", &["measure", "fwq", "--grain", "5ns"], 64, "ask for at least"),
        ("a window of nothing", &["measure", "ftq", "--window", "100ns"], 64, "ask for at least"),
        ("a negative grain", &["measure", "fwq", "--grain=-1ms"], 64, "negative"),
        ("no repetitions", &["measure", "fwq", "--repetitions", "0"], 64, "at least one"),
        ("endless in one piece", &["measure", "fwq", "--pure", "--grain", "1h"], 64, "--pure"),
        ("fixed time in one piece", &["measure", "ftq", "--pure"], 64, "--pure"),
        ("fixed time that rests", &["measure", "ftq", "--maiv", "1%"], 64, "--maiv"),
        ("no samples", &["measure", "loops", "--samples", "0"], 64, "at least one"),
        ("no window in it", &["measure", "ftq", "-d", "1us"], 64, "--duration"),
        ("FIFO loops on every CPU", &["measure", "loops", "--policy", "fifo"], 64, "--all-cpus"),
        ("no such policy", &["measure", "loops", "--policy", "rr"], 64, "fifo"),
        ("no percentage", &["measure", "tick", "--maiv", "1"], 64, "for example 1%"),
        ("no recording", &["summary", "/no/such/place"], 66, "/no/such/place"),
        ("a file is no recording", &["sources", "/etc/hostname"], 66, "/etc/hostname"),
    ];
    for (name, args, code, says) in cases {
        let done = anechoic(args);
        assert_eq!(done.code, Some(*code), "case: {name}: {}", done.err);
        assert!(done.err.contains(says), "case: {name}: {}", done.err);
        assert!(!done.err.contains("panicked"), "case: {name}: {}", done.err);
        assert!(done.out.is_empty(), "case: {name}: {}", done.out);
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_refused_before_measuring() {
    let full = tempfile::tempdir().expect("a directory");
    std::fs::write(full.path().join("mine"), "x").expect("a file");
    for (name, dir, says) in [
        ("not empty", arg(full.path()), "not empty"),
        ("not writable", "/proc/anechoic", "/proc/anechoic"),
    ] {
        let done = anechoic(&["run", "-d", "30s", "-q", "-o", dir]);
        assert_eq!(done.code, Some(73), "case: {name}: {}", done.err);
        assert!(done.err.contains(says) && done.is_one_clear_line(), "case: {name}: {}", done.err);
    }
    assert!(full.path().join("mine").exists(), "what was there stays");
}

#[test]
fn an_inherited_affinity_is_no_limit_and_what_it_leaves_out_is_named() {
    let allowed = anechoic_system::cpus::allowed();
    let [first, .., last] = allowed[..] else { return note::skipped("needs two CPUs") };
    let (first, last) = (first.to_string(), last.to_string());
    let dir = tempfile::tempdir().expect("a directory");
    let run = |name: &str, cpus: &[&str]| {
        let dir = dir.path().join(name);
        let run = ["-c", &first, tool::ANECHOIC, "run", "-q", "-d", "100ms", "--no-trace", "-o"];
        command("taskset", &[&run[..], &[arg(&dir), "--json"], cpus].concat())
    };
    let cpus_of = |done: &tool::Done| {
        let json: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
        let cpus = json["cpus"].as_array().expect("CPUs").iter();
        cpus.map(|cpu| cpu["cpu"].to_string()).collect::<Vec<_>>()
    };
    let named = run("named", &["--cpus", &last]);
    assert_eq!(cpus_of(&named), [last], "{}", named.err);
    let inherited = run("inherited", &[]);
    assert_eq!(cpus_of(&inherited), [first.as_str()], "{}", inherited.err);
    assert!(inherited.out.contains("--cpus all measures them"), "{}", inherited.out);
    let all = run("all", &["--cpus", "all"]);
    assert_eq!(cpus_of(&all).len(), allowed.len(), "{}", all.err);
    assert!(!all.out.contains("--cpus all"), "{}", all.out);
}

#[test]
fn what_sudo_records_its_user_can_read() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().expect("a directory");
    let own = std::fs::metadata(dir.path()).expect("it is there").uid();
    if own != 0 || std::os::unix::fs::chown(dir.path(), Some(65534), Some(65534)).is_err() {
        return note::skipped("needs root");
    }
    let recording = dir.path().join("data/host=a");
    let name = arg(&recording);
    let sudo = |args: &[&str]| {
        let mut command = std::process::Command::new(tool::ANECHOIC);
        tool::run(command.args(args).env("SUDO_UID", "65534").env("SUDO_GID", "65534"))
    };
    let user = |args: &[&str]| {
        let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", tool::ANECHOIC];
        command("setpriv", &[&nobody[..], args].concat())
    };
    let run = ["run", "-q", "-d", "300ms", "-o", name];
    assert!(sudo(&run).code.is_some_and(|code| code < 64), "it measures");
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).expect("it is there").mode() & 0o777;
    assert_eq!(mode(&recording), 0o700);
    assert_eq!(mode(&dir.path().join("data")) & 0o500, 0o500);
    let shown = user(&["summary", name]);
    assert!(shown.code.is_some_and(|code| code < 64), "{}", shown.err);
    // Root itself derives nothing in the recording of a user; what sudo derives again stays readable, too.
    if std::env::var("SUDO_UID").is_err() {
        let refused = anechoic(&["attribute", name]);
        let traced = anechoic_recording::Recording::open(&recording).expect("it is one");
        let expected = if traced.run().trace.is_some() { 73 } else { 0 };
        assert_eq!(refused.code, Some(expected), "{}", refused.err);
    }
    let again = sudo(&["attribute", name]);
    assert!(again.code.is_some_and(|code| code < 64), "{}", again.err);
    let shown = user(&["summary", name]);
    assert!(shown.code.is_some_and(|code| code < 64), "{}", shown.err);
    assert_eq!(user(&["attribute", name]).code, again.code);
}

#[test]
fn damaged_recordings_are_told_in_one_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = dir.path().join("recording");
    let done = anechoic(&["run", "-d", "200ms", "-q", "--no-trace", "-o", arg(&recording)]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let json = recording.join("run.json");
    let detours = recording.join("detours/part-00000.parquet");
    let text = std::fs::read_to_string(&json).expect("run.json");
    let newer = text.replacen("\"format_version\": 2", "\"format_version\": 999", 1);
    assert_ne!(newer, text, "the version is where this test looks for it");
    let from_the_future = dir.path().join("newer");
    std::fs::create_dir(&from_the_future).expect("a directory");
    std::fs::write(from_the_future.join("run.json"), newer).expect("written");
    let done = anechoic(&["summary", arg(&from_the_future)]);
    assert_eq!(done.code, Some(65), "{} {}", done.out, done.err);
    assert!(done.err.contains("newer anechoic") && done.is_one_clear_line(), "{}", done.err);
    let bytes = std::fs::read(&detours).expect("detours");
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 0x10;
    let truncated = &bytes[..bytes.len() - 7];
    let cases: &[(&str, &std::path::Path, &[u8], &str)] = &[
        ("cut short", &json, &text.as_bytes()[..text.len() / 2], "run.json"),
        ("flipped bit", &detours, &flipped, "part-00000.parquet"),
        ("truncated", &detours, truncated, "part-00000.parquet"),
    ];
    for (name, file, content, says) in cases {
        let original = std::fs::read(file).expect("a file");
        std::fs::write(file, content).expect("written");
        let done = anechoic(&["summary", arg(&recording)]);
        std::fs::write(file, original).expect("restored");
        assert_eq!(done.code, Some(65), "case: {name}: {} {}", done.out, done.err);
        assert!(done.err.contains(says) && done.is_one_clear_line(), "case: {name}: {}", done.err);
    }
    assert_eq!(anechoic(&["summary", arg(&recording)]).code, Some(0), "restored, it opens again");
}

/// What is not a file never ends when it is read, so it is refused before that.
#[test]
fn what_is_not_a_file_is_told_and_not_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = dir.path().join("recording");
    let done = anechoic(&["run", "-d", "200ms", "-q", "--no-trace", "-o", arg(&recording)]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    for name in ["run.json", "SHA256SUMS", "attribution.json", "detours/part-00000.parquet"] {
        let file = recording.join(name);
        let kept = dir.path().join("kept");
        let was_there = std::fs::rename(&file, &kept).is_ok();
        for make in ["mkfifo", "ln -s /dev/zero"] {
            command("sh", &["-c", &format!("{make} {}", arg(&file))]);
            for reading in ["summary", "attribute"] {
                let done = command("timeout", &["20", tool::ANECHOIC, reading, arg(&recording)]);
                let what = format!("{make} {name}, {reading}: {:?} {}", done.code, done.err);
                assert!(done.code.is_some_and(|code| code != 124), "{what}");
                let read = name == "attribution.json"; // derived, and attributing replaces it
                let says = ["not a", "missing"].iter().any(|says| done.err.contains(says));
                assert!(read || done.is_one_clear_line() && says, "{what}");
            }
            std::fs::remove_file(&file).expect("it can be removed");
        }
        if was_there {
            std::fs::rename(&kept, &file).expect("it can be moved back");
        }
    }
}

/// Root's recording is private, replaces planted links without following them, and is not written into a directory
/// that another user has made.
#[test]
fn root_follows_no_link_and_trusts_no_stranger() {
    if command("id", &["-u"]).out.trim() != "0" {
        return note::skipped("needs root, whom links could harm");
    }
    use std::os::unix::fs::{MetadataExt, chown, symlink};
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    let run = |name: &str| {
        let dir = at(name);
        anechoic(&["run", "-d", "100ms", "-q", "--cpus", "0", "-o", arg(&dir)])
    };
    std::fs::create_dir(at("theirs")).expect("a directory");
    chown(at("theirs"), Some(65534), None).expect("root may");
    let done = run("theirs");
    assert_eq!(done.code, Some(73), "{}", done.err);
    assert!(done.err.contains("belongs to user 65534") && done.is_one_clear_line(), "{}", done.err);
    assert_eq!(std::fs::read_dir(at("theirs")).expect("a directory").count(), 0);
    let done = run("ours");
    assert!(matches!(done.code, Some(0 | 1 | 3)), "{}", done.err);
    let mode = std::fs::metadata(at("ours")).expect("it is there").mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    std::fs::write(at("victim"), "precious").expect("a file");
    let temporary =
        ["ours/.attribution.json.tmp", "ours/.SHA256SUMS.tmp", "ours/.cluster.json.tmp"];
    for name in temporary.into_iter().chain(["ours/.activities.new", "ours/cluster.json"]) {
        symlink(at("victim"), at(name)).expect("a link");
    }
    let done = anechoic(&["attribute", arg(&at("ours"))]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    anechoic(&["merge", arg(&at("ours"))]);
    assert_eq!(std::fs::read_to_string(at("victim")).expect("a file"), "precious");
}

#[test]
fn fifo_without_the_right_is_refused_before_measuring() {
    let cpus = anechoic_system::cpus::allowed();
    if cpus.len() < 2 || command("id", &["-u"]).out.trim() != "0" {
        return note::skipped("needs root, to give it up, and two CPUs");
    }
    let last = cpus[cpus.len() - 1].to_string();
    let open = tempfile::tempdir().expect("a directory");
    let tool = open.path().join("anechoic"); // where nobody may read it
    std::fs::copy(tool::ANECHOIC, &tool).expect("a copy");
    let world = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(open.path(), world).expect("open to all");
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"];
    let recording = open.path().join("recording");
    let fwq = ["measure", "fwq", "--policy", "fifo", "--cpus", &last, "-q", "-o", arg(&recording)];
    let done = command("setpriv", &[&nobody[..], &[arg(&tool)], &fwq].concat());
    assert_eq!(done.code, Some(69), "{}", done.err);
    assert!(
        done.err.contains("the kernel refuses SCHED_FIFO") && done.is_one_clear_line(),
        "{}",
        done.err
    );
}

/// Lines of processes that share a log would mix.
#[test]
fn an_error_is_one_write() {
    for args in [&["summary", "/no/such/place"][..], &["run", "--no-such-option"]] {
        // A datagram for each write.
        let (ours, theirs) = std::os::unix::net::UnixDatagram::pair().expect("a pair of sockets");
        let mut command = std::process::Command::new(tool::ANECHOIC);
        command.args(args).stderr(std::os::fd::OwnedFd::from(theirs));
        command.status().expect("it runs");
        drop(command); // and the other end with it
        let mut bytes = [0; 4096];
        let length = ours.recv(&mut bytes).expect("an error");
        assert!(bytes[..length].ends_with(b"\n"), "{}", String::from_utf8_lossy(&bytes[..length]));
        ours.set_nonblocking(true).expect("it is ours");
        assert!(ours.recv(&mut bytes).is_err(), "{args:?}: more than one write");
    }
}
