//! A thread that preempts a loop between two of its samples: it has a higher priority on the same CPU and sleeps until
//! the loop wakes it.

use crate::experiment::Preemption;
use crate::kernel::{AnyBody, Body, Memory};
use crate::mapping::Pages;
use anechoic_recording::{Policy, Problem, ProblemKind, in_words};
use anechoic_system::{cpus, rights};
use rustix::io::Errno;
use rustix::thread::futex;
use rustix::time::Timespec;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Its priority under SCHED_FIFO: one above that of loops under SCHED_FIFO.
const PRIORITY: i32 = crate::scheduling::FIFO_PRIORITY + 1;

/// How long it is waited for: a thread of higher priority may hold its CPU.
const PATIENCE: Duration = Duration::from_secs(30);

/// The request to end.
const END: u32 = u32::MAX;

/// The thread, as its loop sees it.
#[derive(Debug)]
pub(crate) struct Preemptor {
    shared: Arc<Shared>,
    handle: Option<JoinHandle<()>>,
    /// What it can do.
    tasks: Vec<Preemption>,
    /// Whether it did not come in time. Then nobody waits for it again.
    missed: AtomicBool,
    /// What the reader of the result must know.
    pub(crate) note: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Number of the requested preemption, from 1; [`END`] to end.
    request: AtomicU32,
    /// Number of the last completed preemption.
    done: AtomicU32,
    /// Index of what to do.
    task: AtomicU32,
    tid: AtomicI32,
}

impl Preemptor {
    /// Starts a thread that can do these tasks on `cpu`.
    ///
    /// # Errors
    /// Fails if there is no thread or no memory for it.
    pub(crate) fn spawn(cpu: u32, tasks: Vec<Preemption>, pages: Pages) -> Result<Self, Problem> {
        let shared = Arc::new(Shared::default());
        let (ready, prepared) = mpsc::channel();
        let (of_thread, todo) = (shared.clone(), tasks.clone());
        let body = move || of_thread.serve(cpu, &todo, pages, &ready);
        let spawned = thread::Builder::new().name(format!("preempt {cpu}")).spawn(body);
        let handle = spawned.map_err(|error| {
            let why = format!("no thread to preempt the loop of CPU {cpu}: {error}");
            ProblemKind::Unavailable
                .problem(why, "raise the limit on processes (ulimit -u, pids.max)")
        })?;
        let late = |_| {
            let why = format!("the preempting thread does not get CPU {cpu}");
            let remedy =
                "end the real-time thread that holds this CPU, or measure another one with --cpus";
            ProblemKind::Unavailable.problem(why, remedy)
        };
        let note = prepared.recv_timeout(PATIENCE).map_err(late)??;
        let missed = AtomicBool::new(false);
        Ok(Preemptor { shared, handle: Some(handle), tasks, missed, note })
    }

    pub(crate) fn tid(&self) -> i32 {
        self.shared.tid.load(Ordering::Acquire)
    }

    /// Returns its scheduling policy, if it has a higher priority than the loop.
    pub(crate) fn policy(&self) -> Option<Policy> {
        self.note.is_none().then(|| Policy::fifo(PRIORITY))
    }

    /// Has the thread take the CPU and do this; returns when the calling loop has the CPU again. Returns false if the
    /// thread did not get the CPU in time.
    pub(crate) fn preempt(&self, how: Preemption) -> bool {
        let Some(task) = self.tasks.iter().position(|task| *task == how) else { return true };
        if self.missed.load(Ordering::Relaxed) {
            return false;
        }
        let Shared { request, done, .. } = &*self.shared;
        self.shared.task.store(task as u32, Ordering::Relaxed);
        let number = request.load(Ordering::Relaxed).wrapping_add(1) % END;
        request.store(number, Ordering::Release);
        wake(request); // a thread of higher priority has the CPU now, and the call returns after it
        loop {
            let last = done.load(Ordering::Acquire);
            if last == number {
                return true;
            }
            // It sleeps itself, or has no higher priority.
            if !sleep_while(done, last, Some(PATIENCE)) {
                self.missed.store(true, Ordering::Relaxed);
                return false;
            }
        }
    }
}

