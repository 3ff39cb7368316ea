use super::*;
use crate::ensemble::Placement;
use anechoic_recording::ProblemKind;
use std::sync::atomic::Ordering;
use std::thread;

const QUICK: Patience = Patience { others: Duration::from_millis(400), work: Duration::ZERO };
const PATIENT: Patience = Patience { others: Duration::from_secs(30), work: Duration::ZERO };

fn rank_of(rank: u32, size: u32, job: Option<&str>) -> Launched {
    Launched { launcher: "test", rank, size, job: job.map(str::to_owned) }
}

fn join(
    output: &Path,
    rank: u32,
    size: u32,
    patience: Patience,
) -> Result<SharedDirectory, JoinError> {
    SharedDirectory::join(output, rank_of(rank, size, None), patience, Arc::default())
}

/// Runs `work` on `size` ranks, each in its own thread; returns their results and whether files remain.
fn ranks<T: Send>(
    size: u32,
    patience: Patience,
    work: impl Fn(SharedDirectory) -> T + Sync,
) -> (Vec<T>, bool) {
    let dir = tempfile::tempdir().expect("a directory");
    let output = dir.path().join("new/output");
    let (output, work) = (&output, &work);
    let done = thread::scope(|scope| {
        let one = |rank| {
            scope.spawn(move || {
                // The last rank comes first and rank 0 comes last.
                thread::sleep(Duration::from_millis(u64::from(size - rank) * 20));
                work(join(output, rank, size, patience).expect("all come"))
            })
        };
        let all: Vec<_> = (0..size).map(one).collect();
        all.into_iter().map(|rank| rank.join().expect("no panic")).collect()
    });
    (done, output.join(".ensemble").exists())
}

#[test]
fn all_get_what_was_given_in_order() {
    for size in [1, 2, 5] {
        let (heard, left) = ranks(size, PATIENT, |ensemble| {
            let rank = ensemble.rank();
            let mut heard = Vec::new();
            for round in 0..20_u32 {
                let mine = vec![rank as u8; (round * rank) as usize];
                let all = ensemble.gather(&mine).expect("all live");
                assert_eq!(all.is_some(), rank == 0);
                let lengths =
                    all.unwrap_or_default().iter().map(|one| one.len() as u8).collect::<Vec<_>>();
                heard.push(ensemble.broadcast(&lengths).expect("all live"));
                ensemble.meet().expect("all live");
                ensemble.broadcast(&[]).expect("all live"); // two in a row
                ensemble.gather(&[]).expect("all live");
            }
            heard
        });
        let expected: Vec<Vec<u8>> =
            (0..20).map(|round| (0..size).map(|rank| (round * rank) as u8).collect()).collect();
        assert_eq!(heard, vec![expected; size as usize], "{size} ranks");
        assert!(!left, "{size} ranks: the files are still there");
    }
}

#[test]
fn ranks_of_one_host_find_themselves_together() {
    let (placements, _) = ranks(3, PATIENT, |e| Placement::gather(&e, "1").expect("one version"));
    for (rank, placement) in (0..).zip(placements) {
        assert_eq!((placement.rank, placement.leads()), (rank, rank == 0));
        assert_eq!((placement.parallel.ranks, placement.parallel.hosts), (3, 1));
        assert_eq!(placement.parallel.through, "shared directory");
        assert_eq!(placement.parallel.here.len(), 3);
    }
}

#[test]
fn a_rank_that_leaves_early_is_missed_at_once() {
    let (outcomes, left) = ranks(4, PATIENT, |ensemble| {
        ensemble.meet().expect("all are here");
        if ensemble.rank() == 2 {
            return "left".to_owned();
        }
        let why = ensemble.meet().expect_err("one is not").to_string();
        assert_eq!(ensemble.broadcast(&[]).expect_err("no step after that").to_string(), why);
        why
    });
    assert!(!left, "all have left");
    assert!(
        outcomes[0].contains("rank 2 on ") && outcomes[0].contains("ended early"),
        "{}",
        outcomes[0]
    );
    for why in [&outcomes[1], &outcomes[3]] {
        assert!(why.contains("rank 0 on ") && why.contains("ended the job: rank 2 on "), "{why}");
    }
}

#[test]
fn a_rank_that_hangs_is_missed_after_a_while() {
    let hanging = AtomicBool::new(true);
    let (outcomes, left) = ranks(3, QUICK, |ensemble| {
        ensemble.meet().expect("all are here");
        if ensemble.rank() == 1 {
            while hanging.load(Ordering::Acquire) {
                thread::sleep(Duration::from_millis(20));
            }
        } else if ensemble.rank() == 0 {
            let why = ensemble.meet().expect_err("one hangs").to_string();
            drop(ensemble);
            hanging.store(false, Ordering::Release);
            return why;
        }
        ensemble.meet().expect_err("not all came").to_string()
    });
    assert!(left, "who comes late finds out why");
    assert!(
        outcomes[0].contains("rank 1 on ") && outcomes[0].contains("did not come within"),
        "{}",
        outcomes[0]
    );
    for why in &outcomes[1..] {
        assert!(why.contains("ended the job: rank 1 on "), "{why}");
    }
}

