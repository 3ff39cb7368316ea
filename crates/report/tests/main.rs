//! What results look like as text, JSON, HTML and figures.

mod bsp;
mod cluster;
mod culprit;
mod experiments;
mod exports;
mod figures;
mod gate;
mod golden;
mod html;
mod injection;
mod interference;
mod iterations;
mod made;
mod memory;
mod methods;
mod paging;
mod phases;
mod published;
mod rank;
mod sampled;
mod schema;
mod studies;
mod suites;
mod switch;
mod ticks;
mod variance;
