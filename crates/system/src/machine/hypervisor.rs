//! Which hypervisor, if any, this machine runs under.

use super::Root;

/// Returns the name of the hypervisor of the live system, if any.
///
/// On x86, CPUID alone decides; elsewhere the kernel, the device tree and the firmware's product name, in
/// this order.
pub fn live(root: &Root) -> Option<String> {
    if cfg!(target_arch = "x86_64") { from_cpuid() } else { from_files(root) }
}

#[cfg(target_arch = "x86_64")]
fn from_cpuid() -> Option<String> {
    use raw_cpuid::{CpuId, Hypervisor};
    let cpuid = CpuId::new();
    if !cpuid.get_feature_info()?.has_hypervisor() {
        return None;
    }
    let name = match cpuid.get_hypervisor_info().map(|info| info.identify()) {
        Some(Hypervisor::KVM) => "KVM",
        Some(Hypervisor::HyperV) => "Hyper-V",
        Some(Hypervisor::VMware) => "VMware",
        Some(Hypervisor::Xen) => "Xen",
        Some(Hypervisor::QEMU) => "QEMU",
        Some(Hypervisor::Bhyve) => "bhyve",
        Some(Hypervisor::QNX) => "QNX",
        Some(Hypervisor::ACRN) => "ACRN",
        Some(Hypervisor::Unknown(..)) | None => "unknown hypervisor",
    };
    Some(name.to_owned())
}

#[cfg(not(target_arch = "x86_64"))]
fn from_cpuid() -> Option<String> {
    None
}

/// Parts of firmware product names that only virtual machines have.
///
/// Vendor names are useless, because Amazon's and Google's bare metal has them too.
const PRODUCTS: &[(&str, &str)] = &[
    ("KVM", "KVM"),
    ("QEMU", "QEMU"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("Virtual Machine", "Hyper-V"),
    ("HVM domU", "Xen"),
    ("Parallels", "Parallels"),
    ("Apple Virtualization", "Apple Virtualization"),
];

fn from_files(root: &Root) -> Option<String> {
    let named = root
        .read("/sys/hypervisor/type")
        .or_else(|| root.read("/proc/device-tree/hypervisor/compatible"));
    let named = named.map(|name| name.trim_end_matches('\0').to_owned());
    if let Some(name) = named.filter(|name| !name.is_empty()) {
        return Some(name);
    }
    let firmware = ["/sys/class/dmi/id/product_name", "/sys/class/dmi/id/sys_vendor"]
        .iter()
        .filter_map(|path| root.read(path))
        .collect::<Vec<_>>()
        .join(" ");
    let product = PRODUCTS.iter().find(|(word, _)| firmware.contains(word))?;
    Some(product.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_name_the_hypervisor() {
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<&'a str>);
        let cases: &[Case] = &[
            ("nothing", &[], None),
            ("Xen names itself", &[("sys/hypervisor/type", "xen\n")], Some("xen")),
            (
                "device tree",
                &[("proc/device-tree/hypervisor/compatible", "linux,kvm\0")],
                Some("linux,kvm"),
            ),
            (
                "firmware",
                &[("sys/class/dmi/id/product_name", "KVM Virtual Machine\n")],
                Some("KVM"),
            ),
            (
                "bare metal of a cloud",
                &[
                    ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
                    ("sys/class/dmi/id/product_name", "m7g.metal\n"),
                ],
                None,
            ),
        ];
        for (case, files, expected) in cases {
            let (_directory, root) = Root::tree(files);
            let got = from_files(&root);
            assert_eq!(got.as_deref(), *expected, "case: {case}");
        }
    }
}
