//! The CPUs: starts the others, lets some of them work at the same time, and keeps the rest halted with interrupts off.
//!
//! A halted CPU wakes at an NMI, which needs no interrupt to be allowed. It begins to work when its NMI has arrived, so that
//! none falls into the work.

use crate::acpi::Acpi;
use crate::apic::{Command, Controller};
use crate::clock::Clock;
use crate::cpu;
use crate::failure;
use crate::interrupts::{self, State};
use crate::trampoline::Trampoline;
use anechoic_kernels::counter;
use core::fmt;
use core::hint::spin_loop;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

const STACK: usize = 64 << 10;
/// How long a CPU may take from INIT to its first instruction, before that is sent again, and until it counts as missing.
const INIT_NS: u64 = 10_000_000;
const AGAIN_NS: u64 = 300_000;
const MISSING_NS: u64 = 500_000_000;

/// A CPU.
#[repr(C)]
pub struct Member {
    state: State,
    stack: [u8; STACK],
    /// Number of its interrupt controller.
    id: u32,
    /// Whether it waits for work.
    is_ready: AtomicBool,
    /// Whether its controller shall be used by model-specific registers.
    by_registers: bool,
    /// The work that it shall do next, or is doing; null if there is none.
    job: AtomicPtr<Job>,
    /// Its place among the CPUs that do the same work.
    place: AtomicUsize,
}

/// Work of several CPUs at the same time.
struct Job {
    call: unsafe fn(*const (), usize),
    data: *const (),
    /// CPUs that have not ended it yet.
    left: AtomicUsize,
}

/// All CPUs. CPU 0 is the one that runs the image.
pub struct Crew {
    members: &'static [Member],
    controller: Option<Controller>,
}

/// The state of the first CPU, for the others.
static FIRST: AtomicPtr<Member> = AtomicPtr::new(ptr::null_mut());

impl Crew {
    /// Begins with the CPU that runs this. The others are described by their memory, one for each
    /// CPU of `acpi`. If the whole machine is the image's, the first CPU's interrupt controller may change its mode.
    ///
    /// # Panics
    /// Panics if there is no memory for the first CPU.
    #[must_use]
    pub fn begin(
        acpi: &Acpi,
        memory: &'static mut [MaybeUninit<Member>],
        owns_machine: bool,
    ) -> Self {
        let members: *mut Member = memory.as_mut_ptr().cast();
        let count = acpi.ids().len().min(memory.len());
        for (at, &id) in acpi.ids()[..count].iter().enumerate() {
            // SAFETY: the memory has room for this one; zeros are valid in all fields.
            unsafe {
                let member = members.add(at);
                ptr::write_bytes(member, 0, 1);
                (*member).id = id;
            }
        }
        assert!(count > 0, "there is no memory for a CPU");
        FIRST.store(members, Ordering::Release);
        // SAFETY: the first member is this CPU; all were initialized above, and stay in memory.
        let members = unsafe {
            interrupts::install(&raw mut (*members).state);
            core::slice::from_raw_parts(members, count)
        };
        if owns_machine {
            // SAFETY: nothing but the image uses it.
            unsafe { Controller::prefer_registers() };
        }
        let controller = Controller::find();
        interrupts::uninstall();
        Crew { members, controller }
    }

    /// Puts the tables of the first CPU into use, until [`interrupts::uninstall`].
    pub fn install(&self) {
        // SAFETY: it is this CPU's state, which stays in memory.
        unsafe { interrupts::install((&raw const self.members[0].state).cast_mut()) };
    }

    /// Returns the controller of the first CPU.
    #[must_use]
    pub fn controller(&self) -> Option<Controller> {
        self.controller
    }

    /// Returns the number of the interrupt controller of a CPU.
    #[must_use]
    pub fn id(&self, cpu: usize) -> u32 {
        self.members[cpu].id
    }

