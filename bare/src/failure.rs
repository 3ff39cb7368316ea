//! A fault of the image on another CPU than the first: its text, which the first CPU shows.

use core::cell::UnsafeCell;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};

/// A text with an end.
struct Message {
    bytes: [u8; 512],
    used: usize,
}

/// The text. The CPU that took it writes it, and the first CPU reads it once it is complete.
struct Shared(UnsafeCell<Message>);

// SAFETY: of the flags below one lets a single CPU write, the other others read after that.
unsafe impl Sync for Shared {}

static MESSAGE: Shared = Shared(UnsafeCell::new(Message { bytes: [0; 512], used: 0 }));
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static IS_COMPLETE: AtomicBool = AtomicBool::new(false);

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = text.len().min(self.bytes.len() - self.used);
        self.bytes[self.used..self.used + fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.used += fits;
        Ok(())
    }
}

/// Keeps the text for the first CPU, if it is the first such text.
pub(crate) fn keep(text: fmt::Arguments<'_>) {
    if !IS_TAKEN.swap(true, Ordering::AcqRel) {
        // SAFETY: one CPU gets here, and the first one reads it later.
        let _ = unsafe { (*MESSAGE.0.get()).write_fmt(text) };
        IS_COMPLETE.store(true, Ordering::Release);
    }
}

/// Fails with the text of another CPU, if there is one.
pub(crate) fn pass_on() {
    if IS_COMPLETE.load(Ordering::Acquire) {
        // SAFETY: nobody writes it any more.
        let message = unsafe { &*MESSAGE.0.get() };
        panic!(
            "on another CPU: {}",
            core::str::from_utf8(&message.bytes[..message.used]).unwrap_or("?")
        );
    }
}
