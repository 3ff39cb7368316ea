//! What only a report shows of detours: all of them over time, and what is periodic in them. Both are found in the
//! pass that gives the summary.

use super::described::Grouping;
use super::row::Row;
use anechoic_analyze::Timeline;
use anechoic_analyze::spectrum::CpuPeriods;

/// All detours over time.
pub static TIMELINE: Row<Timeline> = Row::new("timeline", "detours over time", Grouping::Beside);

/// What is periodic in the detours of the CPUs that lost most.
pub(crate) static PERIODS: Row<Vec<CpuPeriods>> =
    Row::new("periods", "periods of the detours", Grouping::Beside);
