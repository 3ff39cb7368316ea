//! Work kernels as experiments use them: a kernel, and its parameters if it works on memory.

pub(crate) mod user;

use crate::mapping::{Mapping, Obtained, OwnMemory, PageSizes, Pages};
use anechoic_kernels::memory::{self, Line, MemoryKernel, Params, Workspace};
use anechoic_kernels::work::{self, Family};
use anechoic_recording::{Library, Problem, ProblemKind};
use user::UserBody;
pub use user::UserKernel;

/// A work kernel, ready to be measured.
#[derive(Debug, Clone, Copy)]
pub enum Kernel {
    /// A kernel that works on registers and its own cache line.
    Plain(&'static work::Kernel),
    /// A function of the user's own.
    User(&'static UserKernel),
    /// A kernel that works on a workspace.
    OnMemory(&'static MemoryKernel, Params),
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id() && self.params() == other.params()
    }
}

impl Kernel {
    /// Finds a kernel by its name, or loads a function of a user's file.
    ///
    /// # Errors
    /// Fails if there is no such kernel, or if the file cannot be loaded.
    pub fn find(id: &'static str) -> Result<Self, Problem> {
        if id.contains('/') {
            return user::find(id).map(Kernel::User);
        }
        work::find(id).map(Kernel::Plain).ok_or_else(|| no_kernel(id))
    }

    /// Finds a kernel with a workspace by its name.
    ///
    /// # Errors
    /// Fails if there is no such kernel.
    pub fn on_memory(id: &str, params: Params) -> Result<Self, Problem> {
        let found = memory::find(id).map(|kernel| Kernel::OnMemory(kernel, params));
        found.ok_or_else(|| no_kernel(id))
    }

    /// Returns the name.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Kernel::Plain(kernel) => kernel.id,
            Kernel::User(kernel) => kernel.id,
            Kernel::OnMemory(kernel, _) => kernel.id,
        }
    }

    /// Returns the parameters of the workspace, if it has one.
    #[must_use]
    pub fn params(&self) -> Option<Params> {
        match self {
            Kernel::Plain(_) | Kernel::User(_) => None,
            Kernel::OnMemory(_, params) => Some(*params),
        }
    }

    /// Returns the number of instructions of its kind in one iteration.
    pub(crate) fn instructions(&self) -> u32 {
        match self {
            Kernel::Plain(kernel) => kernel.instructions,
            Kernel::User(_) => 0,
            Kernel::OnMemory(kernel, _) => kernel.instructions,
        }
    }

    /// Returns whether it does nothing, so that samples measure the tool itself.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Kernel::Plain(kernel) if kernel.family == Family::Null)
    }

    /// Returns whether it is the body of a do-nothing loop.
    pub(crate) fn is_do_nothing(&self) -> bool {
        matches!(self, Kernel::Plain(kernel) if kernel.family == Family::DoNothing)
    }

    /// Returns the number of iterations in one pass over its workspace; 1 without one.
    pub(crate) fn pass(&self) -> u64 {
        match self {
            Kernel::Plain(_) | Kernel::User(_) => 1,
            Kernel::OnMemory(kernel, params) => (kernel.pass)(params).max(1),
        }
    }

    /// Returns the value that this many iterations must return; of a user's function it is not known.
    pub(crate) fn expected(&self, iterations: u64) -> u64 {
        match self {
            Kernel::Plain(kernel) => (kernel.expected)(iterations),
            Kernel::User(_) => 0,
            Kernel::OnMemory(kernel, params) => (kernel.expected)(params, iterations),
        }
    }

    /// Returns the size of its workspace in bytes; 0 without one.
    pub(crate) fn workspace_bytes(&self) -> u64 {
        match self {
            Kernel::Plain(_) => 0,
            Kernel::User(kernel) => kernel.bytes,
            Kernel::OnMemory(_, params) => params.lines() as u64 * Line::BYTES,
        }
    }

    /// Returns the name of a user's function.
    pub(crate) fn user(&self) -> Option<&'static str> {
        self.library().map(|_| self.id())
    }

    /// Returns the file of a user's function.
    pub(crate) fn library(&self) -> Option<&'static Library> {
        match self {
            Kernel::User(kernel) => Some(&kernel.library),
            _ => None,
        }
    }
}

