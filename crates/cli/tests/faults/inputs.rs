//! Hostile input: recordings, tables and texts that were changed at random, planted links and special files.

use super::{Place, entries, possible};
use crate::change::{Numbers, change};
use crate::tool;
use std::fs;
use std::path::{Path, PathBuf};

/// Number of changed recordings and of changed texts.
const CHANGED: usize = 200;

/// Commands that read the recording `changed`.
const READING: [&str; 13] = [
    "summary changed",
    "attribute changed",
    "sources changed",
    "longest changed",
    "compare changed known",
    "gate changed --max-noise 1% --max-detour 1ms",
    "rank changed fwq",
    "sweep changed fwq",
    "history .",
    "list .",
    "export perfetto changed -o changed.trace --force",
    "predict phases changed",
    "report changed -o page.html --force",
];

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = entries(dir)
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect();
    all.sort();
    all
}

#[test]
fn recordings_that_were_changed_at_random() {
    if !possible() {
        return;
    }
    let place = Place::new();
    place.run("anechoic run -q -d 200ms -o known >&-; anechoic measure fwq -q --cpus 1 --repetitions 50 -o fwq >&-");
    let mut numbers = Numbers(2);
    for number in 0..CHANGED {
        let original = if number % 4 == 0 { "fwq" } else { "known" };
        place.run(&format!("rm -rf changed; cp -r {original} changed; rm -f changed/SHA256SUMS"));
        let files = files(&place.at("changed"));
        let file = &files[numbers.below(files.len())];
        let mut content = fs::read(file).expect("a file");
        change(&mut numbers, &mut content, &[]);
        fs::write(file, content).expect("it can be written");
        let command = READING[numbers.below(READING.len())];
        // Half a gigabyte is enough for what so small a recording has.
        place.run(&format!(
            "anechoic() {{ timeout -k 5 60 prlimit --data=536870912 {} \"$@\"; echo \"code $?\" >&2; }}; anechoic {command} >&-",
            tool::ANECHOIC
        ));
    }
    place.leave();
}

#[test]
fn tables_and_texts_that_were_changed_at_random() {
    if !possible() {
        return;
    }
    let place = Place::new();
    let times = "processor,copies,rate_hz,milliseconds\nP,1,none,100.1\nP,1,100,100.9\nP,1,1000,108.2\nP,1,2000,117.5\n";
    let costs = "processor,trap_us,handler_us\nP,1.5,6.5\n";
    let text = "# length_ns: 1000000000\n100 2000\n5000000 1500.5\n900000000 30000\n";
    let mut numbers = Numbers(3);
    for _ in 0..CHANGED {
        for (name, original) in [("times.csv", times), ("costs.csv", costs), ("detours.txt", text)]
        {
            let mut content = original.as_bytes().to_vec();
            change(&mut numbers, &mut content, &[]);
            fs::write(place.at(name), content).expect("it can be written");
        }
        place.run("anechoic predict ticks --times times.csv --costs costs.csv >&-; anechoic predict phases detours.txt >&-");
    }
    place.leave();
}

#[test]
fn planted_links_and_special_files() {
    if !possible() {
        return;
    }
    let _alone = tool::alone();
    let place = Place::new();
    place.run("anechoic run -q -d 200ms -o known >&-; echo precious > victim");
    let names = [
        "run.json",
        "SHA256SUMS",
        "attribution.json",
        "cluster.json",
        "activities",
        "detours",
        "detours/part-00000.parquet",
    ];
    for name in names {
        for plant in
            ["ln -s ../victim", "ln -s /dev/zero", "ln -s /dev/full", "mkfifo", "mkdir", "ln -s ."]
        {
            for hidden in ["", ".tmp", ".new", ".last"] {
                let (dir, base) =
                    name.rsplit_once('/').map_or(("", name), |(dir, base)| (dir, base));
                let planted = if hidden.is_empty() {
                    name.to_owned()
                } else {
                    format!("{dir}/.{base}{hidden}")
                };
                place.run(&format!(
                    "rm -rf r; cp -r known r; rm -rf r/{planted}; {plant} r/{planted}; \
                     anechoic attribute r >&-; anechoic merge r >&-; anechoic summary r >&-"
                ));
            }
        }
    }
    let victim = fs::read_to_string(place.at("victim")).expect("a file");
    assert_eq!(victim, "precious\n");
    place.leave();
}
