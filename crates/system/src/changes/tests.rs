use super::*;

const FILE: &str = "/sys/kernel/mm/ksm/run";

/// A system whose setting has this value.
fn system(now: &str) -> (tempfile::TempDir, Root) {
    Root::tree(&[(FILE, now)])
}

fn text(root: &Root) -> String {
    root.read(FILE).expect("a file")
}

#[test]
fn a_change_is_undone_unless_somebody_else_changed_it() {
    let wrote = |set: Option<&str>| Undo::Write {
        before: "inherit".to_owned(),
        set: set.map(str::to_owned),
    };
    let subtract = |added| Undo::Subtract { before: 3, added };
    let cases = [
        ("as it was set", "always [never] madvise", wrote(Some("never")), "inherit"),
        ("changed since", "[always] never", wrote(Some("never")), "[always] never"),
        ("never changed", "[inherit] never", wrote(Some("inherit")), "[inherit] never"),
        ("killed before it was written", "inherit", wrote(None), "inherit"),
        ("killed after it was written", "[never] inherit", wrote(None), "inherit"),
        ("a number", "10\n", subtract(7), "3"),
        ("others added", "12\n", subtract(7), "5"),
        ("killed while it was added, or others took some away", "8\n", subtract(7), "3"),
        ("others took more away", "2\n", subtract(7), "2"),
        ("it was never added", "3\n", subtract(7), "3"),
    ];
    for (name, now, undo, expected) in cases {
        let (directory, root) = system(now);
        let journal = directory.path().join("journal");
        let made = Made { number: 0, file: FILE.to_owned(), path: PathBuf::new(), undo };
        journal::write(&journal, std::slice::from_ref(&made)).expect("written");
        let read = read(&journal).expect("its own").made.remove(0);
        assert_eq!(read, made, "case: {name}");
        Made { path: root.path(FILE), ..read }.undo();
        assert_eq!(text(&root), expected, "case: {name}");
    }
}

#[test]
fn a_setting_is_put_back_whatever_was_set() {
    let (_directory, root) = system("0\n");
    let setting = Applied::prepare(&root, FILE).expect("a file");
    for (value, expected) in [("1", "1"), ("2", "2"), ("0", "0"), ("1", "1")] {
        assert_eq!(setting.set(value).expect("it can be set"), expected);
    }
    assert_eq!(setting.foreign().expect("a file"), None);
    let undone = setting.undo().expect("not undone yet");
    assert!(undone.is_written() && text(&root) == "0", "{undone}");

    let setting = Applied::prepare(&root, FILE).expect("a file");
    setting.set("1").expect("it can be set");
    fs::write(root.path(FILE), "2").expect("somebody else");
    assert_eq!(setting.foreign().expect("a file").as_deref(), Some("2"));
    assert!(matches!(setting.set("0"), Err(Refusal::Foreign(now)) if now == "2"));
    let undone = setting.undo().expect("not undone yet");
    assert!(undone.is_left() && undone.to_string().contains("somebody else"), "{undone}");
    assert_eq!(text(&root), "2");

    let setting = Applied::prepare(&root, FILE).expect("a file");
    setting.set("1").expect("it can be set");
    drop(setting);
    assert_eq!(text(&root), "2", "also when it is dropped");
    assert!(Applied::prepare(&root, "/sys/none").is_err());
}

#[test]
fn no_link_is_followed() {
    let (directory, root) = system("0");
    let other = directory.path().join("other");
    fs::write(&other, "0").expect("a file");
    fs::remove_file(root.path(FILE)).expect("a file");
    std::os::unix::fs::symlink(&other, root.path(FILE)).expect("a link");
    assert!(Applied::prepare(&root, FILE).is_err());
    // A journal that is a link, has another name or is another user's is none.
    let journal = directory.path().join("journal");
    let made = Made {
        number: 0,
        file: FILE.to_owned(),
        path: PathBuf::new(),
        undo: Undo::Write { before: "5".into(), set: None },
    };
    journal::write(&journal, &[made]).expect("written");
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&journal, &link).expect("a link");
    assert!(read(&link).is_none() && !link.is_symlink());
    fs::hard_link(&journal, &link).expect("a second name");
    assert!(read(&link).is_none() && !link.exists());
    assert!(read(&journal).is_some());
    let text = fs::read_to_string(&journal).expect("its own");
    let boot = Root::live().read("/proc/sys/kernel/random/boot_id").expect("Linux");
    fs::write(&journal, text.replace(&boot, "another")).expect("writable");
    assert!(read(&journal).is_none() && !journal.exists(), "of another boot");
}

