//! The built `anechoic`, run as a user would.

mod bad_input;
mod bad_weather;
mod causes;
mod documents;
mod ensemble;
mod explained;
mod inject;
mod irregular;
mod measure;
mod merge;
mod predict;
mod predict_phases;
mod report;
mod self_test;
mod serial;
mod tool;
mod top;
mod verify;
