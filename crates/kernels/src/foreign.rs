//! Calls of functions that others wrote, which a signal handler can end.
//!
//! A function that crashes must not take the measurement with it. [`Frame::call`] remembers where it called from; the
//! handler of a signal that arrives in the function goes on there ([`Frame::leave`]), as `longjmp` does.

use core::arch::naked_asm;
use core::cell::Cell;

/// A function of two integers or addresses that returns one, by the C calling convention.
pub type Function = unsafe extern "C" fn(usize, u64) -> u64;

/// The state of the calls of one thread.
#[derive(Debug)]
#[repr(C)]
pub struct Frame {
    /// The stack pointer of the caller; 0 while no call is under way. [`enter`] writes it.
    stack: Cell<usize>,
    /// What ended a call; 0 if nothing has.
    ended_by: Cell<i32>,
}

impl Frame {
    /// Creates the state of a thread that has called nothing.
    #[must_use]
    pub const fn new() -> Self {
        Frame { stack: Cell::new(0), ended_by: Cell::new(0) }
    }

    /// Calls the function and returns its value; 0 if a signal ends the call, or has ended one before.
    ///
    /// # Safety
    /// The function may be called with these arguments on this thread. Ending it early leaves nothing behind on which
    /// the caller relies.
    #[inline(always)]
    pub unsafe fn call(&self, function: Function, first: usize, second: u64) -> u64 {
        if self.ended_by.get() != 0 {
            return 0;
        }
        // SAFETY: the caller vouches for the function; the frame outlives the call.
        unsafe { enter(function, first, second, self) }
    }

    /// Returns what ended a call, as passed to [`Frame::leave`]; 0 if nothing has.
    #[inline(always)]
    #[must_use]
    pub fn ended_by(&self) -> i32 {
        self.ended_by.get()
    }

    /// Prevents further calls, for this reason, which must not be 0.
    pub fn end(&self, why: i32) {
        self.ended_by.set(why);
    }

    /// Allows calls again after one was ended, and returns what ended it.
    pub fn forgive(&self) -> i32 {
        self.ended_by.replace(0)
    }

    /// Ends the call that is under way, from a signal handler on this thread: returns the stack pointer and the address
    /// with which the thread must go on when the handler returns. Returns `None` if no call is under way.
    ///
    /// `why` must not be 0.
    #[must_use]
    pub fn leave(&self, why: i32) -> Option<(usize, usize)> {
        let stack = self.stack.replace(0);
        if stack == 0 {
            return None;
        }
        self.end(why);
        Some((stack, landing as *const () as usize))
    }
}

impl Default for Frame {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns 0 at once: its calls cost what any call costs.
pub extern "C" fn nothing(_: usize, _: u64) -> u64 {
    0
}

/// Restores what [`enter`] saved and returns to its caller. The stack pointer is that of the call.
#[cfg(target_arch = "x86_64")]
macro_rules! restore {
    () => {
        "pop rcx
        mov qword ptr [rcx], 0
        pop r15
        pop r14
        pop r13
        pop r12
        pop rbx
        pop rbp
        ret"
    };
}

/// Saves the registers that belong to the caller, stores the stack pointer in the frame, and calls.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn enter(_: Function, _: usize, _: u64, _: *const Frame) -> u64 {
    naked_asm!(
        "push rbp
        push rbx
        push r12
        push r13
        push r14
        push r15
        push rcx
        mov [rcx], rsp
        mov rax, rdi
        mov rdi, rsi
        mov rsi, rdx
        call rax",
        restore!()
    )
}

/// Goes on after a call that a signal ended: with the state of the floating-point units that a program begins with.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn landing() -> ! {
    naked_asm!(
        "cld
        fninit
        push 0x1f80
        ldmxcsr [rsp]
        add rsp, 8
        xor eax, eax",
        restore!()
    )
}

/// Stores (`stp`) or loads (`ldp`) the registers that belong to the caller, without frame pointer and return address.
#[cfg(target_arch = "aarch64")]
macro_rules! registers {
    ($op:literal) => {
        concat!(
            registers!(one $op, "x19, x20, [sp, #16]"),
            registers!(one $op, "x21, x22, [sp, #32]"),
            registers!(one $op, "x23, x24, [sp, #48]"),
            registers!(one $op, "x25, x26, [sp, #64]"),
            registers!(one $op, "x27, x28, [sp, #80]"),
            registers!(one $op, "d8, d9, [sp, #96]"),
            registers!(one $op, "d10, d11, [sp, #112]"),
            registers!(one $op, "d12, d13, [sp, #128]"),
            registers!(one $op, "d14, d15, [sp, #144]"),
        )
    };
    (one $op:literal, $pair:literal) => {
        concat!($op, " ", $pair, "\n")
    };
}

/// Restores what [`enter`] saved and returns to its caller. The stack pointer is that of the call.
#[cfg(target_arch = "aarch64")]
macro_rules! restore {
    () => {
        concat!(
            "ldr x3, [sp, #160]
            str xzr, [x3]\n",
            registers!("ldp"),
            "ldp x29, x30, [sp], #176
            ret"
        )
    };
}

/// Saves the registers that belong to the caller, stores the stack pointer in the frame, and calls.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn enter(_: Function, _: usize, _: u64, _: *const Frame) -> u64 {
    naked_asm!(
        "stp x29, x30, [sp, #-176]!
        mov x29, sp",
        registers!("stp"),
        "str x3, [sp, #160]
        mov x9, sp
        str x9, [x3]
        mov x9, x0
        mov x0, x1
        mov x1, x2
        blr x9",
        restore!()
    )
}

/// Goes on after a call that a signal ended: with the floating-point control that a program begins with.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn landing() -> ! {
    naked_asm!(
        "msr fpcr, xzr
        mov x0, #0",
        restore!()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn sum(first: usize, second: u64) -> u64 {
        first as u64 + second
    }

    #[test]
    fn a_call_passes_arguments_and_value_and_ends() {
        let frame = Frame::new();
        for i in 0..1_000 {
            // SAFETY: the function adds its arguments.
            assert_eq!(unsafe { frame.call(sum, 40, i) }, 40 + i);
        }
        assert_eq!((frame.leave(11), frame.ended_by()), (None, 0), "no call is under way");
    }

    #[test]
    fn after_an_ended_call_nothing_is_called() {
        let frame = Frame::new();
        frame.end(11);
        // SAFETY: it is not called.
        assert_eq!(unsafe { frame.call(sum, 40, 2) }, 0);
        assert_eq!((frame.forgive(), frame.ended_by()), (11, 0));
        // SAFETY: the function adds its arguments.
        assert_eq!(unsafe { frame.call(sum, 40, 2) }, 42);
    }
}
