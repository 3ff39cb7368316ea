//! CPUs that are taken away: by a real-time thread that never sleeps, by an inherited policy, by going offline.

use super::{Place, codes, possible};
use crate::tool;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// A file of the kernel with another content, until this is dropped or this process ends in any way: a shell that waits
/// for the end of a pipe then writes the old content.
struct Setting(Child);

impl Setting {
    fn set(file: &str, value: &str) -> Self {
        let before = fs::read_to_string(file).expect("a setting");
        let script =
            format!("trap '' INT TERM HUP; cat >/dev/null; echo {} >{file}", before.trim());
        let mut guard = Command::new("sh");
        guard.args(["-c", &script]).process_group(0).stdin(Stdio::piped());
        let guard = Setting(guard.stdout(Stdio::null()).spawn().expect("a shell"));
        fs::write(file, value).expect("root may");
        guard
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let restored = self.0.wait().is_ok_and(|status| status.success());
        assert!(restored || std::thread::panicking(), "the setting could not be restored");
    }
}

/// A thread that holds a CPU for at most 25 s. What ends it runs elsewhere, and before it.
struct Holder(Child);

impl Holder {
    fn start(cpu: &str, after_s: u32) -> Self {
        let script = format!(
            "sleep {after_s}; taskset -c {cpu} chrt -f 60 sh -c 'while :; do :; done' & trap \"kill -9 $!\" TERM EXIT; \
             sleep 25 & wait $!"
        );
        let own = ["-c", "0", "bash", "-c", &script];
        Holder(Command::new("taskset").args(own).spawn().expect("a shell"))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

const THROTTLING: &str = "/proc/sys/kernel/sched_rt_runtime_us";

#[test]
fn a_cpu_that_a_real_time_thread_holds() {
    let Some(cpu) = tool::noisy().filter(|_| fs::exists(THROTTLING).unwrap_or(false)) else {
        return;
    };
    let _alone = tool::alone();
    let place = Place::new();
    {
        let _whole = Setting::set(THROTTLING, "-1");
        let _holder = Holder::start(&cpu, 0);
        std::thread::sleep(std::time::Duration::from_secs(1));
        for command in ["run -d 500ms", "measure fwq --repetitions 100", "check --self-test"] {
            let output = if command.starts_with("check") { "" } else { "-q -o r" };
            let done = place.run(&format!("rm -rf r; anechoic {command} --cpus {cpu} {output}"));
            // Since Linux 6.12 the kernel's fair server leaves other threads some of the CPU.
            let refused = codes(&done) == [69];
            assert!(!refused || done.err.contains("keeps CPU"), "{command}: {}", done.err);
        }
    }
    {
        let _whole = Setting::set(THROTTLING, "-1");
        let _holder = Holder::start(&cpu, 3);
        let done = place.run(&format!(
            "rm -rf r; timeout -k 5 60 {} run -d 60s --cpus {cpu} -q -o r >&- & sleep 5; kill $!; wait $!; \
             echo \"code $?\" >&2",
            tool::ANECHOIC
        ));
        assert_eq!(codes(&done), [1], "{}", done.err);
    }
    place.leave();
}

#[test]
fn a_real_time_policy_that_was_inherited() {
    if !possible() {
        return;
    }
    let _alone = tool::alone();
    let place = Place::new();
    for policy in ["-f 50", "-r 1", "-i 0", "-b 0"] {
        let call = format!(
            "timeout -k 5 60 chrt {policy} {} run -d 300ms -q -o r >out; echo \"code $?\" >&2; cat out",
            tool::ANECHOIC
        );
        let done = place.run(&format!("rm -rf r; {call}"));
        assert!(matches!(codes(&done)[..], [0 | 1]), "{policy}: {}", done.err);
        let real_time = ["-f 50", "-r 1"].contains(&policy);
        assert_eq!(
            done.out.contains("was started under SCHED_"),
            real_time,
            "{policy}: {}",
            done.out
        );
    }
    place.leave();
}

#[test]
fn a_cpu_that_goes_offline_in_every_method() {
    let Some(cpu) = tool::noisy() else { return };
    let online = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    if !fs::exists(&online).unwrap_or(false) {
        return anechoic_lab::note::skipped("no CPU can be taken offline");
    }
    let _alone = tool::alone();
    let place = Place::new();
    for command in [
        "run -d 5s",
        "measure bsp -d 5s",
        "measure fwq",
        "measure ftq",
        "measure loops --samples 2000",
        "measure tick",
        "measure serial --blocks 2",
        "measure memory --quick --experiments bandwidth-read-random-warm",
        "measure paging --quick --pages huge-2m --point-time 2ms --blocks 2",
        "measure interference",
    ] {
        let _back = Setting::set(&online, "1");
        let done = place.run(&format!(
            "rm -rf r; timeout -k 5 60 {} {command} -q -o r >&- & for _ in {{1..150}}; do [ -e r/run.json ] && break; sleep 0.1; done; \
             sleep 1; echo 0 > {online}; sleep 1; echo 1 > {online}; sleep 1; kill $! 2>&-; wait $!; echo \"code $?\" >&2",
            tool::ANECHOIC
        ));
        assert!(matches!(codes(&done)[..], [0 | 1]), "{command} ended: {}", done.err);
        let shown = place.run("anechoic summary r");
        assert!(matches!(codes(&shown)[..], [0 | 1 | 3]), "{command}: {}", shown.err);
    }
    place.leave();
}

/// The kernel moves a thread whose CPU goes offline. There it would disturb another CPU, and afterwards it is pinned again.
#[test]
fn threads_that_inject_noise_stay_on_their_cpu() {
    let Some(cpu) = tool::noisy() else { return };
    let online = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    if !fs::exists(&online).unwrap_or(false) {
        return anechoic_lab::note::skipped("no CPU can be taken offline");
    }
    let _alone = tool::alone();
    let place = Place::new();
    let back = Setting::set(&online, "1");
    let done = place.run(&format!(
        "{} inject --kind thread --period 10ms --length 1ms --cpus {cpu} --for 6s 2>told & sleep 2; echo 0 > {online}; \
         sleep 1; echo 1 > {online}; sleep 1; \
         for task in /proc/$!/task/*; do echo $(cat $task/comm) may use $(awk '/Cpus_allowed_list/ {{ print $2 }}' $task/status); \
         done; wait; cat told",
        tool::ANECHOIC
    ));
    assert!(done.out.contains(&format!("inject {cpu} may use {cpu}\n")), "{}", done.out);
    let delivered =
        done.out.split(" delivered").next().and_then(|text| text.split(' ').next_back());
    let delivered: Option<u32> = delivered.and_then(|number| number.replace(',', "").parse().ok());
    assert!(matches!(delivered, Some(300..=540)), "600 less those of a second: {}", done.out);
    drop(back);
    place.leave();
}
