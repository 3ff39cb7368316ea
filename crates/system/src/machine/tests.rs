//! Descriptions of other machines, from copies of their files.

use super::*;

fn cpu_file(cpu: u32, file: &str) -> String {
    format!("sys/devices/system/cpu/cpu{cpu}/{file}")
}

fn file(path: &str) -> String {
    path.to_owned()
}

const INTEL: &str = "processor\t: 0\nmodel name\t: Intel(R) Core(TM) i7\n\nprocessor\t: 1\nmodel name\t: Intel(R) Core(TM) i7\n\nprocessor\t: 2\nmodel name\t: Intel(R) Core(TM) i7\n";

#[test]
fn hybrid_intel_has_two_classes() {
    let (_directory, root) = Root::tree(&[
        (file("proc/cpuinfo"), INTEL),
        (file("sys/devices/system/cpu/online"), "0-2\n"),
        (file("sys/devices/system/cpu/smt/active"), "1\n"),
        (file("sys/devices/cpu_core/cpus"), "0-1\n"),
        (file("sys/devices/cpu_atom/cpus"), "2\n"),
        (cpu_file(0, "topology/thread_siblings_list"), "0-1\n"),
        (cpu_file(0, "cpufreq/scaling_governor"), "powersave\n"),
        (cpu_file(0, "cpufreq/cpuinfo_max_freq"), "5000000\n"),
        (cpu_file(2, "cpufreq/cpuinfo_max_freq"), "3600000\n"),
    ]);
    let machine = describe_in(&root, None, &[0, 1]);
    assert_eq!(machine.model, "Intel(R) Core(TM) i7");
    let classes: Vec<&str> = machine.cpus.iter().map(|cpu| cpu.class.as_str()).collect();
    let (fast, slow) =
        ("Intel(R) Core(TM) i7, performance core", "Intel(R) Core(TM) i7, efficient core");
    assert_eq!(classes, [fast, fast, slow]);
    assert_eq!(
        (machine.smt, machine.online.as_str(), machine.allowed.as_str()),
        (Some(true), "0-2", "0-1")
    );
    assert_eq!((machine.cpus[0].siblings.as_str(), machine.cpus[2].siblings.as_str()), ("0-1", ""));
    assert_eq!(machine.cpus[0].governor.as_deref(), Some("powersave"));
    assert_eq!(machine.cpus[1].governor, None);
}

#[test]
fn a_server_with_two_nodes_and_an_offline_cpu() {
    let mut files = vec![
        (file("proc/cpuinfo"), INTEL),
        (file("proc/meminfo"), "MemTotal:       65536 kB\nMemFree: 1 kB\n"),
        (file("proc/sys/kernel/hostname"), "node17\n"),
        (file("proc/sys/kernel/osrelease"), "6.1.0-x\n"),
        (file("proc/sys/kernel/version"), "#1 SMP PREEMPT_RT\n"),
        (file("proc/cmdline"), "ro nohz_full=2 isolcpus=domain,2 skew_tick=1\n"),
        (
            file("boot/config-6.1.0-x"),
            "# CONFIG_HZ_100 is not set\nCONFIG_HZ_1000=y\nCONFIG_HZ=1000\n",
        ),
        (file("sys/devices/system/cpu/online"), "0,2\n"),
        (file("sys/devices/system/cpu/nohz_full"), "(null)\n"),
        (file("sys/devices/system/cpu/isolated"), "2\n"),
    ];
    for (cpu, node) in [(0, "0"), (2, "1")] {
        files.push((cpu_file(cpu, &format!("node{node}/cpulist")), ""));
        files.push((cpu_file(cpu, "topology/physical_package_id"), node));
        files.push((cpu_file(cpu, "topology/core_id"), "7\n"));
        files.push((cpu_file(cpu, "cache/index3/level"), "3\n"));
        files.push((cpu_file(cpu, "cache/index3/type"), "Unified\n"));
        files.push((cpu_file(cpu, "cache/index3/size"), "32768K\n"));
        files.push((cpu_file(cpu, "cache/index3/coherency_line_size"), "64\n"));
        files.push((cpu_file(cpu, "cache/index3/shared_cpu_list"), "0-3\n"));
        files.push((cpu_file(cpu, "cache/index0/level"), "1\n"));
    }
    let (_directory, root) = Root::tree(&files);
    let machine = describe_in(&root, Some("KVM".to_owned()), &[0]);
    assert_eq!(
        (machine.host.as_str(), machine.kernel.as_str()),
        ("node17", "6.1.0-x #1 SMP PREEMPT_RT")
    );
    assert_eq!((machine.tick_hz, machine.memory_bytes), (Some(1000), 64 << 20));
    assert_eq!(machine.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), [0, 2]);
    let cpu = &machine.cpus[1];
    assert_eq!((cpu.package, cpu.core, cpu.node), (Some(1), Some(7), Some(1)));
    assert_eq!(cpu.caches.len(), 1, "a cache of unknown size is left out");
    assert_eq!((cpu.caches[0].size_bytes, cpu.caches[0].shared_cpus.as_str()), (32 << 20, "0-3"));

    let unmet: Vec<&str> =
        machine.settings.iter().filter(|s| is_unmet(s)).map(|s| s.name.as_str()).collect();
    assert_eq!(unmet, ["nohz_full"]);
    let skew = machine.settings.iter().find(|s| s.name == "skew_tick").unwrap();
    assert_eq!((skew.requested.as_deref(), &skew.effective), (Some("1"), &None));
    let preempt = machine.settings.iter().find(|s| s.name == "preempt").unwrap();
    assert_eq!(preempt.effective.as_deref(), Some("rt"));
}

