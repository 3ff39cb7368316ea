//! Tests that measure this machine, or disturb it, for long.

mod ab;
mod account;
mod bad_weather;
mod causes;
mod documents;
mod edges;
mod ensemble;
mod explained;
mod inject;
mod irregular;
mod laws;
mod measure;
mod memory;
mod minimal;
mod own_work;
mod paging;
mod record;
mod repeat;
mod self_test;
mod serial;
mod stop_on;
mod suites;
mod switch;
mod targets;
mod top;
mod verify;
