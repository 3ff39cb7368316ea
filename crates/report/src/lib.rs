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
pub mod export;
mod figures;
mod heading;
mod injected;
mod json;
pub mod live;
mod names;
mod page;
mod palette;
mod picture;
pub mod published;
pub mod results;
mod screen;
mod style;
mod table;
mod units;

pub use export::{MonitorCounts, monitor_metrics};
pub use figures::{Figure, FigureSubject, captions, figures};
pub use injected::{injected, where_and_what};
pub use json::json;
pub use page::{
    HtmlReport, NotShown as HtmlNotShown, Part as HtmlPart, budget as html_budget, html,
};
pub use picture::{DPI, Raster};
pub use results::certificate::certificate_markdown;
pub use results::cluster::cluster;
pub use results::compare::compare;
pub use results::gate::{
    HealthAge, gate, gate_junit, gate_markdown, gate_nagios, gate_npd, nagios_unknown, npd_unknown,
};
pub use results::interference::interference;
pub use results::list::{List, Listed};
pub use results::live::check::check;
pub use results::live::injection::verification;
pub use results::live::self_test::self_test;
pub use results::live::settings::settings;
pub use results::measured::{measured, spectrum};
pub use results::memory::memory;
pub use results::monitored::amount_of_rate;
pub use results::paging::paging;
pub use results::probed::probed;
pub use results::rank::rank;
pub use results::repeat::repeat;
pub use results::schemas;
pub use results::sources::sources;
pub use results::suite::{
    CmtSets, LOOPS_DELTAS, LOOPS_PART, LOOPS_RATE, Study, suite_cmt, suite_ferreira, suite_loops,
    suite_memory, suite_paging, suite_selfish, suite_ticks,
};
pub use results::summary::summary;
pub use results::switch::switch;
pub use results::wakeup::wakeup;
pub use screen::Screen;
pub use style::{Style, View, plain, shown};
pub use units::{bytes, count, counted, long as long_time, more};
