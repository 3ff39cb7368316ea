//! The image: one program with two entries, PVH for virtual machines and UEFI for all.

#![no_std]
#![no_main]

mod boot;
mod libc;
mod pvh;
mod uefi;

use anechoic_bare::crew;
use anechoic_bare::serial::Serial;
use core::fmt::Write;
use core::panic::PanicInfo;

/// Text straight to the serial port, for what nobody else can show.
struct Last(Option<Serial>);

impl Write for Last {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        if let Some(serial) = &self.0 {
            serial.send(text.as_bytes());
        }
        Ok(())
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    if !crew::is_first() {
        crew::leave_to_first(format_args!("{info}"));
    }
    let _ = writeln!(Last(Serial::open()), "\nanechoic-bare failed: {info}");
    if let Some(mut screen) = uefi::Screen::after_failure() {
        let _ = write!(screen, "anechoic-bare failed: {info}\nswitch the machine off; ");
        let _ = writeln!(screen, "what was measured before is in the result's file");
    }
    pvh::leave_after_failure()
}
