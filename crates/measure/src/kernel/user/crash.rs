//! What ends a user's function: a signal of its own fault, or ours if it does not return.
//!
//! The handler runs on the alternate stack that the standard library gives each thread. It uses nothing but the state of
//! its own thread, and has the thread go on behind the call. Outside of such calls everything is as before.

use anechoic_kernels::foreign::Frame;
use libc::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

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
}

/// Returns the state of the calls of this thread, which is valid until the thread ends.
pub(super) fn frame() -> *const Frame {
    FRAME.with(std::ptr::from_ref)
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
    });
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

/// Returns what ended the last call of this thread early, in words that follow the name of the function, and allows calls
/// again.
pub(crate) fn failure() -> Option<String> {
    match FRAME.with(Frame::forgive) {
        0 => None,
        NO_RETURN => Some("did not return".to_owned()),
        NOT_PREPARED => {
            Some("could not be prepared: the function for that did not return 0".to_owned())
        }
        signal => {
            let known = FAULTS.iter().find(|(known, ..)| *known == signal);
            let (_, name, meaning) = known.copied().unwrap_or((signal, "a signal", ""));
            Some(format!("crashed with {name} ({meaning})"))
        }
    }
}

/// The handler. It may only use what is safe in one.
extern "C" fn end_call(signal: i32, _: *mut libc::siginfo_t, context: *mut c_void) {
    let is_ours = signal == SIGABRT && ENDING.load(Ordering::Acquire);
    let why = if is_ours { NO_RETURN } else { signal };
    if let Some((stack, address)) = FRAME.with(|frame| frame.leave(why)) {
        // SAFETY: the kernel passes a ucontext_t, from which it restores the registers when this returns.
        go_on(unsafe { &mut *context.cast::<libc::ucontext_t>() }, stack, address);
    } else if !is_ours {
        // A fault outside of such a call: when this returns, it happens again and is handled as before.
        let place = FAULTS.iter().position(|(known, ..)| *known == signal).unwrap_or(0);
        let before = BEFORE[place].load(Ordering::Acquire);
        // SAFETY: the action is the one that the kernel returned, and is never freed.
        unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
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
