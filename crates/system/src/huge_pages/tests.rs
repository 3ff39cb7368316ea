use super::*;

const OFF: &str = "always inherit madvise [never]";
const INHERIT: &str = "always [inherit] madvise never";

/// Returns the path of a setting of transparent pages.
fn enabled(kib: u64) -> String {
    format!("{TRANSPARENT}/hugepages-{kib}kB/enabled")
}

#[test]
fn sizes_are_those_that_the_kernel_lists() {
    let files = [
        (enabled(64), OFF),
        (enabled(2048), INHERIT),
        (format!("{TRANSPARENT}/hugepages-8kB/shmem_enabled"), OFF),
        (format!("{POOLS}/hugepages-1048576kB/nr_hugepages"), "0"),
        (format!("{POOLS}/hugepages-2048kB/nr_hugepages"), "0"),
    ];
    let (_directory, root) = Root::tree(&files);
    assert_eq!(transparent_sizes(&root), [64 << 10, 2 << 20]);
    assert_eq!(explicit_sizes(&root), [2 << 20, 1 << 30]);
    let files = [
        (format!("{TRANSPARENT}/enabled"), "always [madvise] never"),
        (format!("{TRANSPARENT}/hpage_pmd_size"), "2097152"),
    ];
    let (_directory, root) = Root::tree(&files);
    assert_eq!(transparent_sizes(&root), [2 << 20], "an older kernel");
    assert!(is_given(&root, 2 << 20));
}

#[test]
fn transparent_pages_of_one_size_are_given_and_no_larger_ones_until_the_change_is_dropped() {
    let global = format!("{TRANSPARENT}/enabled");
    let files = [
        (global, "always [madvise] never"),
        (enabled(64), OFF),
        (enabled(512), "[always] inherit madvise never"),
        (enabled(2048), INHERIT),
    ];
    let (_directory, root) = Root::tree(&files);
    let now = || [64, 512, 2048].map(|kib| root.read(&enabled(kib)).expect("a file"));
    let before = now();
    let change = only_transparent(&root, 64 << 10).expect("allowed");
    assert_eq!(now(), ["madvise", "never", "never"]);
    drop(change);
    assert_eq!(now(), ["never", "always", "inherit"]);
    let change = only_transparent(&root, 2 << 20).expect("allowed");
    assert_eq!(now(), ["never", "always", "inherit"], "these pages are given already");
    drop(change);
    assert_ne!(before, now(), "a file of the kernel shows all choices");
    let error = only_transparent(&root, 8 << 10).expect_err("not offered");
    assert!(error.to_string().contains("8 KiB"), "{error}");
}

#[test]
fn a_pool_is_made_larger_by_what_it_lacks_and_given_back() {
    let pool = format!("{POOLS}/hugepages-2048kB");
    let file = |name: &str| format!("{pool}/{name}");
    let files =
        [(file("nr_hugepages"), "5"), (file("free_hugepages"), "4"), (file("resv_hugepages"), "1")];
    let (_directory, root) = Root::tree(&files);
    let size = || root.number::<u64>(&file("nr_hugepages")).expect("a number");
    drop(reserve(&root, 2 << 20, 3).expect("enough"));
    assert_eq!(size(), 5);
    let change = reserve(&root, 2 << 20, 10).expect("allowed");
    assert_eq!(size(), 12);
    drop(change);
    assert_eq!(size(), 5);
    let error = reserve(&root, 1 << 30, 1).expect_err("no such pool");
    assert!(error.to_string().contains("1 GiB"), "{error}");
}
