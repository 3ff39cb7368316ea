//! The built `anechoic-mpi` under the launcher of the library it was built with.

mod hosts;
mod jobs;
mod launched;
mod network;
mod ranks;
mod simulate;
