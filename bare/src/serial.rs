//! The first serial port, at 115200 bits per second.

use crate::cpu;

const BASE: u16 = 0x3f8;
/// Reads of the status until a character must have gone out.
const PATIENCE: u32 = 1_000_000;

/// A serial port.
#[derive(Debug)]
pub struct Serial(());

impl Serial {
    /// Sets the port up, or returns `None` if there is none.
    #[must_use]
    pub fn open() -> Option<Self> {
        const SCRATCH: u16 = BASE + 7;
        // SAFETY: the port is the image's; the register has no other use.
        unsafe { cpu::write_port(SCRATCH, 0xa5) };
        if cpu::port(SCRATCH) != 0xa5 {
            return None;
        }
        // No interrupts; divisor 1; 8 bits; buffers on; ready to send.
        for (register, value) in [(1, 0), (3, 0x80), (0, 1), (1, 0), (3, 3), (2, 7), (4, 3)] {
            // SAFETY: as above.
            unsafe { cpu::write_port(BASE + register, value) };
        }
        Some(Serial(()))
    }

    /// Sends text, with both characters of a line's end.
    pub fn send(&self, text: &[u8]) {
        for &byte in text {
            if byte == b'\n' {
                self.byte(b'\r');
            }
            self.byte(byte);
        }
    }

    fn byte(&self, byte: u8) {
        for _ in 0..PATIENCE {
            if cpu::port(BASE + 5) >> 5 & 1 == 1 {
                break;
            }
        }
        // SAFETY: the port is the image's.
        unsafe { cpu::write_port(BASE, byte) };
    }
}
