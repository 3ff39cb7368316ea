//! Processes that a recorded command leaves behind: they run beside the trials that follow.

use rustix::process::{WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};

/// Lets processes that lose their parent become children of this one, so that it knows of them.
pub(super) fn adopt() {
    let _ = set_child_subreaper(Some(getpid())); // without it none is known
}

/// Returns whether this process has a child that runs, besides which it must have none.
pub(super) fn run() -> bool {
    loop {
        match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) => {} // one that has ended meanwhile
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
