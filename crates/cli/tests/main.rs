//! The built `anechoic`, run as a user would.

mod ab;
mod bad_input;
mod change;
mod documents;
mod doubts;
mod export;
mod faults;
mod foreign;
mod fuzz;
mod gate;
mod hist;
mod history;
mod import;
mod laws;
mod measuring;
mod merge;
mod notebook;
mod predict;
mod predict_phases;
mod reading;
mod report;
mod shell;
mod suites;
mod threads;
mod tool;
