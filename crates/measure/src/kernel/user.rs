//! A user's own function as a work kernel: `./kernel.so:step`.
//!
//! The file exports `uint64_t step(void *workspace, uint64_t units)`, and may export
//!
//! - `size_t step_bytes(void)`: the size of the workspace, without which it is NULL;
//! - `int step_prepare(void *workspace)`: fills it, and returns 0;
//! - `int step_check(uint64_t units, uint64_t value)`: returns 0 if `step` must not return this value.

mod crash;

use anechoic_kernels::counter;
use anechoic_kernels::foreign::{Frame, Function, nothing};
use anechoic_recording::{Clock, Library, Problem, ProblemKind};
use anechoic_system::shared_object::SharedObject;
pub(crate) use crash::{Failure, end_call_of, failure};
use std::ffi::c_void;
use std::hint::black_box;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The largest workspace, in bytes.
const MOST_BYTES: u64 = 64 << 30;

/// A function of a user's file, which stays loaded until the end of the process.
#[derive(Debug)]
pub struct UserKernel {
    /// The file and the function, as the user wrote them.
    pub(crate) id: &'static str,
    pub(crate) library: Library,
    /// Size of the workspace in bytes.
    pub(crate) bytes: u64,
    step: Function,
    prepare: Option<Function>,
    check: Option<Function>,
}

/// All functions that were loaded.
static LOADED: Mutex<Vec<&UserKernel>> = Mutex::new(Vec::new());

/// Loads a function, or returns it if it was loaded before.
///
/// # Errors
/// Fails if the file cannot be loaded, or has no such function.
pub(crate) fn find(id: &'static str) -> Result<&'static UserKernel, Problem> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = loaded.iter().find(|known| known.id == id) {
        return Ok(known);
    }
    let kernel = Box::leak(Box::new(load(id).map_err(|problem| problem.about(id))?));
    loaded.push(kernel);
    Ok(kernel)
}

/// Returns whether a user's function was loaded.
pub(crate) fn any_loaded() -> bool {
    !LOADED.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
}

fn load(id: &'static str) -> Result<UserKernel, Problem> {
    let (file, name) = id.rsplit_once(':').unwrap_or((id, ""));
    let object = SharedObject::open(Path::new(file))?;
    let step = function(object.function(name)?);
    let other = |suffix: &str| object.find(&format!("{name}_{suffix}")).map(function);
    crash::catch();
    let bytes = other("bytes").map_or(Ok(0), |bytes| {
        let frame = crash::frame();
        crash::call_next(name, "_bytes");
        // SAFETY: the frame is that of this thread. The function takes no arguments, by the interface that its user keeps.
        let bytes = unsafe { (*frame).call(bytes, 0, 0) };
        crash::failure().map_or(Ok(bytes), |failure| Err(failure.problem("when it was loaded")))
    })?;
    if bytes > MOST_BYTES {
        let gib = bytes.div_ceil(1 << 30);
        let why = format!("{name}_bytes asks for a workspace of {gib} GiB");
        return Err(
            ProblemKind::Usage.problem(why, format!("use at most {} GiB", MOST_BYTES >> 30))
        );
    }
    let file = Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let library = Library { file, sha256: object.sha256.clone() };
    Ok(UserKernel { id, library, bytes, step, prepare: other("prepare"), check: other("check") })
}

/// Converts the address of a function; the types of all are alike for the calling convention.
fn function(address: NonNull<c_void>) -> Function {
    // SAFETY: the address is that of a function, which has this interface if its user keeps it.
    unsafe { std::mem::transmute::<*mut c_void, Function>(address.as_ptr()) }
}

/// A user's function with its workspace, on the thread that prepared it.
#[derive(Debug)]
pub(crate) struct UserBody<'g> {
    kernel: &'static UserKernel,
    workspace: usize,
    /// The state of calls of this thread.
    frame: *const Frame,
    /// A number of units and the value that is right for it.
    right: Option<(u64, u64)>,
    /// The counter value at which the round ends: at once, if the function does.
    end: Option<&'g AtomicU64>,
}