#[test]
fn inconsistent_ranks_are_reported_to_all() {
    type Case = (&'static str, &'static [(u32, u32)], &'static str);
    let cases: [Case; 4] = [
        ("one is missing", &[(0, 4), (1, 4), (2, 4)], "rank 3 did not come to "),
        ("two are missing", &[(0, 6), (1, 6), (2, 6), (5, 6)], "ranks 3-4 did not come to "),
        ("two of one rank", &[(0, 3), (1, 3), (1, 3)], "both have rank 1"),
        ("different sizes", &[(0, 2), (1, 3)], "rank 1 on "),
    ];
    for (name, all, part) in cases {
        let dir = tempfile::tempdir().expect("a directory");
        let output = dir.path();
        let errors: Vec<String> = thread::scope(|scope| {
            let one = |&(rank, size)| scope.spawn(move || join(output, rank, size, QUICK));
            let all: Vec<_> = all.iter().map(one).collect();
            let errors =
                all.into_iter().map(|rank| rank.join().expect("no panic").expect_err(name));
            errors.map(|error| error.to_string()).collect()
        });
        assert!(errors[0].contains(part), "case: {name}: {errors:?}");
        for error in &errors[1..] {
            assert!(
                error.starts_with("rank 0 ended the job: ") && error.contains(part),
                "case: {name}: {errors:?}"
            );
        }
        assert!(
            fs::read_dir(output).expect("it is there").next().is_none(),
            "case: {name}: not empty"
        );
    }
}

#[test]
fn a_directory_in_use_is_refused_by_all() {
    type Case = (&'static str, fn(&Path));
    let leave = |output: &Path, files: &[(&str, &str)]| {
        for (name, content) in files {
            let file = output.join(name);
            fs::create_dir_all(file.parent().expect("a directory")).expect("it can be made");
            files::write(&file, content.as_bytes()).expect("it can be written");
        }
    };
    let cases: [Case; 3] = [
        ("a recording", |output| {
            fs::create_dir_all(output.join("host=a")).expect("it can be made")
        }),
        ("a job that was cut off", |output| {
            fs::create_dir_all(output.join(".ensemble/hello")).expect("it can be made")
        }),
        ("a job that was cut off before its first word", |output| {
            fs::create_dir_all(output.join(".ensemble")).expect("it can be made")
        }),
    ];
    for (name, make) in cases {
        let dir = tempfile::tempdir().expect("a directory");
        let output = dir.path();
        make(output);
        if output.join(".ensemble/hello").exists() {
            // All messages that a job could have left, with the tokens of others.
            let words = r#"{"word":"w","host":"h","words":["w","x","y"]}"#;
            leave(
                output,
                &[
                    (".ensemble/welcome", words),
                    (".ensemble/hello/1.x", "{}"),
                    (".ensemble/w/from-first/0", ""),
                ],
            );
        }
        let began = Instant::now();
        let errors: Vec<JoinError> = thread::scope(|scope| {
            let all: Vec<_> =
                (0..3).map(|rank| scope.spawn(move || join(output, rank, 3, PATIENT))).collect();
            all.into_iter().map(|rank| rank.join().expect("no panic").expect_err(name)).collect()
        });
        assert!(
            matches!(&errors[0], JoinError::Other(problem) if problem.kind == ProblemKind::CannotWrite),
            "case: {name}: {errors:?}"
        );
        assert!(
            errors.iter().all(|error| error.to_string().contains("is not empty")),
            "case: {name}: {errors:?}"
        );
        assert!(began.elapsed() < PATIENT.others, "case: {name}: they waited for nothing");
    }
}

#[test]
fn a_rank_alone_says_what_it_found() {
    let cases = [
        ("no directory", None, "rank 0 did not come to"),
        ("an old one", Some(".ensemble/hello"), "left over from an earlier job"),
    ];
    for (name, there, part) in cases {
        let dir = tempfile::tempdir().expect("a directory");
        if let Some(there) = there {
            fs::create_dir_all(dir.path().join(there)).expect("it can be made");
        }
        let error = join(dir.path(), 1, 2, QUICK).expect_err(name).to_string();
        assert!(error.contains(part), "case: {name}: {error}");
        let hellos = files::names(&dir.path().join(".ensemble/hello")).unwrap_or_default();
        assert!(hellos.is_empty(), "case: {name}: {hellos:?}");
    }
}

#[test]
fn ranks_of_an_earlier_job_are_not_taken_for_those_of_this_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = dir.path();
    let join = |rank, job| {
        SharedDirectory::join(output, rank_of(rank, 2, Some(job)), PATIENT, Arc::default())
    };
    thread::scope(|scope| {
        let stop = Arc::new(AtomicBool::new(false));
        let at_old = Arc::clone(&stop);
        let old = scope.spawn(move || {
            SharedDirectory::join(output, rank_of(1, 2, Some("job=1")), PATIENT, at_old)
        });
        let first = scope.spawn(move || join(0, "job=2"));
        while files::names(&output.join(".ensemble/hello")).map_or(0, |names| names.len()) < 1 {
            thread::sleep(Duration::from_millis(5));
        }
        let new = join(1, "job=2").expect("rank 0 is of its job");
        let first = first.join().expect("no panic").expect("rank 1 is of its job");
        stop.store(true, Ordering::Release);
        let old = old.join().expect("no panic").expect_err("its rank 0 never comes");
        assert_eq!(Problem::from(old), Problem::called_off());
        assert_eq!(new.gather(&[7]).expect("rank 0 lives"), None);
        assert_eq!(first.gather(&[1]).expect("rank 1 lives"), Some(vec![vec![1], vec![7]]));
        drop(new);
    });
}

#[test]
fn a_file_that_is_not_all_there_is_waited_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("part");
    files::write(&file, b"whole").expect("it can be written");
    assert_eq!(files::read(&file).as_deref(), Some(&b"whole"[..]));
    let bytes = fs::read(&file).expect("it is there");
    for length in 0..bytes.len() {
        fs::write(&file, &bytes[..length]).expect("it can be written");
        assert_eq!(files::read(&file), None, "{length} bytes");
    }
    fs::write(&file, [&bytes[..], b"more"].concat()).expect("it can be written");
    assert_eq!(files::read(&file), None, "more than was said");
}
