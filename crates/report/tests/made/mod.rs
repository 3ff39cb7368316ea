//! Hand-made results, as a two-CPU guest gives them.

pub mod direct;
pub mod injected;
pub mod samples;

use anechoic_analyze::coverage::{Coverage, LossSummary};
use anechoic_analyze::curve::CurvePoint;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::lengths::Lengths;
use anechoic_analyze::longest::{LongDetour, Part};
use anechoic_analyze::noise::{CpuNoise, IntervalMethod, TotalNoise};
use anechoic_analyze::sources::{FunctionShare, SenderShare, SourceRow, Steal};
use anechoic_analyze::stats::Interval;
use anechoic_analyze::{Breakdown, Summary};
use anechoic_recording::attribution::Alignment;
use anechoic_recording::run::{DrainPolicy, RunState};

pub fn lengths(min_ns: u64, p50_ns: u64, p99_ns: u64, max_ns: u64) -> Lengths {
    Lengths {
        min_ns,
        mean_ns: p50_ns as f64 * 1.1,
        p50_ns,
        p99_ns,
        max_ns,
        p50_by_time_ns: p99_ns * 3 / 4,
        p99_by_time_ns: max_ns * 2 / 3,
    }
}

pub fn source(source: &str, name: &str, share: f64, charged: [u64; 4]) -> SourceRow {
    let [min_ns, p50_ns, p99_ns, max_ns] = charged;
    SourceRow {
        source: source.into(),
        name: name.into(),
        detours: 5_000,
        activities: 5_000,
        rate_per_s: 250.0,
        noise: share * 0.0207,
        share,
        share_without_gaps: share * 0.6,
        detour_share: 0.03,
        charged: lengths(min_ns, p50_ns, p99_ns, max_ns),
        gap_p50_ns: 0,
        cpus: vec![0, 1],
        functions: vec![],
        senders: vec![],
        threads: vec![],
        steal: None,
    }
}

pub fn function(function: &str) -> Vec<FunctionShare> {
    vec![FunctionShare { function: function.into(), activities: 9, share: 0.97 }]
}

pub fn sender(cpu: u32, task: &str) -> Vec<SenderShare> {
    vec![SenderShare { cpu: Some(cpu), task: Some(task.into()), activities: 9, share: 0.63 }]
}

pub fn facts() -> Facts {
    Facts {
        host: "node17".into(),
        model: "AMD EPYC 7B13".into(),
        arch: "x86_64".into(),
        kernel: "6.18.5 #1 SMP PREEMPT_DYNAMIC".into(),
        hypervisor: Some("KVM".into()),

        confidential: None,
        limits: None,
        program: None,
        measured_by: "0.1.0".into(),
        summarized_by: "0.1.0".into(),
        command: vec!["anechoic".into(), "run".into()],
        method: "detours".into(),
        state: RunState::Complete,
        start_utc: "2026-05-09T07:31:17Z".into(),
        end_utc: Some("2026-05-09T07:31:27Z".into()),
        wall_ns: 10_000_000_000,
        threshold_ns: 100,
        threshold_source: "calibrated".into(),
        policy: "other".into(),
        drain: DrainPolicy::AtEnd,
        repetition: None,
        cpus: vec![0, 1],
        online: "0-1".into(),
        isolated: None,
        nohz_full: None,
        unit_cpus: false,
        tunables: Default::default(),
        traced: true,
        alternate_ns: None,
        injections: vec![],
        self_test: None,
        not_available: vec![],
        notes: vec![],
    }
}

pub fn cpu(cpu: u32, noise: f64) -> CpuNoise {
    CpuNoise {
        cpu,
        class: "AMD EPYC 7B13".into(),
        wall_ns: 10_000_000_000,
        noise,
        interval: Some(Interval { low: noise * 0.95, high: noise * 1.06 }),
        at_least: Some(noise * 0.95),
        detours: 76_100,
        rate_per_s: 7_610.0,
        lengths: Some(lengths(90, 412, 22_400, 1_132_000)),
        shortest_gap_ns: Some(9.78),
        subtracted_ns: 9.78,
        iteration_ns: Some(10.06),
        lost_detours: 0,
        page_faults: 0,
        ended_on: None,
    }
}