#[test]
fn big_little_arm_cores_differ_by_part_and_capacity() {
    let cpuinfo = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n";
    let (_directory, root) = Root::tree(&[
        (file("proc/cpuinfo"), cpuinfo),
        (file("sys/devices/system/cpu/online"), "0-1\n"),
        (cpu_file(0, "cpu_capacity"), "446\n"),
        (cpu_file(1, "cpu_capacity"), "1024\n"),
    ]);
    let machine = describe_in(&root, None, &[0, 1]);
    assert_eq!(machine.model, "Cortex-A53 + Cortex-A72");
    assert_eq!(machine.cpus[0].class, "Cortex-A53, capacity 446");
    assert_eq!(machine.cpus[1].class, "Cortex-A72, capacity 1024");
}

#[test]
fn a_guest_whose_memory_is_protected_is_named() {
    let flags = |flags: &str| format!("processor\t: 0\nflags\t\t: fpu {flags}\n");
    let device = |name: &str| format!("dev/{name}");
    let cases = [
        ("an ordinary guest", flags("hypervisor sse"), None, None),
        ("a host that offers it", flags("sev_snp"), None, None),
        ("SEV-SNP by its flag", flags("hypervisor sev_snp"), None, Some("AMD SEV-SNP")),
        ("by its device", flags("hypervisor"), Some(device("sev-guest")), Some("AMD SEV-SNP")),
        ("TDX by its flag", flags("hypervisor tdx_guest"), None, Some("Intel TDX")),
        ("by its device", String::new(), Some(device("tdx_guest")), Some("Intel TDX")),
        ("a longer flag", flags("hypervisor sev_snp_host"), None, None),
    ];
    for (case, cpuinfo, device, expected) in cases {
        let device = device.iter().map(|path| (path.clone(), ""));
        let files: Vec<(String, &str)> =
            [(file("proc/cpuinfo"), &*cpuinfo)].into_iter().chain(device).collect();
        let (_directory, root) = Root::tree(&files);
        let machine = describe_in(&root, None, &[0]);
        assert_eq!(machine.confidential.as_deref(), expected, "{case}");
    }
}

#[test]
fn nothing_readable_is_nothing_described() {
    let (_directory, root) = Root::tree::<&str>(&[]);
    let machine = describe_in(&root, None, &[3]);
    assert_eq!((machine.model.as_str(), machine.tick_hz, machine.smt), ("", None, None));
    assert_eq!((machine.online.as_str(), machine.cpus.len()), ("3", 1));
    let known: Vec<_> = machine.settings.iter().filter(|s| s.effective.is_some()).collect();
    assert!(known.is_empty(), "invented: {known:?}");
}

#[test]
fn odd_files_do_no_harm() {
    let (_directory, root) = Root::tree(&[
        (file("proc/cpuinfo"), "::::\n\nprocessor: 99999999999\n"),
        (file("proc/meminfo"), "MemTotal: 18446744073709551615 kB\n"),
        (file("proc/config.gz"), "no gzip"),
        (file("proc/cmdline"), "\"\" = == -- \"\n"),
        (file("sys/devices/system/cpu/online"), "0-x\n"),
        (file("sys/devices/system/cpu/smt/active"), "maybe\n"),
        (cpu_file(0, "topology/core_id"), "-1\n"),
        (cpu_file(0, "cpu_capacity"), "\u{0}\n"),
    ]);
    let machine = describe_in(&root, None, &[0]);
    assert_eq!((machine.memory_bytes, machine.tick_hz, machine.smt), (0, None, None));
    assert_eq!((machine.online.as_str(), machine.cpus[0].core), ("0", None));
}

#[test]
fn this_machine() {
    let machine = describe();
    assert!(!machine.kernel.is_empty() && !machine.model.is_empty() && machine.memory_bytes > 0);
    assert_eq!(crate::cpus::parse(&machine.online).unwrap().len(), machine.cpus.len());
    assert_eq!(machine.settings.len(), SETTINGS.len());
    let config = std::path::Path::new("/proc/config.gz").exists();
    assert!(!config || machine.tick_hz.is_some_and(|hz| (24..=10_000).contains(&hz)));
}
