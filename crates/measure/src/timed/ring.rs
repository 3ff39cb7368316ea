//! A ring of threads or processes on the CPU of a loop, which pass a token through pipes.
//!
//! The loop is the first member. Each of the others sleeps in a read of its own pipe until it has the token, passes over its
//! own working set, and writes the token into the pipe of the next. The token names what to work on, so that threads and
//! processes share nothing else.

use super::ring_members::{Members, Pipe, Token};
use crate::experiment::Ring as Plan;
use crate::kernel::{Body, Kernel};
use crate::mapping::Pages;
use crate::timed::gate::Gate;
use anechoic_kernels::counter;
use anechoic_recording::switch::Partners;
use anechoic_recording::{Problem, ProblemKind};
use anechoic_system::cpus;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A token that has not come back after one to two of these is lost: a partner was killed or stopped, or a thread of higher
/// priority holds the CPU.
const PATIENCE: Duration = Duration::from_secs(5);

/// The partners of a loop, of one kind.
#[derive(Debug)]
pub(crate) struct Ring {
    cpu: u32,
    partners: Partners,
    /// What the members can work on.
    tasks: Vec<Kernel>,
    /// The pipe of each member; the first is the loop's.
    pipes: Arc<[Pipe]>,
    members: Members,
    progress: Arc<Progress>,
    /// Ends the thread that looks for lost tokens when it is dropped.
    end: Option<mpsc::Sender<()>>,
    watch: Option<JoinHandle<()>>,
}

/// What the thread that looks for lost tokens sees of the ring.
#[derive(Debug, Default)]
struct Progress {
    /// Number of times that the loop sent the token or got it back: odd while it waits.
    crossings: AtomicU64,
    /// Whether a token was lost. Then nobody waits for it again.
    lost: AtomicBool,
}

impl Ring {
    /// Starts the partners of the largest of these rings on `cpu`, to which the calling thread is pinned, and sends a token
    /// around.
    ///
    /// # Errors
    /// Fails if there are no such threads or processes, no memory or no pipes for them, or if they do not get the CPU.
    pub(crate) fn spawn(
        cpu: u32,
        (partners, size): (Partners, u32),
        tasks: Vec<Kernel>,
        pages: Pages,
    ) -> Result<Self, Problem> {
        let pipes: Result<Arc<[Pipe]>, _> = (0..size.max(1)).map(|_| Pipe::new()).collect();
        let pipes = pipes.map_err(|error| {
            let why = format!("no pipes for a ring of {size}: {error}");
            ProblemKind::Unavailable.problem(why, "raise the limit on open files (ulimit -n)")
        })?;
        let members = Members::spawn(cpu, partners, &pipes, &tasks, pages)?;
        let progress = Arc::new(Progress::default());
        let mut ring =
            Ring { cpu, partners, tasks, pipes, members, progress, end: None, watch: None };
        ring.watch()?;
        // Each member allocates its memory before it passes the first token on.
        let first = Token { members: size, ..Token::default() };
        match ring.send_around(first) {
            Some(Token { refused: 0, .. }) => Ok(ring),
            Some(_) => {
                let why = format!("no memory for the working sets of a ring of {size}");
                Err(ProblemKind::Unavailable
                    .problem(why, "use fewer members or smaller working sets"))
            }
            None => {
                let why = ring.lost().unwrap_or_default();
                let remedy = "end the real-time thread that holds this CPU, or measure another one with --cpus";
                Err(ProblemKind::Unavailable.problem(why, remedy))
            }
        }
    }

    /// Returns what its members are.
    pub(crate) fn partners(&self) -> Partners {
        self.partners
    }

    /// Returns the threads of the partners.
    pub(crate) fn threads(&self) -> Vec<i32> {
        self.members.threads()
    }

    /// Returns what happened to the token, if it is lost.
    pub(crate) fn lost(&self) -> Option<String> {
        self.progress.lost.load(Ordering::Acquire).then(|| {
            let cpu = self.cpu;
            format!("the token of the ring on CPU {cpu} did not come back in {PATIENCE:?}: a partner was ended or stopped, or did not get the CPU")
        })
    }