#[test]
fn what_several_changes_added_is_given_back_in_any_order() {
    let file = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
    let (_directory, root) = Root::tree(&[(file, "0")]);
    let number = || root.read(file).expect("a file");
    let add = |before: u64, added: u64| {
        let undo = Undo::Subtract { before, added };
        let write = |path: &Path| fs::write(path, (before + added).to_string());
        Applied::make(&root, file, undo, write).expect("allowed")
    };
    let (first, second) = (add(0, 10), add(10, 20));
    assert_eq!(number(), "30");
    drop(first);
    assert_eq!(number(), "20");
    drop(second);
    assert_eq!(number(), "0");
}

#[test]
fn only_journals_of_dead_processes_are_used_and_only_for_settings_of_the_tables() {
    let (directory, root) = system("1");
    let other = "/etc/other";
    fs::create_dir(root.path("/etc")).expect("a directory");
    fs::write(root.path(other), "1").expect("a file");
    let runs = tempfile::tempdir().expect("a directory");
    let [dead, alive] = ["anechoic-settings-4194305-1-0".to_owned(), journal::own_name()];
    let made = |file: &str| Made {
        number: 0,
        file: file.to_owned(),
        path: PathBuf::new(),
        undo: Undo::Write { before: "5".into(), set: Some("1".into()) },
    };
    let at = |name: &str| runs.path().join(name);
    for name in [&dead, &alive] {
        journal::write(&at(name), &[made(FILE), made(other)]).expect("written");
    }
    let staged = at(&format!(".{dead}.4194305-1f"));
    fs::write(&staged, "{").expect("a file");
    let lock = Lock::take(runs.path(), 1).expect("free");
    assert!(undo_leftovers_in(runs.path(), &root).is_empty());
    assert_eq!(text(&root), "1", "its process may live in another namespace");
    drop(lock);
    let undone = undo_leftovers_in(runs.path(), &root);
    assert_eq!(
        undone.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [format!("{FILE} is 5 again")]
    );
    assert_eq!((text(&root), root.read(other).as_deref()), ("5".to_owned(), Some("1")));
    assert!(!at(&dead).exists() && !staged.exists() && at(&alive).exists());
    for (file, ours) in [
        ("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", true),
        ("/proc/sys/vm/stat_interval", true),
        ("/sys/kernel/mm/hugepages/../../../../etc/passwd", false),
        ("/etc/passwd", false),
    ] {
        assert_eq!(is_ours(file), ours, "{file}");
    }
    drop(directory);
}

/// What cannot be put back stays in the journal, and the next start tries again.
#[test]
fn what_cannot_be_put_back_is_tried_again() {
    let (_directory, root) = system("1");
    let runs = tempfile::tempdir().expect("a directory");
    let journal = runs.path().join("anechoic-settings-4194305-1-0");
    let made = Made {
        number: 0,
        file: FILE.to_owned(),
        path: PathBuf::new(),
        undo: Undo::Write { before: "5".into(), set: Some("1".into()) },
    };
    journal::write(&journal, &[made]).expect("written");
    fs::remove_file(root.path(FILE)).expect("a file");
    fs::create_dir(root.path(FILE)).expect("nothing that can be read");
    let undone = undo_leftovers_in(runs.path(), &root);
    assert!(undone.len() == 1 && undone[0].is_left() && journal.exists(), "{undone:?}");
    fs::remove_dir(root.path(FILE)).expect("empty");
    fs::write(root.path(FILE), "1").expect("a file");
    undo_leftovers_in(runs.path(), &root);
    assert_eq!((text(&root), journal.exists()), ("5".to_owned(), false));
}
