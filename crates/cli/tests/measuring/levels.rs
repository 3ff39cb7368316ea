//! A change of the level of noise within a run is found where an injector begins, with its source.

use crate::tool::{self, anechoic, arg, noisy, start, wait};
use anechoic_lab::attempt::{ensure, one_of};
use std::time::Duration;

/// Ten seconds, into which an injector takes a fifth of one CPU from the fourth second on.
#[test]
fn an_injector_that_begins_is_a_change_of_level() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    one_of(3, || {
        let dir = tempfile::tempdir().expect("a directory");
        let run = ["run", "-q", "-d", "10s", "--cpus", &cpu, "-o", arg(dir.path())];
        let run = start(&run);
        tool::until_running(dir.path());
        std::thread::sleep(Duration::from_secs(4));
        let inject = ["inject", "--kind", "thread", "--rate", "100hz", "-d", "2ms", "--for", "20s"];
        let mut injector = start(&[&inject[..], &["--cpus", &cpu]].concat());
        let done = wait(run);
        tool::signal(&injector, "TERM");
        injector.wait().expect("it ends");
        assert!(done.code.is_some_and(|code| code < 2), "{}", done.err);
        let summary = tool::summary(dir.path());
        let levels = summary["levels"].as_array().cloned().unwrap_or_default();
        let is_it = |change: &&serde_json::Value| {
            let number = |name: &str| change[name].as_f64().unwrap_or_default();
            let source = &change["sources"][0];
            (3.9..4.6).contains(&number("at_s"))
                && (0.15..0.25).contains(&(number("after") - number("before")))
                && source["name"].as_str().is_some_and(|name| name.starts_with("inject"))
        };
        let found = levels.iter().filter(is_it).count();
        ensure(found == 1, true, || format!("{levels:?}"))?;
        let screen = anechoic(&["summary", arg(dir.path())]).out;
        ensure(screen.contains("the noise rose from"), true, || screen.clone())
    });
}
