//! This machine's events and steal.

mod steal;
mod tracefs;
