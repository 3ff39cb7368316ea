//! Converts a panic inside the Parquet decoder to an error.
//!
//! The decoder asserts on some kinds of damage, and a reader of recordings must survive them.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

/// Runs `decode`; a panic becomes an error with its message, and nothing is printed.
pub(crate) fn guarded<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !SILENT.get() {
                others(info);
            }
        }));
    });
    SILENT.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(decode));
    SILENT.set(false);
    result.map_err(|payload| format!("not decodable ({})", message(payload.as_ref())))
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("panic")
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(guarded(|| 3), Ok(3));
        let error = guarded(|| assert_eq!(1, 2, "in a decoder")).unwrap_err();
        assert!(error.contains("in a decoder"), "{error}");
    }
}
