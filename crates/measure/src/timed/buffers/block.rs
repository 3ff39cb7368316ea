//! A block of what one loop stores, and a look into the one that is being filled.

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// Some items of one loop, in the order of time.
#[derive(Debug)]
pub(super) struct Block<'a, T> {
    /// Not a reference: who looks at the block that is being filled reads the first items meanwhile.
    pub(super) items: ptr::NonNull<T>,
    room: usize,
    pub(super) len: usize,
    pub(super) tag: u32,
    memory: PhantomData<&'a mut [T]>,
}

// SAFETY: as a `&mut [T]`, which it stands for.
unsafe impl<T: Send> Send for Block<'_, T> {}

impl<'a, T> Block<'a, T> {
    pub(super) fn of(items: &'a mut [T]) -> Self {
        let room = items.len();
        Block { items: ptr::NonNull::from(items).cast(), room, len: 0, tag: 0, memory: PhantomData }
    }

    /// The same memory, to be filled anew.
    pub(super) fn emptied(self) -> Self {
        Block { len: 0, tag: 0, ..self }
    }

    pub(super) fn is_full(&self) -> bool {
        self.len == self.room
    }

    pub(super) fn push(&mut self, item: T) {
        assert!(!self.is_full());
        // SAFETY: inside the block, which is ours; who looks at it reads items below `len` only.
        unsafe { self.items.add(self.len).write(item) };
        self.len += 1;
    }

    pub(super) fn items(&self) -> &[T] {
        // SAFETY: that many were written, and a shared borrow keeps others from being written.
        unsafe { std::slice::from_raw_parts(self.items.as_ptr(), self.len) }
    }
}

/// The block that the loop is filling, for the writer to look at: a loop is not made to hand it over.
#[derive(Debug)]
pub(super) struct Current<T> {
    items: AtomicPtr<T>,
    pub(super) len: AtomicUsize,
    tag: AtomicU32,
}

impl<T> Default for Current<T> {
    fn default() -> Self {
        Current {
            items: AtomicPtr::new(ptr::null_mut()),
            len: AtomicUsize::new(0),
            tag: AtomicU32::new(0),
        }
    }
}

impl<T> Current<T> {
    /// The loop fills this one from now on, or none.
    pub(super) fn turn_to(&self, block: Option<&Block<'_, T>>) {
        // In this order a length is never taken for that of another block.
        self.items.store(ptr::null_mut(), Ordering::Release);
        self.len.store(block.map_or(0, |block| block.len), Ordering::Release);
        if let Some(block) = block {
            self.tag.store(block.tag, Ordering::Release);
            self.items.store(block.items.as_ptr(), Ordering::Release);
        }
    }

    /// Where it begins, its tag, and how many items it holds; none where the loop is just changing it.
    pub(super) fn now(&self) -> Option<(*mut T, u32, usize)> {
        let items = self.items.load(Ordering::Acquire);
        let (len, tag) = (self.len.load(Ordering::Acquire), self.tag.load(Ordering::Acquire));
        let same = self.items.load(Ordering::Acquire) == items;
        (same && !items.is_null()).then_some((items, tag, len))
    }
}
