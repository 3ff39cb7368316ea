//! The kernel's build configuration.

use super::Root;
use std::io::Read;

/// Returns the timer ticks per second that the kernel was built with (`CONFIG_HZ`).
///
/// It is read from `/proc/config.gz` or `/boot/config-RELEASE`. `sysconf(_SC_CLK_TCK)` is a different number:
/// the unit of /proc, which is 100 on most kernels whatever their tick rate.
pub fn tick_hz(root: &Root) -> Option<u32> {
    let config = packed(root).or_else(|| {
        let release = root.read("/proc/sys/kernel/osrelease")?;
        root.read(&format!("/boot/config-{release}"))
    })?;
    config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ=")?.trim().parse().ok())
}

/// A configuration has about 200 kB; this limits the unpacked size of a broken file.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

fn packed(root: &Root) -> Option<String> {
    let bytes = root.bytes("/proc/config.gz")?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..])
        .take(MAX_CONFIG_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}
