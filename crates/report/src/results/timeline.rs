//! Results that only a report shows: all detours over time, and their periods. The pass that computes the summary also
//! computes these.

use super::described::Grouping;
use super::row::Row;
use anechoic_analyze::Timeline;
use anechoic_analyze::spectrum::CpuPeriods;

/// The row of all detours over time.
pub static TIMELINE: Row<Timeline> = Row::new("timeline", "detours over time", Grouping::Beside);

/// The row of the periods in the detours of the CPUs that lost most.
pub(crate) static PERIODS: Row<Vec<CpuPeriods>> =
    Row::new("periods", "periods of the detours", Grouping::Beside);
