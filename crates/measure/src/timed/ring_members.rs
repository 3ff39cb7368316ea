//! The partners of a ring, its pipes and its token.

use crate::kernel::{AnyBody, Body, Kernel, Memory};
use crate::mapping::Pages;
use crate::scheduling::{FIFO_PRIORITY, block_signals};
use anechoic_recording::switch::Partners;
use anechoic_recording::{Problem, ProblemKind};
use anechoic_system::cpus;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::mem::transmute;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

/// What goes around.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Token {
    /// What to work on.
    pub(super) task: u32,
    /// Number of members that it passes, the loop included.
    pub(super) members: u32,
    /// 1 if the members have the policy SCHED_FIFO.
    pub(super) fifo: u32,
    /// Number of partners that it has passed.
    pub(super) hops: u32,
    /// Number of these whose work returned a wrong value.
    pub(super) wrong: u32,
    /// Number of these that have no memory.
    pub(super) refused: u32,
}

impl Token {
    const BYTES: usize = size_of::<Token>();
    /// Ends a partner.
    const END: Token = Token { task: u32::MAX, ..Token::NONE };
    /// Comes back instead of a token that is lost.
    pub(super) const LOST: Token = Token { task: u32::MAX - 1, ..Token::NONE };
    const NONE: Token = Token { task: 0, members: 0, fifo: 0, hops: 0, wrong: 0, refused: 0 };
}

/// The way of the token to one member.
#[derive(Debug)]
pub(super) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
}

impl Pipe {
    pub(super) fn new() -> rustix::io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Pipe { read, write })
    }

    /// Writes a token; returns whether that succeeded. A pipe has room for many.
    #[inline(always)]
    pub(super) fn give(&self, token: Token) -> bool {
        // SAFETY: a token is plain numbers without padding.
        let bytes: [u8; Token::BYTES] = unsafe { transmute::<Token, [u8; Token::BYTES]>(token) };
        rustix::io::write(&self.write, &bytes) == Ok(Token::BYTES)
    }

    /// Waits for a token.
    #[inline(always)]
    pub(super) fn take(&self) -> Option<Token> {
        let mut bytes = [0; Token::BYTES];
        loop {
            match rustix::io::read(&self.read, &mut bytes) {
                Ok(Token::BYTES) => {
                    // SAFETY: any bytes are a valid token.
                    return Some(unsafe { transmute::<[u8; Token::BYTES], Token>(bytes) });
                }
                Err(Errno::INTR) => {}
                _ => return None,
            }
        }
    }
}

/// All partners.
#[derive(Debug, Default)]
pub(super) struct Members {
    threads: Vec<(i32, JoinHandle<()>)>,
    processes: Vec<Pid>,
}

impl Members {
    /// Starts a partner for each pipe but the first.
    ///
    /// # Errors
    /// Fails if there are no more threads or processes.
    pub(super) fn spawn(
        cpu: u32,
        partners: Partners,
        pipes: &Arc<[Pipe]>,
        tasks: &[Kernel],
        pages: Pages,
    ) -> Result<Self, Problem> {
        let mut members = Members::default();
        for place in 1..pipes.len() {
            let partner = Partner { place, pipes: pipes.clone(), tasks: tasks.to_vec(), pages };
            let spawned = match partners {
                Partners::Threads => members.add_thread(cpu, partner),
                Partners::Processes => members.add_process(&partner),
            };
            if let Err(error) = spawned {
                members.end(cpu, pipes, false);
                let why = format!("no {} for a ring of {}: {error}", partners.name(), pipes.len());
                return Err(ProblemKind::Unavailable
                    .problem(why, "raise the limit on processes (ulimit -u, pids.max)"));
            }
        }
        Ok(members)
    }

    fn add_thread(&mut self, cpu: u32, partner: Partner) -> std::io::Result<()> {
        let (begun, tid) = mpsc::channel();
        let body = move || {
            let _ = begun.send(cpus::thread_id());
            partner.serve();
        };
        let handle = thread::Builder::new().name(format!("ring {cpu}")).spawn(body)?;
        let tid = tid.recv().map_err(|_| std::io::Error::from(std::io::ErrorKind::BrokenPipe))?;
        self.threads.push((tid, handle));
        Ok(())
    }

