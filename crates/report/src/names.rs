//! What to call a source, a sender, a function.

use crate::style::plain;
use anechoic_analyze::facts::Facts;
use anechoic_recording::sources::{self, Source};

/// The row of a source in the table of sources; absent where a newer version made the recording.
pub(crate) fn known(source: &str) -> Option<&'static Source> {
    sources::find(source)
}

/// Source and name as people call them: `timer tick`, `thread kworker/1:1`.
pub(crate) fn source_name(source: &str, name: &str, run: &Facts) -> String {
    title_of(source, name, run.hypervisor.is_some())
}

/// The same, of a guest of a hypervisor or of a machine without one.
pub(crate) fn title_of(source: &str, name: &str, guest: bool) -> String {
    let title = known(source).map_or(source, |known| known.title_on(guest));
    if name.is_empty() { plain(title) } else { plain(&format!("{title} {name}")) }
}

/// Who sent something: `CPU 0 bash`; nothing where nothing is known.
pub(crate) fn sender(cpu: Option<u32>, task: Option<&str>) -> Option<String> {
    match (cpu, task.map(plain)) {
        (Some(cpu), Some(task)) => Some(format!("CPU {cpu} {task}")),
        (Some(cpu), None) => Some(format!("CPU {cpu}")),
        (None, task) => task,
    }
}

/// What the time between a detour's edge and the kernel's first or last event is.
pub(crate) fn gap(run: &Facts) -> &'static str {
    if run.hypervisor.is_some() { "the VM exit" } else { "entry and exit" }
}