fn no_kernel(asked: &str) -> Problem {
    let why = format!("there is no work kernel '{asked}'");
    ProblemKind::Usage.problem(why, "`anechoic measure kernels` lists them")
}

/// Returns the names and descriptions of all work kernels without a workspace.
#[must_use]
pub fn kernels() -> Vec<(&'static str, &'static str)> {
    work::KERNELS.iter().map(|kernel| (kernel.id, kernel.what)).collect()
}

/// Returns the names of the bodies of do-nothing loops (Tsafrir 2007).
pub(crate) fn do_nothing() -> impl Iterator<Item = &'static str> {
    let of_family = |kernel: &&work::Kernel| kernel.family == Family::DoNothing;
    work::KERNELS.iter().filter(of_family).map(|kernel| kernel.id)
}

/// The code of a kernel and the data that it works on. A timed loop is compiled for each implementation, so
/// that loops without a workspace contain no workspace code.
pub(crate) trait Body {
    /// Does this many iterations and returns their value.
    fn run(&mut self, iterations: u64) -> u64;

    /// Does them and returns whether their value is this one.
    #[inline(always)]
    fn is_right(&mut self, iterations: u64, expected: u64) -> bool {
        self.run(iterations) == expected
    }

    /// Returns whether its code ended early, so that it does nothing any more.
    #[inline(always)]
    fn has_ended(&self) -> bool {
        false
    }

    /// Prepares its workspace again, if it has one.
    fn prepare(&mut self) {}
}

/// A kernel that works on registers.
#[derive(Debug)]
pub(crate) struct PlainBody(pub(crate) fn(u64) -> u64);

impl Body for PlainBody {
    #[inline(always)]
    fn run(&mut self, iterations: u64) -> u64 {
        (self.0)(iterations)
    }
}

impl Body for UserBody<'_> {
    #[inline(always)]
    fn run(&mut self, iterations: u64) -> u64 {
        UserBody::run(self, iterations)
    }

    #[inline(always)]
    fn is_right(&mut self, iterations: u64, _: u64) -> bool {
        UserBody::is_right(self, iterations)
    }

    #[inline(always)]
    fn has_ended(&self) -> bool {
        UserBody::has_ended(self)
    }
}

/// A kernel that works on a workspace.
#[derive(Debug)]
pub(crate) struct MemoryBody<'m> {
    pub(crate) kernel: &'static MemoryKernel,
    pub(crate) workspace: Workspace<'m>,
}

impl Body for MemoryBody<'_> {
    #[inline(always)]
    fn run(&mut self, iterations: u64) -> u64 {
        (self.kernel.run)(&mut self.workspace, iterations)
    }

    fn prepare(&mut self) {
        (self.kernel.prepare)(&self.workspace.params, self.workspace.lines);
    }
}