    /// Starts a CPU. It halts until there is work.
    ///
    /// # Errors
    /// Fails if the CPU does not answer or cannot be reached.
    pub fn start(
        &self,
        cpu: usize,
        clock: &Clock,
        trampoline: &mut Trampoline,
    ) -> Result<(), &'static str> {
        let member = &self.members[cpu];
        let controller = self.controller.ok_or("the interrupt controller is switched off")?;
        if !controller.reaches(member.id) {
            return Err("its number is beyond what the interrupt controller can name");
        }
        let wait = |ns: u64| {
            let end = counter::now() + clock.ticks(ns);
            while counter::now() < end && !member.is_ready.load(Ordering::Acquire) {
                spin_loop();
            }
            member.is_ready.load(Ordering::Acquire)
        };
        let stack = (&raw const member.stack as u64 + STACK as u64) & !15;
        trampoline.prepare(stack, begin, ptr::from_ref(member).addr() as u64);
        // SAFETY: the CPU has done nothing but wait for the firmware; its memory is prepared.
        unsafe {
            let by_registers = controller == Controller::Registers;
            (&raw const member.by_registers).cast_mut().write_volatile(by_registers);
            controller.send(member.id, Command::Init);
            wait(INIT_NS);
            controller.send(member.id, Command::StartAt(trampoline.number()));
            if !wait(AGAIN_NS) {
                controller.send(member.id, Command::StartAt(trampoline.number()));
            }
        }
        if wait(MISSING_NS) {
            return Ok(());
        }
        // It must not come later: the next CPU gets the stack that the trampoline then names.
        // SAFETY: the CPU goes back to waiting for its start.
        unsafe { controller.send(member.id, Command::Init) };
        Err("it does not start")
    }

    /// Lets each of these CPUs do `work` on its own seat, all at the same time. The others stay halted, and this CPU too if it
    /// is not one of them.
    pub fn each<S: Send>(&self, cpus: &[usize], seats: &mut [S], work: impl Fn(&mut S) + Sync) {
        /// What the CPUs do, on which seats.
        struct Shared<'w, S, W>(*mut S, &'w W);
        /// # Safety
        /// `data` must be a `Shared`, and nobody else use its seat of this number.
        unsafe fn call<S, W: Fn(&mut S)>(data: *const (), place: usize) {
            // SAFETY: the caller vouches for both.
            unsafe {
                let Shared(seats, work) = &*data.cast::<Shared<'_, S, W>>();
                work(&mut *seats.add(place));
            }
        }
        fn call_of<S, W: Fn(&mut S)>(_: &W) -> unsafe fn(*const (), usize) {
            call::<S, W>
        }
        assert!(cpus.len() <= seats.len(), "each CPU has a seat");
        let shared = Shared(seats.as_mut_ptr(), &work);
        let left = AtomicUsize::new(cpus.len() + usize::from(!cpus.contains(&0)));
        let job = Job { call: call_of::<S, _>(&work), data: (&raw const shared).cast(), left };
        let nmis = interrupts::delivered()[1];
        for (place, &cpu) in cpus.iter().enumerate().filter(|(_, cpu)| **cpu > 0) {
            let member = &self.members[cpu];
            member.place.store(place, Ordering::Relaxed);
            member.job.store((&raw const job).cast_mut(), Ordering::Release);
            let controller = self.controller.expect("a CPU was started with it");
            // SAFETY: the CPU waits for this.
            unsafe { controller.send(member.id, Command::Nmi) };
        }
        if let Some(place) = cpus.iter().position(|&cpu| cpu == 0) {
            // SAFETY: the data is what `call` expects, and the place is this CPU's.
            unsafe { (job.call)(job.data, place) };
        }
        if job.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            let mut seen = nmis;
            while job.left.load(Ordering::Acquire) > 0 {
                interrupts::sleep(seen);
                seen = interrupts::delivered()[1];
                failure::pass_on();
            }
            // The last CPU sends its NMI after it has ended the work.
            interrupts::sleep(nmis);
        }
    }
}

/// Returns whether the CPU that runs this is the first one.
#[must_use]
pub fn is_first() -> bool {
    // SAFETY: what was stored stays in memory.
    let first = unsafe { FIRST.load(Ordering::Acquire).as_ref() };
    first.is_none_or(|first| first.id == cpu::controller_id())
}

/// Leaves the text of a fault on this CPU to the first one, and stops this one.
pub fn leave_to_first(text: fmt::Arguments<'_>) -> ! {
    failure::keep(text);
    wake_first();
    cpu::stop()
}

/// Wakes the first CPU, for another one.
fn wake_first() {
    // SAFETY: it was stored before any other CPU began, and stays in memory.
    let first = unsafe { &*FIRST.load(Ordering::Acquire) };
    if let Some(controller) = Controller::find() {
        // SAFETY: the first CPU waits for this.
        unsafe { controller.send(first.id, Command::Nmi) };
    }
}

/// Where another CPU comes from the trampoline.
extern "C" fn begin(member: u64) -> ! {
    let member = member as *mut Member;
    // SAFETY: the memory of this CPU and of the first one, which stay in memory.
    let member = unsafe {
        let first = FIRST.load(Ordering::Acquire);
        interrupts::join(&raw mut (*member).state, &raw const (*first).state);
        &*member
    };
    if member.id != cpu::controller_id() {
        cpu::stop(); // it came so late that another CPU is being started
    }
    if member.by_registers {
        // SAFETY: nothing else runs on this CPU.
        unsafe { Controller::prefer_registers() };
    }
    let mut nmis = interrupts::delivered()[1];
    member.is_ready.store(true, Ordering::Release);
    loop {
        interrupts::sleep(nmis);
        nmis = interrupts::delivered()[1];
        let job = member.job.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: the first CPU keeps it until all have ended it.
        let Some(job) = (unsafe { job.as_ref() }) else { continue };
        // SAFETY: the first CPU has put the place beside the job.
        unsafe { (job.call)(job.data, member.place.load(Ordering::Relaxed)) };
        if job.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            wake_first();
        }
    }
}
