//! What a shell and `man` get: completions and manual pages, from the definitions of the command line.

use crate::tool::{ANECHOIC, anechoic, arg, command};
use anechoic_lab::note;
use std::fs;
use std::path::{Path, PathBuf};

/// Shells that can check a script without running it.
const CHECKERS: [&str; 3] = ["bash", "zsh", "fish"];

fn is_installed(program: &str) -> bool {
    let known = format!("command -v {program}");
    let installed = command("sh", &["-c", &known]).code == Some(0);
    if !installed {
        note::skipped(format_args!("not installed: {program}"));
    }
    installed
}

#[test]
fn completions_are_scripts_that_their_shells_accept() {
    let dir = tempfile::tempdir().expect("a directory");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let done = anechoic(&["completions", shell]);
        assert_eq!((done.code, &*done.err), (Some(0), ""), "{shell}");
        assert!(done.out.contains("no-trace"), "{shell}: {}", done.out);
        let script = dir.path().join(shell);
        fs::write(&script, &done.out).expect("written");
        if CHECKERS.contains(&shell) && is_installed(shell) {
            let checked = command(shell, &["-n", arg(&script)]);
            assert_eq!((checked.code, &*checked.err), (Some(0), ""), "{shell}");
        }
    }
    assert_eq!(anechoic(&["completions", "csh"]).code, Some(64));
}

/// Returns what bash offers for the last of these words.
fn offered(words: &[&str], dir: &Path) -> Vec<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let (all, at) = (quoted.join(" "), words.len() - 1);
    let [before, current] = [&quoted[at - 1], &quoted[at]];
    let script = format!(
        "cd '{}'; source <('{ANECHOIC}' completions bash); COMP_WORDS=({all}); COMP_CWORD={at}; \
         _anechoic anechoic {current} {before} 2>/dev/null; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        dir.display()
    );
    let done = command("bash", &["-c", &script]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    done.out.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_their_values() {
    if !is_installed("bash") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("night.html"), "").expect("written");
    let cases: [(&[&str], &[&str]); 6] = [
        (&["anechoic", "summ"], &["summary"]),
        (&["anechoic", "run", "--no-t"], &["--no-trace"]),
        (&["anechoic", "measure", "fw"], &["fwq"]),
        (&["anechoic", "run", "--color", "al"], &["always"]),
        (&["anechoic", "report", "--output", "nig"], &["night.html"]),
        // A duration is no file.
        (&["anechoic", "run", "--duration", "nig"], &["nig"]),
    ];
    for (words, expected) in cases {
        assert_eq!(offered(words, dir.path()), expected, "{words:?}");
    }
    let diff = offered(&["anechoic", "dif"], dir.path());
    assert_eq!(diff, ["diff"], "the alias of compare");
}

#[test]
fn every_command_has_a_manual_page_without_warnings() {
    let dir = tempfile::tempdir().expect("a directory");
    let man = dir.path().join("share/man/man1");
    let done = anechoic(&["man", arg(&man)]);
    assert_eq!((done.code, &*done.err), (Some(0), ""), "{}", done.out);
    let mut pages: Vec<PathBuf> =
        fs::read_dir(&man).expect("a directory").map(|page| page.expect("a page").path()).collect();
    pages.sort();
    assert!(pages.len() > 40 && done.out.contains(&pages.len().to_string()), "{}", done.out);
    let named = |name: &str| fs::read_to_string(man.join(name)).expect("a page");
    let run = named("anechoic-run.1");
    for part in [".TH anechoic-run 1", ".SH NAME", "\\-\\-tracer\\-cost", ".SH EXAMPLES", ".nf"] {
        assert!(run.contains(part), "{part}:\n{run}");
    }
    assert!(named("anechoic.1").contains("Exit codes"), "{}", named("anechoic.1"));
    if is_installed("man") && is_installed("groff") {
        for page in &pages {
            // What `man --warnings` calls, without its cache and pager.
            let shown = command("groff", &["-man", "-Kutf8", "-Tutf8", "-ww", "-z", arg(page)]);
            assert_eq!((shown.code, &*shown.err), (Some(0), ""), "{}", page.display());
        }
    }
}

#[test]
fn pages_are_replaced_on_request_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("anechoic-run.1"), "mine").expect("written");
    let refused = anechoic(&["man", arg(dir.path())]);
    assert_eq!(refused.code, Some(73), "{}", refused.err);
    assert!(refused.is_one_clear_line() && refused.err.contains("--force"), "{}", refused.err);
    assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 1, "nothing was written");
    assert_eq!(anechoic(&["man", "--force", arg(dir.path())]).code, Some(0));
    let page = fs::read_to_string(dir.path().join("anechoic-run.1")).expect("a page");
    assert!(page.contains(".SH SYNOPSIS"), "{page}");
}

#[test]
fn diff_is_compare() {
    let [diff, compare] = ["diff", "compare"].map(|name| anechoic(&[name, "--help"]));
    assert_eq!((diff.code, &diff.out), (Some(0), &compare.out));
}