/// The body of any kernel, for use where the cost of dispatch does not matter.
#[derive(Debug)]
pub(crate) enum AnyBody<'m> {
    Plain(PlainBody),
    User(UserBody<'m>),
    Memory(MemoryBody<'m>),
}

impl<'m> AnyBody<'m> {
    /// Prepares the kernel's workspace in `memory`, if it has one and did not prepare it last.
    pub(crate) fn prepare(kernel: Kernel, memory: &'m mut Memory) -> Self {
        match kernel {
            Kernel::Plain(kernel) => AnyBody::Plain(PlainBody(kernel.run)),
            Kernel::User(user) => {
                let is_prepared = memory.prepared.replace(kernel) == Some(kernel);
                let start = memory.mapping.start().as_ptr() as usize;
                AnyBody::User(UserBody::prepare(user, start, is_prepared))
            }
            Kernel::OnMemory(on_memory, params) => {
                let is_prepared = memory.prepared.replace(kernel) == Some(kernel);
                let lines = memory.mapping.lines();
                let workspace = match is_prepared {
                    true => Workspace { lines, params },
                    false => (on_memory.prepare)(&params, lines),
                };
                AnyBody::Memory(MemoryBody { kernel: on_memory, workspace })
            }
        }
    }
}

impl Body for AnyBody<'_> {
    fn run(&mut self, iterations: u64) -> u64 {
        match self {
            AnyBody::Plain(body) => body.run(iterations),
            AnyBody::User(body) => body.run(iterations),
            AnyBody::Memory(body) => body.run(iterations),
        }
    }

    fn is_right(&mut self, iterations: u64, expected: u64) -> bool {
        match self {
            AnyBody::Plain(body) => body.is_right(iterations, expected),
            AnyBody::User(body) => Body::is_right(body, iterations, expected),
            AnyBody::Memory(body) => body.is_right(iterations, expected),
        }
    }

    fn has_ended(&self) -> bool {
        match self {
            AnyBody::User(body) => body.has_ended(),
            AnyBody::Plain(_) | AnyBody::Memory(_) => false,
        }
    }
}

/// Pages and place of memory.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) pages: PageSizes,
    /// Its NUMA node, if all of it is on one.
    pub(crate) node: Option<u32>,
}

/// Memory for workspaces.
#[derive(Debug)]
pub(crate) struct Memory {
    mapping: Mapping,
    /// The kernel that prepared it last.
    prepared: Option<Kernel>,
    /// The memory of the series that has its own: the size and pages asked for, and what was found.
    own: Option<(u64, Pages, Found)>,
    /// How many memories of series were not locked.
    unlocked: u32,
}

impl Memory {
    /// Allocates the largest workspace of `kernels`.
    ///
    /// # Errors
    /// Fails if the kernel gives no such memory.
    pub(crate) fn for_largest(
        kernels: impl Iterator<Item = Kernel>,
        pages: Pages,
    ) -> Result<Self, Problem> {
        let bytes = kernels.map(|kernel| kernel.workspace_bytes()).max().unwrap_or(0) as usize;
        // Without a kernel there is nothing to back.
        let pages = if bytes == 0 { Pages::Base } else { pages };
        let mapping = Mapping::obtain(bytes, pages)?;
        Ok(Memory { mapping, prepared: None, own: None, unlocked: 0 })
    }

    /// Replaces the memory by new memory for a series that has its own, unless the series may use that of the one before.
    ///
    /// # Errors
    /// Fails if the kernel gives no such memory.
    pub(crate) fn renew(&mut self, kernel: Kernel, wanted: OwnMemory) -> Result<(), Problem> {
        let OwnMemory { pages, fresh } = wanted;
        let bytes = kernel.workspace_bytes();
        if !fresh && self.own.as_ref().is_some_and(|own| (own.0, own.1) == (bytes, pages)) {
            return Ok(());
        }
        // The old memory is given back first, so that there is room for the new one.
        let unlocked = self.unlocked;
        *self = Memory { unlocked, ..Memory::for_largest(std::iter::empty(), Pages::Base)? };
        self.mapping = Mapping::obtain(bytes as usize, pages)?;
        self.unlocked += u32::from(!self.mapping.locked);
        let found = Found { pages: self.mapping.page_sizes(), node: self.mapping.node() };
        self.own = Some((bytes, pages, found));
        Ok(())
    }

    /// Returns the size and the place of memory that a series has for itself.
    pub(crate) fn own(&self) -> Option<(u64, &Found)> {
        self.own.as_ref().map(|(.., found)| (self.mapping.bytes() as u64, found))
    }

    /// Returns a note on memory of series that is not locked, if there was any.
    pub(crate) fn note_on_locks(&self) -> Option<String> {
        let note = "memory of series is touched but not locked (limit on locked memory):";
        let times = self.unlocked;
        (times > 0).then(|| format!("{note} {times} of the allocations"))
    }

    /// Returns which pages it has.
    pub(crate) fn obtained(&self) -> Obtained {
        self.mapping.obtained()
    }
}
