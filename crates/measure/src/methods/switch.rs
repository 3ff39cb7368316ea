//! The context-switch ring: processes or threads on one CPU pass a token, and each works on its own memory when it has it
//! (`lat_ctx` of lmbench, McVoy & Staelin 1996).

use super::frame::fitting;
use super::{Method, frame};
use crate::experiment::{
    Amount, Cell, Experiment, Host, Order, Pages, Pinning, Ring, Sample, Samples,
};
use crate::kernel::Kernel;
use anechoic_kernels::memory::Params;
use anechoic_recording::machine::Machine;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::switch::Partners;
use anechoic_recording::{Problem, ProblemKind, methods};

/// The kernel of members without a working set.
const EMPTY: &str = "empty";
/// Number of hops in a sample without a switch.
const HOPS: u32 = 8;
/// The usual working sets below the largest, in bytes.
const USUAL_BYTES: [u64; 6] = [0, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// The largest usual working set is this many times the second-level cache.
const LARGEST_CACHES: u64 = 4;
/// The second-level cache that is assumed where the machine hides it, in bytes.
const USUAL_CACHE: u64 = 1 << 20;
/// The largest working set that can be asked for, in bytes.
const LARGEST: u64 = 1 << 30;
/// The smallest and the largest number of samples in a series.
const SAMPLES: [u64; 2] = [3, 100_000];
/// Seed of the order, the same in every run.
const SEED: u64 = 1;

pub(super) static METHOD: Method = Method {
    title: "context-switch ring",
    source: "McVoy & Staelin 1996",
    about: "Context-switch ring: what a switch costs, by number of processes and size of their working sets",
    details: "On one CPU, processes (or threads) in a ring pass a token through pipes: whoever has it passes over its own working set \
              and writes the token to the next. A hop without a switch, in which one process writes and reads the token by itself and passes \
              over a warm working set, is measured in the same blocks. The difference is the cost of a switch: direct with empty working \
              sets, and beyond that indirect, because the members displace each other's memory from the caches. Recording kernel \
              events would be a part of that cost, so everything is measured without them, and once more with them: this shows what they cost, \
              and what lengthened a sample.",
    examples: "  anechoic measure switch                               the usual sweep, about a minute on the last CPU
  anechoic measure switch --partners processes,threads  what the change of the address space adds
  anechoic measure switch --members 2,32 --working-set 0,32k,4m --cpus 1 -o switch",
    options: &[OPTIONS],
    one_cpu: true,
    result: methods::SWITCH,
    ..Method::new(methods::SWITCH, experiment)
};

fn partners() -> Vec<(&'static str, &'static str)> {
    vec![
        (Partners::Processes.name(), "a switch also changes the address space"),
        (Partners::Threads.name(), "threads of one process"),
    ]
}

fn accesses() -> Vec<(&'static str, &'static str)> {
    vec![("read", ""), ("write", "")]
}

/// Parses a size in bytes: `0`, `64k`, `4m`.
pub(super) fn bytes(text: &str) -> Result<Vec<u64>, String> {
    let text = text.trim();
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    match number.filter(|&bytes| bytes <= LARGEST) {
        Some(bytes) => Ok(vec![bytes]),
        None => Err(format!("'{text}' is not a size up to 1024m, such as 0, 64k or 4m")),
    }
}

static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "members",
        Value::Count { least: 2, most: 64 },
        "N",
        "Numbers of members of the ring, measured alternately",
    )
    .many()
    .default("2,4,8,16"),
    OptionRow::new(
        "working-set",
        Value::Numbers(bytes),
        "SIZE",
        "Working set of each member [default: 0, 4k to 1m by factors of 4, and 4 times the L2 cache]",
    )
    .many(),
    OptionRow::new("partners", Value::Choice(partners), "KIND", "What the members are")
        .many()
        .default("processes"),
    OptionRow::new(
        "access",
        Value::Choice(accesses),
        "HOW",
        "How a member passes over its working set, line by line",
    )
    .default("read"),
    OptionRow::new(
        "point-time",
        Value::Duration,
        "TIME",
        "Time for the samples of one ring with one working set in one block",
    )
    .default("20ms"),
    OptionRow::new(
        "blocks",
        Value::Count { least: 2, most: 1000 },
        "N",
        "Number of blocks; each measures everything once, in a different order",
    )
    .default("5"),
    frame::ONE_POLICY,
];

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let [cpu] = host.cpus[..] else {
        return Err(ProblemKind::Usage
            .problem("this method measures only one CPU", "name one, for example --cpus 1"));
    };
    let rings = rings(answers);
    let (usual, note) = usual_sizes(&host.machine, cpu);
    let asked = sorted(answers.all::<Vec<u64>>("working-set").concat());
    let asked = if asked.is_empty() { usual } else { asked };
    let (sizes, too_large) = sizes(asked, &rings)?;
    let policy = frame::policy(answers.one("policy")?);
    let [least, most] = SAMPLES;
    let samples = Samples::Within { time: answers.one("point-time")?, least, most };
    let access = answers.one::<&str>("access")?;
    let mut cells = Vec::new();
    // Events are switched off and on only once in a block.
    for (group, events_off) in [(0, true), (1, false)] {
        for &bytes in &sizes {
            let sample = Sample {
                kernel: kernel(access, bytes)?,
                amount: Amount::Pass,
                samples,
                maiv_ppm: None,
                watched: false,
            };
            for &ring in &rings {
                let cell = Cell::sampling(sample, Pinning::Cpus(vec![cpu]));
                cells.push(Cell { policy, ring: Some(ring), events_off, group, ..cell });
            }
        }
    }
    Ok(Experiment {
        blocks: u32::try_from(answers.one::<u64>("blocks")?).unwrap_or(u32::MAX),
        order: Order::Shuffled { seed: SEED },
        notes: note.into_iter().collect(),
        absent: too_large.into_iter().collect(),
        pages: Pages::Base,
        ..Experiment::listed(METHOD.id, cells)
    })
}

