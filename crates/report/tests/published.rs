//! Published numbers: the files are whole, and the models re-make what the papers computed.

use anechoic_predict::ticks::{Linearity, model};
use anechoic_report::published::{
    CMT, CMT_KERNELS, DETOURS, INJECTED, MEMORY, PAGING, Published, TICKS, Value, find, find_on,
    published_share, serial_table,
};
use std::collections::BTreeSet;

/// Reading a file panics at a wrong row, so this also reads every row.
#[test]
fn no_row_is_missing_or_stands_twice() {
    for (table, rows) in
        [(&CMT, 28), (&TICKS, 267), (&PAGING, 22), (&DETOURS, 35), (&MEMORY, 9), (&INJECTED, 2)]
    {
        let key = |cell: &Published| (cell.machine, cell.experiment, cell.row, cell.column);
        let keys: BTreeSet<_> = table.iter().map(key).collect();
        assert_eq!((keys.len(), table.len()), (rows, rows), "{:?}", table[0].paper.short);
        assert!(table.iter().all(|cell| cell.page > 0 && !cell.place.is_empty()));
    }
}

#[test]
fn values_with_their_places() {
    let overhead = "average overhead of one tick";
    for kernel in CMT_KERNELS {
        for column in ["same strand", "sibling strand", "other core"] {
            assert!(find(&CMT, overhead, kernel, column).is_some(), "{kernel}, {column}");
        }
    }
    assert_eq!(find(&CMT, overhead, "sum", "same strand"), None);
    let cell = find(&CMT, overhead, "intmul", "same strand").expect("Table 1");
    assert_eq!((&*cell.text(), cell.place, cell.page), ("26.657 µs", "Table 1", 6));
    assert_eq!(
        find(&CMT, overhead, "intadd", "other core").map(Published::text),
        Some("none".into())
    );
    assert_eq!((&*TICKS[0].text(), &*TICKS[1].text()), ("0.5–1.5 %", "up to 85 %"));
    let interrupts = |row, column| find_on(&TICKS, "M2", ("interrupts of a run", row, column));
    assert_eq!(interrupts("tick", "count").map(|cell| cell.value), Some(Value::Is(1_082_744.0)));
    // The counts of three systems, each rank shared out once.
    let sums =
        MEMORY.chunks(3).map(|row| row.iter().filter_map(|cell| cell.value.number()).sum::<f64>());
    assert_eq!(sums.collect::<Vec<_>>(), [184.0; 3]);
}

/// The direct costs and sums that Tsafrir prints follow from each other.
#[test]
fn tables_of_tsafrir_agree_with_each_other() {
    let table = serial_table();
    let names: Vec<&str> = table.processors.iter().map(|processor| &*processor.name).collect();
    assert_eq!(names, ["P-90", "PPro-200", "PII-350", "PIII-664", "PIII-1.133", "PIV-2.2"]);
    for processor in &table.processors {
        let copies: Vec<u32> = processor.points.iter().map(|point| point.copies).collect();
        assert_eq!(copies, [1, 2, 4, 8].map(|copies| [copies; 5]).concat(), "{}", processor.name);
    }
    // A handler in µs is that in cycles over his clocks of 90 and 350 MHz.
    for (processor, mhz) in [("P-90", 90.0), ("PII-350", 350.0)] {
        let direct_cost = |column| {
            let cell = find_on(&TICKS, processor, ("direct cost of a tick", "TSC handler", column));
            cell.and_then(|cell| cell.value.number()).expect("a number")
        };
        assert!((direct_cost("cycles") / mhz - direct_cost("time")).abs() < 0.03, "{processor}");
    }
}

#[test]
fn the_times_of_tsafrir_give_his_table_2() {
    let found = model(&serial_table());
    let near = |found: f64, published: f64, most: f64| (found - published).abs() <= most;
    for processor in &found.processors {
        let name = &processor.name;
        assert_eq!(
            processor.modes.iter().map(|mode| &*mode.name).collect::<Vec<_>>(),
            ["PIT", "TSC"]
        );
        for mode in &processor.modes {
            let published = published_share(processor, &mode.name).expect("his own times");
            let sum = published.trap + published.handler + published.indirect;
            assert!(near(published.sum, sum, 0.0101), "{name}: {published:?}");
            // Figure 2 converts the cycles of the PIV-2.2 to µs with 2.39 GHz, Table 2 with 2.2 GHz.
            let clock = if **name == *"PIV-2.2" { 2.39 / 2.2 } else { 1.0 };
            let direct = |percent: f64| percent * clock;
            let parts = mode.parts;
            let total = parts.indirect + direct(parts.total - parts.indirect);
            let trap = direct(parts.trap.expect("no gap"));
            assert!(near(parts.indirect, published.indirect, 0.045), "{name}: {parts:?}");
            assert!(near(total, published.sum, 0.055), "{name}: {parts:?}");
            assert!(near(trap, published.trap, 0.0101), "{name}: {parts:?}");
            assert!(near(direct(parts.handler), published.handler, 0.0051), "{name}: {parts:?}");
        }
        // His own estimator re-makes his table, except where the times of the P-90 fall.
        let all = processor.estimators.expect("pairs");
        let published = published_share(processor, "PIT").expect("his own times").indirect;
        match &**name {
            "P-90" => assert!(near(all.mean, 0.394, 0.0005) && all.rises == 37, "{all:?}"),
            _ => assert!(near(all.mean, published, 0.0235) && all.rises == 40, "{name}: {all:?}"),
        }
        let rises = all.mean_of_rises.expect("some rise");
        assert!(near(rises, published, 0.0235), "{name}: {all:?}");
        // His own conclusion: the linear model describes all of them.
        assert_eq!(processor.verdict.linearity, Linearity::Holds, "{name}");
    }
    let mut other = serial_table();
    other.processors[0].points[3].ms += 0.01;
    assert_eq!(published_share(&model(&other).processors[0], "PIT"), None);
}