    /// Returns how a series goes around.
    pub(super) fn circle(&self, plan: Plan, kernel: Kernel, fifo: bool) -> Option<Circle<'_>> {
        let task = self.tasks.iter().position(|task| *task == kernel)? as u32;
        let token =
            Token { task, members: plan.members, fifo: u32::from(fifo), ..Token::default() };
        Some(Circle { ring: self, plan, token })
    }

    /// Sends a token around and returns it when it comes back; `None` if it is lost.
    fn send_around(&self, token: Token) -> Option<Token> {
        let to = self.pipes.get(1).unwrap_or(&self.pipes[0]);
        self.pass(token, to)
    }

    /// Writes a token into a pipe and waits for the one that comes back.
    #[inline(always)]
    fn pass(&self, token: Token, to: &Pipe) -> Option<Token> {
        let Progress { crossings, lost } = &*self.progress;
        if lost.load(Ordering::Relaxed) {
            return None;
        }
        let before = crossings.load(Ordering::Relaxed);
        crossings.store(before + 1, Ordering::Release);
        let back = if to.give(token) { self.pipes[0].take() } else { None };
        crossings.store(before + 2, Ordering::Release);
        match back {
            Some(back) if back.task == token.task => Some(back),
            _ => {
                lost.store(true, Ordering::Release);
                None
            }
        }
    }

    /// Starts the thread that looks for lost tokens, on another CPU where there is one.
    fn watch(&mut self) -> Result<(), Problem> {
        let (end, ended) = mpsc::channel();
        let (progress, pipes, cpu) = (self.progress.clone(), self.pipes.clone(), self.cpu);
        let body = move || {
            let _ = cpus::pin(&cpus::elsewhere(cpu, &cpus::online())); // stays if there is no other
            let mut last = 0;
            while ended.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                let now = progress.crossings.load(Ordering::Acquire);
                if now == last && now % 2 == 1 {
                    pipes[0].give(Token::LOST);
                }
                last = now;
            }
        };
        let spawned = thread::Builder::new().name(format!("ring watch {cpu}")).spawn(body);
        self.watch = Some(spawned.map_err(|error| cpus::no_thread(cpu, &error))?);
        self.end = Some(end);
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.watch.take().map(JoinHandle::join);
        self.members.end(self.cpu, &self.pipes, self.progress.lost.load(Ordering::Acquire));
    }
}

/// How a series goes around in its ring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circle<'r> {
    ring: &'r Ring,
    plan: Plan,
    token: Token,
}

impl<'r> Circle<'r> {
    /// Has the partners prepare their working sets.
    pub(super) fn prepare(&self) {
        if self.plan.switches {
            let _ = self.ring.send_around(self.token); // one that is lost ends the series with its first sample
        }
    }

    /// Extends a kernel by the way around.
    pub(super) fn around<B: Body>(self, body: B, gate: &'r Gate) -> Around<'r, B> {
        Around { body, circle: self, gate }
    }
}

/// A kernel whose every call goes once around the ring.
#[derive(Debug)]
pub(super) struct Around<'r, B> {
    body: B,
    circle: Circle<'r>,
    gate: &'r Gate,
}

impl<B: Body> Body for Around<'_, B> {
    #[inline(always)]
    fn run(&mut self, iterations: u64) -> u64 {
        let Circle { ring, plan, token } = self.circle;
        let value = self.body.run(iterations);
        let whole = if plan.switches {
            match ring.send_around(token) {
                Some(back) => back.hops == plan.members - 1 && back.wrong == 0,
                None => self.end(),
            }
        } else {
            let mut same = true;
            for hop in 0..plan.members {
                same &= hop == 0 || self.body.run(iterations) == value;
                same &= ring.pass(token, &ring.pipes[0]).is_some() || self.end();
            }
            same
        };
        if whole { value } else { !value }
    }
}

impl<B> Around<'_, B> {
    /// Ends the series, because the token is lost.
    #[cold]
    fn end(&self) -> bool {
        self.gate.end.store(counter::now(), Ordering::Release);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_kernels::memory::Params;

    fn ring(partners: Partners, size: u32) -> Ring {
        let cpu = cpus::allowed()[0];
        cpus::pin(&[cpu]).expect("it may run there");
        let read =
            |bytes| Kernel::on_memory("read-sequential", Params { bytes }).expect("a kernel");
        let tasks = vec![Kernel::find("empty").expect("a kernel"), read(4096), read(65536)];
        Ring::spawn(cpu, (partners, size), tasks, Pages::Base).expect("partners")
    }

    #[test]
    fn the_token_passes_every_member_once_and_each_does_its_work() {
        for partners in Partners::ALL {
            let ring = ring(partners, 5);
            assert_eq!(ring.threads().len(), 4);
            for task in [0, 2, 1, 0, 0] {
                for members in [2, 3, 5] {
                    let back = ring.send_around(Token { task, members, ..Token::default() });
                    let back = back.expect("it comes back");
                    assert_eq!((back.hops, back.wrong, back.refused), (members - 1, 0, 0));
                }
            }
        }
    }

    #[test]
    fn a_token_that_a_killed_partner_has_is_not_waited_for() {
        let ring = ring(Partners::Processes, 3);
        let partner = rustix::process::Pid::from_raw(ring.threads()[1]).expect("a process");
        rustix::process::kill_process(partner, rustix::process::Signal::KILL).expect("it is ours");
        let token = Token { members: 3, ..Token::default() };
        assert_eq!(ring.send_around(token), None);
        assert!(ring.lost().is_some_and(|why| why.contains("did not come back")));
        assert_eq!(ring.send_around(token), None, "and at once");
    }
}
