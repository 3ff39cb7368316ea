//! Models of made-up recordings and of published numbers.

mod blocks;
mod bsp;
mod files;
mod jobs;
mod laws;
mod made;
mod phases;
mod phases_laws;
mod phases_model;
mod phases_recursion;
mod recording;
mod scheduler;
