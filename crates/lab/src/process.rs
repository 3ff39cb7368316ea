//! Processes that a test starts.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the process start with every signal as usual. What ignores some, as nohup or a shell that runs the tests in the
/// background, passes that on to all processes below it.
pub fn signals_as_usual(command: &mut Command) -> &mut Command {
    const SIGNALS: [i32; 5] =
        [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGALRM];
    // SAFETY: between fork and exec the closure calls nothing but signal(), which may be called there.
    unsafe {
        command.pre_exec(|| {
            for signal in SIGNALS {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        })
    }
}