impl UserBody<'_> {
    /// Prepares the workspace at this address, unless that was done. If it fails, no call does anything, and
    /// [`crash::failure`] has the reason.
    pub(crate) fn prepare(
        kernel: &'static UserKernel,
        workspace: usize,
        is_prepared: bool,
    ) -> Self {
        crash::unblock();
        let workspace = if kernel.bytes == 0 { 0 } else { workspace };
        let body = UserBody { kernel, workspace, frame: crash::frame(), right: None, end: None };
        crash::call_next(kernel.id, crash::PREPARE);
        if let Some(prepare) = kernel.prepare.filter(|_| !is_prepared)
            && body.call(prepare, workspace, 0) as u32 != 0
        {
            body.frame().end(crash::NOT_PREPARED);
        }
        crash::call_next(kernel.id, "");
        body
    }

    /// Ends the round, by setting its end in ticks, when the function ends early.
    pub(crate) fn within(self, end: &AtomicU64) -> UserBody<'_> {
        let UserBody { kernel, workspace, frame, right, .. } = self;
        UserBody { kernel, workspace, frame, right, end: Some(end) }
    }

    #[inline(always)]
    fn frame(&self) -> &Frame {
        // SAFETY: the pointer makes this type one of a single thread, whose frame lives as long as the thread.
        unsafe { &*self.frame }
    }

    #[inline(always)]
    fn call(&self, function: Function, first: usize, second: u64) -> u64 {
        // SAFETY: what the function does is the user's own choice; the thread keeps nothing on the stack below the call.
        unsafe { self.frame().call(function, first, second) }
    }

    /// Checks a value that differs from the last right one.
    #[cold]
    fn checked(&mut self, check: Function, units: u64, value: u64) -> bool {
        crash::call_next(self.kernel.id, "_check");
        let right = self.call(check, units as usize, value) as u32 != 0;
        crash::call_next(self.kernel.id, "");
        if self.has_ended() {
            self.end();
            return true;
        }
        self.right = right.then_some((units, value)).or(self.right);
        right
    }

    #[cold]
    fn end(&self) {
        if let Some(end) = self.end {
            end.fetch_min(counter::now(), Ordering::AcqRel);
        }
    }

    /// Returns whether the function ended early.
    #[inline(always)]
    pub(crate) fn has_ended(&self) -> bool {
        self.frame().ended_by() != 0
    }

    /// Does this many units and returns their value.
    #[inline(always)]
    pub(crate) fn run(&mut self, units: u64) -> u64 {
        let value = self.call(self.kernel.step, self.workspace, units);
        if self.has_ended() {
            self.end();
        }
        value
    }

    /// Does them and returns whether their value is right: any is, unless there is a function that checks it.
    #[inline(always)]
    pub(crate) fn is_right(&mut self, units: u64) -> bool {
        let value = self.run(units);
        match self.kernel.check {
            Some(check) if self.right != Some((units, value)) => self.checked(check, units, value),
            _ => true,
        }
    }
}

/// Duration of an empty call, in ns. Each step of a user's function contains one.
pub(crate) fn call_ns(clock: &Clock) -> f64 {
    let ticks = (0..11).map(|_| empty_calls()).min().unwrap_or(0);
    ticks as f64 * 1e12 / clock.frequency_millihertz as f64 / f64::from(EMPTY_CALLS)
}

/// Number of empty calls that are timed together.
const EMPTY_CALLS: u32 = 10_000;

/// Returns the ticks of [`EMPTY_CALLS`] calls.
fn empty_calls() -> u64 {
    let frame = Frame::new();
    let begin = counter::boundary().0;
    for _ in 0..EMPTY_CALLS {
        // SAFETY: the function does nothing.
        black_box(unsafe { frame.call(nothing, 0, 0) });
    }
    counter::boundary().0.saturating_sub(begin)
}
