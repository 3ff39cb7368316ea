//! Processes that a test starts.

use std::io;
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

/// Has the kernel refuse these system calls to the process and all below it, with this error, as the profiles of
/// container runtimes do.
pub fn refuse<'a>(command: &'a mut Command, calls: &[libc::c_long], error: i32) -> &'a mut Command {
    if calls.is_empty() {
        return command;
    }
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load_number = statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0);
    let allow = statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW);
    let refuse = libc::SECCOMP_RET_ERRNO | error.cast_unsigned() & libc::SECCOMP_RET_DATA;
    let mut program = vec![load_number];
    for &call in calls {
        let is = statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32);
        program.push(libc::sock_filter { jf: 1, ..is });
        program.push(statement(libc::BPF_RET | libc::BPF_K, refuse));
    }
    program.push(allow);
    // SAFETY: between fork and exec the closure calls nothing but prctl(), with a program that it owns.
    unsafe {
        command.pre_exec(move || {
            let filter =
                libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
            let [none, one, filters]: [libc::c_ulong; 3] = [0, 1, libc::SECCOMP_MODE_FILTER.into()];
            let set = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, none, none, none) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, filters, &raw const filter) == 0;
            if set { Ok(()) } else { Err(io::Error::last_os_error()) }
        })
    }
}
