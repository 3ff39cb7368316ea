//! A second context on the same CPU: a stack of its own, and what it does whenever the first one switches to it. That is a
//! preemption without an interrupt, a scheduler or a kernel: what remains of it is what the second context does to the
//! caches.

use anechoic_kernels::memory::Line;
use core::arch::global_asm;
use core::marker::PhantomData;
use core::ptr;

/// Lines of memory that are enough for a stack.
pub const STACK_LINES: usize = 256;

global_asm!(
    // Keeps the registers that a call must not change on the stack, and the stack's address at RDI. Goes on where the
    // context whose stack is at RSI has called this, with RDX as what that call returns. No code changes the control bits
    // of MXCSR and of the floating-point unit, which a call must keep as well.
    ".global switch_context",
    "switch_context:",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov qword ptr [rdi], rsp",
    "mov rsp, rsi",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "mov rax, rdx",
    "ret",
    // Where a context begins that has called nothing yet. Its stack is empty.
    ".global begin_context",
    "begin_context:",
    "mov rdi, rax",
    "call {serve}",
    "ud2",
    serve = sym serve,
);

unsafe extern "C" {
    fn switch_context(keep: *mut u64, stack: u64, pass: *mut u8) -> *mut u8;
    fn begin_context();
}

/// What [`switch_context`] takes from a stack: six registers, then where it goes on.
const FRAME: usize = 7;

/// A second context, as the first one sees it.
pub struct Context<'w> {
    /// Where the stack of the second context ends while the first one runs.
    own: u64,
    /// The same of the first context.
    first: u64,
    work: &'w mut dyn FnMut(),
    stack: PhantomData<&'w mut [Line]>,
}

impl<'w> Context<'w> {
    /// Prepares a context that has this stack and does `work` each time.
    ///
    /// # Panics
    /// Panics if the stack has no room for what a switch keeps.
    #[must_use]
    pub fn new(stack: &'w mut [Line], work: &'w mut dyn FnMut()) -> Self {
        let end = stack.as_mut_ptr_range().end.cast::<u64>();
        assert!(size_of_val(stack) >= 8 * FRAME, "a stack is larger than this");
        // SAFETY: the frame lies within the stack, as asserted above.
        let frame = unsafe {
            let frame = end.sub(FRAME).cast::<[u64; FRAME]>();
            *frame = [0; FRAME];
            (*frame)[FRAME - 1] = begin_context as *const () as u64;
            frame
        };
        Context { own: frame as u64, first: 0, work, stack: PhantomData }
    }

    /// Lets the second context do its work once. It returns when that one has switched back.
    pub fn switch_to(&mut self) {
        let this = ptr::from_mut(self);
        // SAFETY: the stack is the second context's, which is in `switch_context` or has not begun. It switches back to
        // what is kept here.
        unsafe { switch_context(&raw mut (*this).first, (*this).own, this.cast()) };
    }
}

/// Where the second context begins: it does its work and switches back, each time that the first one switches to it.
extern "C" fn serve(mut context: *mut u8) -> ! {
    loop {
        // SAFETY: the first context waits in `switch_to`, and passes where its `Context` is now.
        context = unsafe {
            let this = context.cast::<Context<'_>>();
            ((*this).work)();
            switch_context(&raw mut (*this).own, (*this).first, context)
        };
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use core::arch::asm;
    use std::boxed::Box;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn the_work_is_done_on_its_own_stack_at_each_switch() {
        let mut stack = vec![Line::ZERO; STACK_LINES];
        let range = stack.as_ptr_range();
        let (mut begun, mut places) = (0, Vec::new());
        let mut work = || {
            let local = 0_u64;
            begun += 1;
            places.push(&raw const local as usize);
        };
        let mut context = Context::new(&mut stack, &mut work);
        (0..1000).for_each(|_| context.switch_to());
        // It may move while it waits.
        let mut moved = Box::new(context);
        moved.switch_to();
        drop(moved);
        assert_eq!(begun, 1001);
        let own = (range.start as usize)..(range.end as usize);
        assert!(places.iter().all(|place| own.contains(place)));
    }

    global_asm!(
        // A second context that changes all registers which a call must keep, and ends at a fault unless a switch keeps its
        // own. It gets the addresses of both stacks.
        "greedy_context:",
        "mov rdi, rax",
        "mov rsi, qword ptr [rax + 8]",
        "mov rdx, rax",
        "mov rbx, -1",
        "mov rbp, -2",
        "mov r12, -3",
        "mov r13, -4",
        "mov r14, -5",
        "mov r15, -6",
        "call switch_context",
        "add rbx, rbp",
        "add rbx, r12",
        "add rbx, r13",
        "add rbx, r14",
        "add rbx, r15",
        "cmp rbx, -21",
        "je greedy_context",
        "ud2",
    );

    unsafe extern "C" {
        fn greedy_context();
    }

    #[test]
    fn a_switch_keeps_what_a_call_must_keep() {
        let mut stack = vec![Line::ZERO; STACK_LINES];
        let mut work = || {};
        let context = Context::new(&mut stack, &mut work);
        let mut stacks = [context.own, 0];
        // SAFETY: the frame that `Context::new` has made, of which the last word is where the context begins.
        unsafe {
            (context.own as *mut u64).add(FRAME - 1).write(greedy_context as *const () as u64)
        };
        for _ in 0..3 {
            let mut found = [0_u64; 6];
            // SAFETY: the stack is aligned for the call; all registers that change are named or kept on the stack.
            unsafe {
                asm!(
                    "push rbx",
                    "push rbp",
                    "mov rcx, rsp",
                    "and rsp, -16",
                    "push rcx",
                    "push r8",
                    "mov rbx, 11",
                    "mov rbp, 12",
                    "mov r12, 13",
                    "mov r13, 14",
                    "mov r14, 15",
                    "mov r15, 16",
                    "call {switch}",
                    "pop r8",
                    "mov qword ptr [r8], rbx",
                    "mov qword ptr [r8 + 8], rbp",
                    "mov qword ptr [r8 + 16], r12",
                    "mov qword ptr [r8 + 24], r13",
                    "mov qword ptr [r8 + 32], r14",
                    "mov qword ptr [r8 + 40], r15",
                    "pop rsp",
                    "pop rbp",
                    "pop rbx",
                    switch = sym switch_context,
                    in("r8") found.as_mut_ptr(),
                    in("rdi") &raw mut stacks[1],
                    in("rsi") stacks[0],
                    in("rdx") stacks.as_mut_ptr(),
                    out("r12") _, out("r13") _, out("r14") _, out("r15") _,
                    clobber_abi("C"),
                );
            }
            assert_eq!(found, [11, 12, 13, 14, 15, 16]);
        }
    }
}
