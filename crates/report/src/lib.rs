//! Results as users read them: a screen of text, HTML, figures or JSON.
//!
//! The rows of [`results`] define the results; everything else displays results and computes none.
//!
//! ```no_run
//! use anechoic_recording::{Problem, Recording};
//! use anechoic_report::View;
//! use std::path::Path;
//!
//! let recording = Recording::open(Path::new("anechoic-20261121T080000"))?;
//! let summary = anechoic_analyze::summarize(&recording)?;
//! let view = View::default();
//! anechoic_report::summary(&summary, &view).write(&view, &mut std::io::stdout())?;
//! # Ok::<(), Problem>(())
//! ```

#![forbid(unsafe_code)]

mod advice;
mod certainty;
mod check;
mod cluster;
mod compare;
mod counted;
mod cpus;
mod curve;
pub mod export;
mod figures;
mod gate;
mod heading;
mod headline;
mod histogram;
mod history;
mod html;
mod injected;
mod injection;
mod interference;
mod json;
mod list;
pub mod live;
mod longest;
mod measured;
mod memory;
mod names;
mod owners;
mod paging;
mod palette;
mod picture;
pub mod published;
mod rank;
mod reference;
mod repeat;
pub mod results;
mod sampled;
mod screen;
mod self_test;
mod sources;
mod stopped;
mod stories;
mod style;
mod suite;
mod summary;
mod survival;
mod suspects;
mod sweep;
mod switch;
mod table;
mod units;

pub use check::check;
pub use cluster::cluster;
pub use compare::compare;
pub use figures::{Figure, FigureSubject, captions, figures};
pub use gate::{gate, gate_junit, gate_markdown};
pub use html::{
    HtmlReport, NotShown as HtmlNotShown, Part as HtmlPart, budget as html_budget, html,
};
pub use injected::{injected, where_and_what};
pub use injection::verification;
pub use interference::interference;
pub use json::json;
pub use list::{List, Listed};
pub use measured::{measured, spectrum};
pub use memory::memory;
pub use paging::paging;
pub use picture::{DPI, Raster};
pub use rank::rank;
pub use repeat::repeat;
pub use results::schemas;
pub use screen::Screen;
pub use self_test::self_test;
pub use sources::sources;
pub use style::{Style, View, plain, shown};
pub use suite::{
    CmtSets, LOOPS_DELTAS, LOOPS_PART, LOOPS_RATE, Study, suite_cmt, suite_ferreira, suite_loops,
    suite_memory, suite_paging, suite_selfish, suite_ticks,
};
pub use summary::summary;
pub use switch::switch;
pub use units::{bytes, count, counted, long as long_time, more};
