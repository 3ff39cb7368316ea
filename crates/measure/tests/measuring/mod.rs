//! Experiments and noise on this machine.

mod between;
mod expired;
mod inject;
mod irregular;
mod ranks;
