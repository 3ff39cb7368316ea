//! The commands of the documents, which measure.

use crate::documents::{Step, fences, missing, pages, provide, shell, steps};
use crate::tool;
use anechoic_lab::note;

/// The commands of each page run, in order, in a directory of the page's own.
#[test]
fn commands_run() {
    let _alone = tool::alone();
    if tool::noisy().is_none() {
        return; // the documents measure CPU 1, too
    }
    for page in pages() {
        let dir = tempfile::tempdir().expect("a directory");
        for fence in fences(&page.text).iter().filter(|fence| fence.info == "console") {
            for Step { command, shown } in steps(&page, fence) {
                if !shown.is_empty() {
                    continue; // see `documents::results_are_current`
                }
                let missing = missing(&command);
                if !missing.is_empty() {
                    note::skipped(format_args!("not installed: {missing:?}"));
                    continue;
                }
                provide(&command, dir.path());
                let done = shell(&command, dir.path());
                let err = String::from_utf8_lossy(&done.stderr);
                let code = done.status.code().expect("not killed");
                assert!(code <= 3, "{}: {command}: {code}: {err}", page.path.display());
            }
        }
    }
}