    fn add_process(&mut self, partner: &Partner) -> std::io::Result<()> {
        let parent = cpus::thread_id();
        // SAFETY: the child has this thread alone. It takes no lock that another thread may have held (that of the C library's
        // allocator is released by `fork`), and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(std::io::Error::last_os_error()),
            0 => partner.live(parent),
            child => {
                self.processes.extend(Pid::from_raw(child));
                Ok(())
            }
        }
    }

    /// Returns the threads of the partners.
    pub(super) fn threads(&self) -> Vec<i32> {
        let processes = self.processes.iter().map(|process| process.as_raw_nonzero().get());
        self.threads.iter().map(|(tid, _)| *tid).chain(processes).collect()
    }

    /// Ends all partners. A thread that may never come to its end is not waited for.
    pub(super) fn end(&mut self, cpu: u32, pipes: &[Pipe], lost: bool) {
        for pipe in pipes.iter().skip(1).take(self.threads.len()) {
            pipe.give(Token::END);
        }
        for (_, handle) in self.threads.drain(..).filter(|_| !lost) {
            let _ = handle.join();
        }
        for process in self.processes.drain(..) {
            let _ = kill_process(process, Signal::KILL);
            // On a CPU that another thread holds it would never end.
            let tid = process.as_raw_nonzero().get();
            let _ = cpus::pin_thread(tid, &cpus::elsewhere(cpu, &cpus::online()));
            while matches!(waitpid(Some(process), WaitOptions::empty()), Err(Errno::INTR)) {}
        }
    }
}

/// One partner.
#[derive(Debug)]
struct Partner {
    /// Its place in the ring, from 1.
    place: usize,
    pipes: Arc<[Pipe]>,
    tasks: Vec<Kernel>,
    pages: Pages,
}

impl Partner {
    /// Lives as a process of its own, which ends with the thread that forked it.
    fn live(&self, parent: i32) -> ! {
        // SAFETY: system calls on this process alone; the name is a C string.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::prctl(libc::PR_SET_NAME, c"ring partner".as_ptr());
            // What the parent has open must not stay open because this process has it too.
            let mut from = 3;
            for keep in self.kept() {
                if keep > from {
                    libc::syscall(libc::SYS_close_range, from, keep - 1, 0);
                }
                from = keep + 1;
            }
            libc::syscall(libc::SYS_close_range, from, libc::c_uint::MAX, 0);
        }
        if parent_is_there(parent) {
            // A panic must not unwind into the code of the parent, to which the token is then lost.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.serve()));
        }
        // SAFETY: ends this process at once, without what the parent would do at its own end.
        unsafe { libc::_exit(0) }
    }

    /// Returns the descriptors that it uses, in ascending order.
    fn kept(&self) -> [libc::c_uint; 3] {
        let next = self.pipes.get(self.place + 1).unwrap_or(&self.pipes[0]);
        let mut kept = [&self.pipes[self.place].read, &next.write, &self.pipes[0].write]
            .map(|fd| fd.as_raw_fd() as libc::c_uint);
        kept.sort_unstable();
        kept
    }

    /// Passes tokens on until the end.
    fn serve(&self) {
        block_signals();
        let own = &self.pipes[self.place];
        let memory = Memory::for_largest(self.tasks.iter().copied(), self.pages);
        let mut next = own.take();
        let Ok(mut memory) = memory else {
            while let Some(token) =
                next.filter(|token| self.tasks.get(token.task as usize).is_some())
            {
                self.give(Token { refused: token.refused + 1, ..token });
                next = own.take();
            }
            return;
        };
        while let Some(token) = next {
            next = self.work(token, &mut memory);
        }
    }

    /// Works on the task of a token until one comes with another task, which is returned; `None` at the end.
    fn work(&self, first: Token, memory: &mut Memory) -> Option<Token> {
        let kernel = *self.tasks.get(first.task as usize)?;
        // The loop found out that it may have its policy.
        let _ = match first.fifo {
            0 => cpus::set_policy(libc::SCHED_OTHER, 0),
            _ => cpus::set_policy(libc::SCHED_FIFO, FIFO_PRIORITY),
        };
        let mut body = AnyBody::prepare(kernel, memory);
        let (pass, expected) = (kernel.pass(), kernel.expected(kernel.pass()));
        let mut token = first;
        loop {
            token.wrong += u32::from(body.run(pass) != expected);
            token.hops += 1;
            self.give(token);
            token = self.pipes[self.place].take()?;
            if (token.task, token.fifo) != (first.task, first.fifo) {
                return Some(token);
            }
        }
    }

    /// Writes a token to the next member.
    #[inline(always)]
    fn give(&self, token: Token) {
        let last = self.place + 1 >= token.members as usize;
        self.pipes[if last { 0 } else { self.place + 1 }].give(token);
    }
}

/// Returns whether the process of the parent thread still runs, so that its end is noticed.
fn parent_is_there(thread: i32) -> bool {
    // SAFETY: sends no signal; asks for the existence of a thread of the parent.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getppid(), thread, 0) == 0 }
}
