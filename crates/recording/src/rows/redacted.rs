//! What names the owner of the machine in the rows of each table is removed.

use super::{Activity, Delay, Growth, Mark, Name, ProgramThread, Release, Series};
use crate::aliases::{Aliases, names_thread};
use crate::event::{KERNEL_FUNCTION, NameKind};
use crate::sources;
use crate::who::REMOVED;
use std::sync::Arc;

/// Leaves a row as it is that has numbers and words of the tool and the kernel only.
pub(super) fn nothing<R>(_row: &mut R, _aliases: &mut Aliases) {}

pub(super) fn name(row: &mut Name, aliases: &mut Aliases) {
    match row.kind {
        NameKind::Task => row.name = aliases.alias(&row.name).as_ref().into(),
        NameKind::Stack => row.name = calls_in_kernel(&row.name),
        _ => {}
    }
}

/// Returns the kernel's part of a call stack.
fn calls_in_kernel(stack: &str) -> String {
    let kernel = stack.split(';').filter(|call| call.ends_with(KERNEL_FUNCTION));
    kernel.collect::<Vec<_>>().join(";")
}

/// Removes the path of a control group.
pub(super) fn growth(row: &mut Growth, aliases: &mut Aliases) {
    if let Some((rate, group)) = row.name.split_once(' ') {
        row.name = format!("{rate} {}", aliases.alias(group)).into();
    }
}

/// Removes what the program wrote.
pub(super) fn mark(row: &mut Mark, _aliases: &mut Aliases) {
    row.label = "".into();
}

/// Removes the directory from the name of a user's own function.
pub(super) fn series(row: &mut Series, _aliases: &mut Aliases) {
    if row.parameters.library.is_some()
        && let Some((_, file)) = row.variant.rsplit_once('/')
    {
        row.variant = file.to_owned();
    }
}

pub(super) fn activity(row: &mut Activity, aliases: &mut Aliases) {
    row.name = instance(&row.source, &row.name, aliases);
    row.sent_by_task = row.sent_by_task.take().map(|task| aliases.sender(&task));
    row.function = row.function.take().filter(|function| !function.starts_with("0x"));
}

/// Returns the name of an instance of a source, if that is neither a thread nor an address.
fn instance(source: &str, name: &Arc<str>, aliases: &mut Aliases) -> Arc<str> {
    let late_after = name.strip_prefix("after ").filter(|_| source == sources::LATE_TIMER.id);
    match late_after {
        Some("idle") => Arc::clone(name),
        Some(thread) => format!("after {}", aliases.alias(thread)).into(),
        None if sources::find(source).is_some_and(names_thread) => aliases.alias(name),
        None if name.starts_with("0x") => REMOVED.into(),
        None => Arc::clone(name),
    }
}

pub(super) fn release(row: &mut Release, aliases: &mut Aliases) {
    row.name = instance(&row.source, &row.name, aliases);
}

pub(super) fn thread(row: &mut ProgramThread, aliases: &mut Aliases) {
    row.name = aliases.alias(&row.name);
}

pub(super) fn delay(row: &mut Delay, aliases: &mut Aliases) {
    if row.holder.is_some_and(|tid| tid > 0) {
        row.holder_name = aliases.alias(&row.holder_name);
    }
    if let (Some(source), Some(name)) = (&row.waker_source, &row.waker_name) {
        row.waker_name = Some(instance(source, name, aliases));
    }
}
