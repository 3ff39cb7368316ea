//! Names that stand for those of threads of users.

use crate::sources::{self, Source};
use crate::who::ALIAS;
use std::collections::HashMap;
use std::sync::Arc;

/// How the names of threads begin that are the kernel's or our own.
const OPEN_NAMES: [&str; 24] = [
    "kworker/",
    "ksoftirqd/",
    "migration/",
    "cpuhp/",
    "irq/",
    "swapper/",
    "jbd2/",
    "watchdog/",
    "idle_inject/",
    "rcu_",
    "rcub/",
    "rcuc/",
    "rcuog/",
    "rcuop/",
    "rcuos/",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "khungtaskd",
    "kthreadd",
    "loop ",
    "inject ",
    "anechoic",
    "housekeeper",
];

/// Names that stand for those of threads, in the order in which they appear.
#[derive(Debug, Default)]
pub struct Aliases(HashMap<Arc<str>, Arc<str>>);

impl Aliases {
    /// Returns the name that stands for this one.
    pub(crate) fn alias(&mut self, name: &str) -> Arc<str> {
        if name.is_empty() || is_open(name) {
            return name.into();
        }
        let next = self.0.len() + 1;
        self.0.entry(name.into()).or_insert_with(|| format!("{ALIAS}{next}").into()).clone()
    }

    /// Returns what stands for a sender: a thread, or the source and name of an interrupt in parentheses.
    pub(crate) fn sender(&mut self, sender: &str) -> Arc<str> {
        let inner = sender.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        let source = inner.and_then(|inner| sources::find(inner.split(' ').next()?));
        match source {
            None => self.alias(sender),
            Some(source) if sender.contains("0x") || names_thread(source) => {
                format!("({})", source.id).into()
            }
            Some(_) => sender.into(),
        }
    }
}

/// Returns whether the name of a thread begins like those of the kernel and our own.
pub(crate) fn is_open(name: &str) -> bool {
    OPEN_NAMES.iter().any(|open| name.starts_with(open))
}

/// Returns whether the rows of a source have the names of threads.
pub(crate) fn names_thread(source: &Source) -> bool {
    *source == sources::THREAD || *source == sources::FAIR_SERVER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_users_have_numbers_and_those_of_the_kernel_their_names() {
        let mut aliases = Aliases::default();
        let names = ["secretd", "kworker/1:1", "bash", "secretd", "", "loop 1"];
        let found = names.map(|name| aliases.alias(name).to_string());
        assert_eq!(found, ["user-1", "kworker/1:1", "user-2", "user-1", "", "loop 1"]);
    }
}