/// Returns the rings to measure; the first is the one without switches.
fn rings(answers: &Answers) -> Vec<Ring> {
    let kinds = answers.all::<&str>("partners");
    let all = Partners::ALL.into_iter().filter(|partners| kinds.contains(&partners.name()));
    let members = sorted(answers.all::<u64>("members"));
    let ring = |partners, members| Ring { members, partners, switches: true };
    let of_kind = |partners| {
        // There are 64 at most.
        members.iter().map(move |&members| ring(partners, members as u32))
    };
    let rings: Vec<Ring> = all.flat_map(of_kind).collect();
    let alone = rings.first().map(|first| Ring { members: HOPS, switches: false, ..*first });
    alone.into_iter().chain(rings).collect()
}

fn sorted(mut values: Vec<u64>) -> Vec<u64> {
    values.sort_unstable();
    values.dedup();
    values
}

fn kernel(access: &str, bytes: u64) -> Result<Kernel, Problem> {
    match (bytes, access) {
        (0, _) => Kernel::find(EMPTY),
        (_, "write") => Kernel::on_memory("write-sequential", Params { bytes }),
        _ => Kernel::on_memory("read-sequential", Params { bytes }),
    }
}

/// Returns the usual working sets in bytes, and a note if the second-level cache is not known.
fn usual_sizes(machine: &Machine, cpu: u32) -> (Vec<u64>, Option<String>) {
    let known = machine.cpus.iter().find(|known| known.cpu == cpu);
    let caches = known.into_iter().flat_map(|known| &known.caches);
    let mut data = caches.filter(|cache| cache.kind != "Instruction" && cache.size_bytes > 0);
    let second = data.find(|cache| cache.level == 2).map(|cache| cache.size_bytes);
    let note = second.is_none().then(|| {
        format!("the size of the L2 cache is not known: {} KiB are assumed", USUAL_CACHE >> 10)
    });
    let largest = LARGEST_CACHES * second.unwrap_or(USUAL_CACHE);
    let smaller = USUAL_BYTES.into_iter().filter(|&bytes| bytes < largest);
    (smaller.chain([largest]).collect(), note)
}