pub fn rows() -> Vec<SourceRow> {
    let vm = SourceRow {
        rate_per_s: 9_310.0,
        steal: Some(Steal { ns: 61_700_000, share: 0.31 }),
        ..source("vm-or-hardware", "", 0.481, [90, 410, 38_000, 1_132_000])
    };
    let tick = SourceRow {
        gap_p50_ns: 10_400,
        functions: function("tick_nohz_handler"),
        ..source("timer-tick", "", 0.399, [15_000, 20_600, 44_000, 92_000])
    };
    let worker = SourceRow {
        rate_per_s: 0.9,
        cpus: vec![1],
        functions: function("vmstat_update"),
        ..source("thread", "kworker/1:1", 0.062, [31_000, 55_000, 310_000, 310_000])
    };
    let ipi = SourceRow {
        rate_per_s: 3.1,
        gap_p50_ns: 9_900,
        functions: function("flush_tlb_func"),
        senders: sender(0, "cargo"),
        ..source("ipi", "call function", 0.0382, [9_000, 14_000, 19_000, 24_000])
    };
    let softirq = source("softirq", "RCU", 0.0195, [800, 1_200, 9_000, 31_000]);
    let tiny = source("timer", "clocksource_watchdog", 0.0003, [800, 1_200, 9_000, 31_000]);
    vec![vm, tick, worker, ipi, softirq, SourceRow { share: 0.0002, ..tiny.clone() }, tiny]
}

pub fn breakdown() -> Breakdown {
    Breakdown {
        attributed_by: "0.1.0".into(),
        rows: rows(),
        coverage: Some(Coverage {
            explained: 0.519,
            explained_without_gaps: 0.283,
            unexplained: 0.481,
            not_attributable: 0.0,
            unattributed: 0.0,
        }),
        alignment: Alignment { events: 38_213, ..Alignment::default() },
        audited: 38,
        audit_differences: vec![],
        untraced: vec!["HYP (hypervisor callbacks)".into()],
        steal_read_ns: Some(65_100_000),
        steal_placed_ns: Some(64_000_000),
    }
}

pub fn longest() -> Vec<LongDetour> {
    let part = |source: &str, name: &str, charged_ns| Part {
        source: source.into(),
        name: name.into(),
        charged_ns,
        gap_ns: 0,
        function: None,
        sent_by_cpu: None,
        sent_by_task: None,
    };
    let detour = |cpu, start_ns, length_ns, parts| LongDetour {
        cpu,
        index: 17,
        start_ns,
        length_ns,
        steal_ns: None,
        parts,
    };
    let mut worker = part("thread", "kworker/1:1", 280_000);
    worker.function = Some("vmstat_update".into());
    worker.sent_by_cpu = Some(0);
    worker.sent_by_task = Some("kworker/0:0".into());
    let mut vm = detour(1, 3_214_159_265, 1_132_000, vec![part("vm-or-hardware", "", 1_132_000)]);
    vm.steal_ns = Some(602_000);
    vec![
        vm,
        detour(1, 7_000_912_000, 310_000, vec![worker, part("timer-tick", "", 31_000)]),
        detour(0, 123_000, 92_000, vec![part("timer-tick", "", 92_000)]),
        detour(0, 9_999_000_000, 91_000, vec![part("timer-tick", "", 91_000)]),
        detour(0, 8_999_000_000, 90_000, vec![part("timer-tick", "", 90_000)]),
    ]
}

pub fn curve() -> Vec<CurvePoint> {
    let steps = [1u64, 2, 5].into_iter().cycle();
    let powers = (2..7).flat_map(|e| [10u64.pow(e); 3]);
    steps
        .zip(powers)
        .map(|(digit, power)| digit * power)
        .take_while(|&ns| ns < 1_132_000)
        .map(|threshold_ns| {
            let above = 1.0 / (1.0 + (threshold_ns as f64 - 100.0) / 300.0);
            CurvePoint {
                threshold_ns,
                detours: (152_200.0 * above) as u64,
                rate_per_s: 7_610.0 * above,
                noise: 0.0207 * above.powf(0.2),
            }
        })
        .collect()
}

pub fn summary() -> Summary {
    Summary {
        run: facts(),
        stopped: None,
        total: TotalNoise {
            wall_ns: 20_000_000_000,
            noise: 0.0207,
            interval: Some(Interval { low: 0.0199, high: 0.0216 }),
            at_least: Some(0.0199),
            detours: 152_200,
            rate_per_s: 7_610.0,
            lengths: Some(lengths(90, 412, 22_400, 1_132_000)),
            worst_cpu: Some(1),
            lost_detours: 0,
            page_faults: 0,
        },
        cpus: vec![cpu(0, 0.0201), cpu(1, 0.0213)],
        intervals: IntervalMethod {
            blocks: 100,
            block_ns: 100_000_000,
            assumes: "blocks are alike".into(),
        },
        curve: curve(),
        levels: vec![],
        pace: None,
        longest: longest(),
        sources: Some(breakdown()),
        losses: vec![],
        tracer_cost: None,
        owners: None,
        suspects: None,
        interrupts: None,
        threads: None,
        places: None,
        releases: None,
        suspect_threads: vec![],
        not_available: vec![],
    }
}

pub fn loss(what: &str, count: u64, time_share: f64) -> LossSummary {
    LossSummary { what: what.into(), intervals: 3, count, time_share, cpus: vec![1] }
}
