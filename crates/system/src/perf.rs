//! perf events: the kernel's own clock conversion, timer interrupts of known rate, and what a thread's memory accesses cost.

mod calls;
mod counts;
pub(crate) mod mappings;

pub use calls::SystemCalls;
pub use counts::{Counted, Counts};

use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_DUMMY, PERF_TYPE_SOFTWARE, perf_event_attr,
    perf_event_mmap_page,
};
use std::io;
use std::num::NonZeroI32;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// Opens an event for a thread (0 = the caller's) and CPU (−1 = any).
pub(crate) fn open(attr: &mut perf_event_attr, pid: i32, cpu: i32) -> io::Result<OwnedFd> {
    attr.size = size_of::<perf_event_attr>() as u32;
    // SAFETY: `attr` is valid and has its size set; the kernel checks the rest.
    let fd = unsafe { perf_event_open_sys::perf_event_open(attr, pid, cpu, -1, 8) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor (8 = close on exec).
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn software(config: u32) -> perf_event_attr {
    let mut attr = perf_event_attr::default();
    attr.type_ = PERF_TYPE_SOFTWARE;
    attr.config = config.into();
    attr
}

/// Returns the rate of the counter by the kernel's own conversion, in thousandths of a hertz.
///
/// The mmap page of any perf event has `time_mult` and `time_shift`: ns = ticks × mult / 2^shift. Returns
/// `None` if perf events are refused or the kernel does not keep time by this counter.
#[must_use]
pub(crate) fn counter_frequency_millihertz() -> Option<u64> {
    let mut attr = software(PERF_COUNT_SW_DUMMY);
    attr.set_exclude_kernel(1); // all that an unprivileged user may request
    attr.set_exclude_hv(1);
    let fd = open(&mut attr, 0, -1).ok()?;
    let length = rustix::param::page_size();
    // SAFETY: a new read-only mapping of the event's control page.
    let page = unsafe {
        rustix::mm::mmap(
            ptr::null_mut(),
            length,
            rustix::mm::ProtFlags::READ,
            rustix::mm::MapFlags::SHARED,
            &fd,
            0,
        )
    }
    .ok()?;
    // SAFETY: the kernel keeps a perf_event_mmap_page at the start of the mapping.
    let (usable, mult, shift) = unsafe {
        let page = page.cast::<perf_event_mmap_page>();
        let flags = &(*page).__bindgen_anon_1.__bindgen_anon_1;
        (flags.cap_user_time() == 1, (*page).time_mult, (*page).time_shift)
    };
    // SAFETY: the mapping made above, which is no longer used.
    let _ = unsafe { rustix::mm::munmap(page, length) };
    if !usable || mult == 0 || shift > 63 {
        return None;
    }
    u64::try_from((1_000_000_000_000_u128 << shift) / u128::from(mult)).ok()
}

/// Additional timer interrupts on one CPU, from a sampling `cpu-clock` event whose samples nobody reads.
///
/// It needs no kernel module. The kernel skips periods that it is late for, so delivered interrupts are
/// counted from `hrtimer_expire` of the event's timer. They end when this is dropped or with the process.
#[derive(Debug)]
pub struct TimerInterrupts {
    event: OwnedFd,
}

impl TimerInterrupts {
    /// Interrupts `cpu` every `period_ns` from now on (the kernel's minimum is 10 µs).
    ///
    /// # Errors
    /// Returns the errors of [`TimerInterrupts::open`].
    pub fn start(cpu: u32, period_ns: u64) -> io::Result<Self> {
        let interrupts = TimerInterrupts::open(cpu, period_ns)?;
        interrupts.set(true)?;
        Ok(interrupts)
    }

    /// Opens the interrupts without starting them.
    ///
    /// # Errors
    /// Returns the kernel's error if this process may not use perf events of a CPU (needs root,
    /// `CAP_PERFMON`, or `kernel.perf_event_paranoid` below 1).
    pub fn open(cpu: u32, period_ns: u64) -> io::Result<Self> {
        let mut attr = software(PERF_COUNT_SW_CPU_CLOCK);
        attr.__bindgen_anon_1.sample_period = period_ns;
        attr.set_disabled(1);
        let cpu = i32::try_from(cpu).map_err(|_| io::ErrorKind::InvalidInput)?;
        Ok(TimerInterrupts { event: open(&mut attr, -1, cpu)? })
    }

    /// Attaches a BPF program, which then runs in each interrupt.
    ///
    /// # Errors
    /// Fails if the event already has a program, or if the program is of another kind.
    pub fn attach(&self, program: &OwnedFd) -> io::Result<()> {
        let (fd, program) = (self.event.as_raw_fd(), program.as_raw_fd());
        // SAFETY: both descriptors are open; the kernel takes its own reference to the program.
        let done = unsafe { perf_event_open_sys::ioctls::SET_BPF(fd, program as u32) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Switches the interrupts on for at most `count` more of them than were allowed so far, and then off. The kernel
    /// counts, so they end even if this process is stopped. A program of the event counts if it returns 1; before Linux
    /// 6.11, whatever it returns.
    ///
    /// # Errors
    /// Fails if the CPU is gone.
    pub fn allow(&self, count: NonZeroI32) -> io::Result<()> {
        // SAFETY: adds to the limit of the event of a descriptor that we own.
        let done =
            unsafe { perf_event_open_sys::ioctls::REFRESH(self.event.as_raw_fd(), count.get()) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Switches the interrupts on, without an end, or off.
    ///
    /// # Errors
    /// Fails if the CPU is gone.
    pub fn set(&self, on: bool) -> io::Result<()> {
        let fd = self.event.as_raw_fd();
        // SAFETY: switches the event of a descriptor that we own.
        let done = unsafe {
            match on {
                true => perf_event_open_sys::ioctls::ENABLE(fd, 0),
                false => perf_event_open_sys::ioctls::DISABLE(fd, 0),
            }
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