impl Drop for Preemptor {
    fn drop(&mut self) {
        self.shared.request.store(END, Ordering::Release);
        wake(&self.shared.request);
        if !self.missed.load(Ordering::Relaxed) {
            let _ = self.handle.take().map(JoinHandle::join);
        }
    }
}

impl Shared {
    /// Prepares the thread and serves requests until the end.
    fn serve(
        &self,
        cpu: u32,
        tasks: &[Preemption],
        pages: Pages,
        ready: &mpsc::Sender<Result<Option<String>, Problem>>,
    ) {
        self.tid.store(cpus::thread_id(), Ordering::Release);
        let memory = cpus::pin(&[cpu]).and_then(|()| {
            let kernel = |task: &Preemption| task.kernel().into_iter();
            tasks
                .iter()
                .map(|task| Memory::for_largest(kernel(task), pages))
                .collect::<Result<Vec<_>, _>>()
        });
        let mut memory = match memory {
            Ok(memory) => memory,
            Err(error) => return drop(ready.send(Err(error))),
        };
        let prepare = |(task, memory)| {
            Preemption::kernel(task).map(|kernel| AnyBody::prepare(kernel, memory))
        };
        let mut bodies: Vec<Option<AnyBody<'_>>> =
            tasks.iter().zip(&mut memory).map(prepare).collect();
        for (task, body) in tasks.iter().zip(&mut bodies) {
            task.run(body.as_mut());
        }
        let refused = cpus::set_policy(libc::SCHED_FIFO, PRIORITY).err().map(|error| {
            let why = in_words(&error);
            format!(
                "the preempting thread of CPU {cpu} has no higher priority, because the kernel refuses SCHED_FIFO ({why}): \
                 the loop waits for it instead of being preempted; {}",
                rights::fifo_remedy()
            )
        });
        let _ = ready.send(Ok(refused));
        let mut served = 0;
        loop {
            let number = self.request.load(Ordering::Acquire);
            if number == END {
                return;
            }
            if number == served {
                sleep_while(&self.request, number, None);
                continue;
            }
            let task = self.task.load(Ordering::Relaxed) as usize;
            tasks[task].run(bodies[task].as_mut());
            served = number;
            self.done.store(number, Ordering::Release);
            wake(&self.done);
        }
    }
}

impl Preemption {
    /// Does it once.
    fn run(&self, body: Option<&mut AnyBody<'_>>) {
        match (self, body) {
            (Preemption::Sleep(time), _) => thread::sleep(*time),
            (Preemption::Pass(kernel), Some(body)) => drop(black_box(body.run(kernel.pass()))),
            (Preemption::Pass(_), None) => {}
        }
    }
}

pub(super) fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
}

/// Sleeps while the word has this value, for the longest time at most; returns whether that has not passed.
pub(super) fn sleep_while(word: &AtomicU32, value: u32, longest: Option<Duration>) -> bool {
    let longest = longest.and_then(|time| Timespec::try_from(time).ok());
    futex::wait(word, futex::Flags::PRIVATE, value, longest.as_ref()) != Err(Errno::TIMEDOUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use anechoic_kernels::memory::Params;
    use std::time::Instant;

    #[test]
    fn each_request_is_done_before_the_loop_goes_on() {
        let cpu = cpus::allowed()[0];
        let write =
            Kernel::on_memory("write-sequential", Params { bytes: 1 << 20 }).expect("a kernel");
        let tasks = vec![Preemption::Sleep(Duration::from_millis(2)), Preemption::Pass(write)];
        let preemptor = Preemptor::spawn(cpu, tasks.clone(), Pages::Transparent).expect("a thread");
        assert!(preemptor.tid() > 0);
        for number in 1..=20 {
            let begun = Instant::now();
            assert!(preemptor.preempt(tasks[0]));
            assert!(begun.elapsed() >= Duration::from_millis(2));
            assert!(preemptor.preempt(tasks[1]));
            assert_eq!(preemptor.shared.done.load(Ordering::Acquire), 2 * number);
        }
    }
}