/// Returns the number of working sets that exist at once: those of the largest ring of each kind of partners. A hop
/// without a switch uses one of them.
fn working_sets(rings: &[Ring]) -> u64 {
    let largest = |partners| {
        let of_kind = rings.iter().filter(move |ring| ring.switches && ring.partners == partners);
        of_kind.map(|ring| u64::from(ring.members)).max().unwrap_or(0)
    };
    Partners::ALL.into_iter().map(largest).sum::<u64>().max(1)
}

/// Returns the working sets that fit into the free memory for all members at once, and states which do not.
fn sizes(asked: Vec<u64>, rings: &[Ring]) -> Result<(Vec<u64>, Option<NotAvailable>), Problem> {
    let members = working_sets(rings);
    let (fit, too_large) = fitting(asked.iter().map(|bytes| bytes * members).collect(), 0, None)?;
    let too_large = too_large.map(|absent| {
        let most = fit.last().map_or(0, |all| all / members);
        NotAvailable { what: format!("working sets over {} KiB", most >> 10), ..absent }
    });
    Ok((fit.into_iter().map(|all| all / members).collect(), too_large))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_that_of_the_largest_ring_of_each_kind() {
        let ring = |partners, members, switches| Ring { members, partners, switches };
        let alone = ring(Partners::Processes, HOPS, false);
        let two = ring(Partners::Processes, 2, true);
        let four = ring(Partners::Threads, 4, true);
        let cases: [(&str, &[Ring], u64); 3] = [
            ("a hop without a switch alone", &[alone], 1),
            ("two members, and hops without a switch", &[alone, two], 2),
            ("two kinds of partners", &[alone, two, four], 6),
        ];
        for (name, rings, expected) in cases {
            assert_eq!(working_sets(rings), expected, "case: {name}");
        }
    }

    #[test]
    fn sizes_are_read_and_others_refused() {
        let cases = [
            ("0", Some(0)),
            ("64k", Some(64 << 10)),
            (" 4M", Some(4 << 20)),
            ("1000", Some(1000)),
            ("", None),
            ("k", None),
            ("-4k", None),
            ("4g", None),
            ("4µ", None),
            ("1025m", None),
            ("18446744073709551615m", None),
        ];
        for (text, expected) in cases {
            assert_eq!(bytes(text).ok(), expected.map(|bytes| vec![bytes]), "case: {text}");
        }
    }

    #[test]
    fn every_ring_stands_beside_the_hop_without_a_switch_without_and_with_events() {
        let cpu = anechoic_system::cpus::allowed()[0];
        let host = Host { cpus: vec![cpu], machine: anechoic_system::machine::describe() };
        let given = [
            ("members", "4,2,4"),
            ("working-set", "4k,0"),
            ("partners", "threads,processes"),
            ("access", "write"),
        ];
        let made = METHOD.with(&given, &host).expect("an experiment");
        let of_cell = |cell: &Cell| {
            let (ring, sample) = (cell.ring.expect("a ring"), cell.sample().expect("samples"));
            let bytes = sample.kernel.params().map_or(0, |params| params.bytes);
            (cell.events_off, bytes, ring.switches, ring.members, ring.partners.name())
        };
        let of_size = |(off, bytes)| {
            let [p, t] = ["processes", "threads"];
            [(false, 8, p), (true, 2, p), (true, 4, p), (true, 2, t), (true, 4, t)]
                .map(|(switches, members, partners)| (off, bytes, switches, members, partners))
        };
        let all = [(true, 0), (true, 4096), (false, 0), (false, 4096)];
        assert_eq!(made.cells.iter().map(of_cell).collect::<Vec<_>>(), all.map(of_size).concat());
        let two = Host { cpus: vec![0, 1], ..host.clone() };
        let error = METHOD.with(&[], &two).expect_err("one CPU");
        assert!(error.to_string().contains("only one CPU"), "{error}");
        for (option, value) in [("members", "1"), ("members", "65"), ("working-set", "2g")] {
            assert!(METHOD.with(&[(option, value)], &host).is_err(), "--{option} {value}");
        }
    }
}
