//! The commands of the documents, which measure.

use crate::documents::{Step, copy, fences, measures_into, missing, pages, provide, shell, steps};
use crate::tool;
use anechoic_lab::note;
use std::collections::BTreeMap;

/// The commands of each page run, in order, in a directory of the page's own. What several pages measure is measured once.
#[test]
fn commands_run() {
    let _alone = tool::alone();
    if tool::noisy().is_none() {
        return; // the documents measure CPU 1, too
    }
    let root = tempfile::tempdir().expect("a directory");
    let mut measured: BTreeMap<String, std::path::PathBuf> = BTreeMap::new();
    for (number, page) in pages().into_iter().enumerate() {
        let dir = root.path().join(number.to_string());
        std::fs::create_dir(&dir).expect("a directory");
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
                let recording = measures_into(&command).map(|name| dir.join(name));
                if let Some((recording, other)) = recording.as_ref().zip(measured.get(&command)) {
                    copy(other, recording);
                    continue;
                }
                provide(&command, &dir);
                let done = shell(&command, &dir);
                let err = String::from_utf8_lossy(&done.stderr);
                let code = done.status.code().expect("not killed");
                assert!(code <= 3, "{}: {command}: {code}: {err}", page.path.display());
                measured.extend(recording.map(|recording| (command, recording)));
            }
        }
    }
}
