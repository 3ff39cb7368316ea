//! What ends a user's function: a signal of its own fault, or ours if it does not return.
//!
//! The handler runs on the alternate stack that the standard library gives each thread. It uses nothing but the state of
//! its own thread, and has the thread go on behind the call. Outside of such calls everything is as before.

use anechoic_kernels::foreign::Frame;
use anechoic_recording::{Problem, ProblemKind};
use libc::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
use std::cell::Cell;
use std::ffi::c_void;
use std::io::Write;
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// What helps with a function that crashes.
const REMEDY: &str =
    "call it from a program of your own under a debugger (docs/methods/own-work.md)";

/// [`Frame::ended_by`] of a function that we ended because it did not return.
const NO_RETURN: i32 = 1_000;
/// The same of a workspace that could not be prepared.
pub(super) const NOT_PREPARED: i32 = 1_001;

/// The signals of a program's own faults, with what they mean.
const FAULTS: [(i32, &str, &str); 7] = [
    (SIGSEGV, "SIGSEGV", "it accessed memory that it does not have"),
    (SIGBUS, "SIGBUS", "it accessed memory that has nothing behind it"),
    (SIGILL, "SIGILL", "it has an instruction that this CPU does not have, or one that traps"),
    (SIGFPE, "SIGFPE", "it divided by zero, or the quotient was too large"),
    (SIGABRT, "SIGABRT", "it called abort, as a failed assertion does"),
    (SIGTRAP, "SIGTRAP", "it has a breakpoint"),
    (SIGSYS, "SIGSYS", "it made a system call that is forbidden"),
];

thread_local! {
    /// The state of the calls of this thread. It needs no set-up, so that a handler may use it.
    static FRAME: Frame = const { Frame::new() };
    /// The function that is called, and what its name has beside that of `step`.
    static CALLED: Cell<(&'static str, &'static str)> = const { Cell::new(("", "")) };
}

/// The suffix of the function that prepares a workspace.
pub(super) const PREPARE: &str = "_prepare";

/// Why a user's function ended early.
#[derive(Debug)]
pub(crate) struct Failure {
    /// A sentence that begins with its name.
    pub(crate) why: String,
    /// Whether it was preparing a workspace, and no sample had begun.
    pub(crate) in_preparation: bool,
}

impl Failure {
    /// Converts to the problem that nothing was measured, because of a failure at this time.
    pub(crate) fn problem(&self, when: &str) -> Problem {
        ProblemKind::Data.problem(format!("{} {when}", self.why), REMEDY)
    }
}

/// Returns the state of the calls of this thread, which is valid until the thread ends.
pub(super) fn frame() -> *const Frame {
    FRAME.with(std::ptr::from_ref)
}

/// Notes which function this thread calls from now on, unless one has ended early and nothing is called any more.
pub(super) fn call_next(name: &'static str, suffix: &'static str) {
    if FRAME.with(Frame::ended_by) == 0 {
        CALLED.set((name, suffix));
    }
}

/// Whether we end functions that do not return.
static ENDING: AtomicBool = AtomicBool::new(false);
/// What handled the signals before.
static BEFORE: [AtomicPtr<libc::sigaction>; FAULTS.len()] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; FAULTS.len()];

/// Catches the signals of faults, from the first call on.
pub(super) fn catch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for ((signal, ..), before) in FAULTS.iter().zip(&BEFORE) {
            let old = Box::leak(Box::new(MaybeUninit::<libc::sigaction>::zeroed()));
            // SAFETY: both actions are valid; the handler is one for SA_SIGINFO, and uses only what a handler may.
            unsafe {
                libc::sigaction(*signal, std::ptr::null(), old.as_mut_ptr());
                before.store(old.as_mut_ptr(), Ordering::Release);
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = end_call as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigaction(*signal, &raw const action, std::ptr::null_mut());
            }
        }
        // SAFETY: the function has the type that is asked for, and stays.
        unsafe { libc::atexit(exited) };
    });
}

/// Ends the process as a failure if a user's function ends it: the process would end as if it had succeeded. What was saved
/// before stays.
extern "C" fn exited() {
    if FRAME.with(|frame| frame.leave(NO_RETURN)).is_some() {
        let (name, suffix) = CALLED.get();
        let _ = writeln!(std::io::stderr(), "anechoic: {name}{suffix} called exit; {REMEDY}");
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(1) };
    }
}

/// Lets the calling thread get the signals of faults. Blocked, they would end the process.
pub(super) fn unblock() {
    // SAFETY: the set is initialised and changes only the calling thread.
    unsafe {
        let mut faults = std::mem::zeroed();
        libc::sigemptyset(&raw mut faults);
        for (signal, ..) in FAULTS {
            libc::sigaddset(&raw mut faults, signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const faults, std::ptr::null_mut());
    }
}

/// Ends the call that is under way on a thread of this process, if there is one.
pub(crate) fn end_call_of(tid: i32) {
    ENDING.store(true, Ordering::Release);
    // SAFETY: sends a signal that we handle to a thread of this process; it fails if that has ended.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, SIGABRT) };
}

/// Returns what ended the last call of this thread early, and allows calls again.
pub(crate) fn failure() -> Option<Failure> {
    let (name, suffix) = CALLED.get();
    let why = match FRAME.with(Frame::forgive) {
        0 => return None,
        NO_RETURN => format!("{name}{suffix} did not return"),
        NOT_PREPARED => {
            format!("{name} was not prepared, because its {PREPARE} function did not return 0")
        }
        signal => {
            let known = FAULTS.iter().find(|(known, ..)| *known == signal);
            let (_, signal, meaning) = known.copied().unwrap_or((signal, "a signal", ""));
            format!("{name}{suffix} crashed with {signal} ({meaning})")
        }
    };
    Some(Failure { why, in_preparation: suffix == PREPARE })
}

/// The handler. It may only use what is safe in one.
extern "C" fn end_call(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let is_ours = signal == SIGABRT && ENDING.load(Ordering::Acquire);
    let why = if is_ours { NO_RETURN } else { signal };
    if let Some((stack, address)) = FRAME.with(|frame| frame.leave(why)) {
        // SAFETY: the kernel passes a ucontext_t, from which it restores the registers when this returns.
        go_on(unsafe { &mut *context.cast::<libc::ucontext_t>() }, stack, address);
    } else if !is_ours {
        // Outside of such a call, it is handled as before: a fault happens again when this returns, and what was sent is
        // sent again.
        let place = FAULTS.iter().position(|(known, ..)| *known == signal).unwrap_or(0);
        let before = BEFORE[place].load(Ordering::Acquire);
        // SAFETY: the action is the one that the kernel returned, and is never freed.
        unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
        // SAFETY: the kernel passes a siginfo_t. The signal is blocked until this returns.
        unsafe {
            if (*info).si_code <= 0 {
                libc::raise(signal);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn go_on(context: &mut libc::ucontext_t, stack: usize, address: usize) {
    context.uc_mcontext.gregs[libc::REG_RSP as usize] = stack as i64;
    context.uc_mcontext.gregs[libc::REG_RIP as usize] = address as i64;
}

#[cfg(target_arch = "aarch64")]
fn go_on(context: &mut libc::ucontext_t, stack: usize, address: usize) {
    context.uc_mcontext.sp = stack as u64;
    context.uc_mcontext.pc = address as u64;
}
