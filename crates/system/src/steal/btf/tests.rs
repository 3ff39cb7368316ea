use super::*;

/// Builds type data: words of the type section, and names with their offsets.
#[derive(Default)]
struct Blob {
    types: Vec<u32>,
    names: Vec<u8>,
}

impl Blob {
    fn name(&mut self, name: &str) -> u32 {
        let at = self.names.len() as u32;
        self.names.extend(name.bytes().chain([0]));
        if name.is_empty() { 0 } else { at }
    }

    /// `members` are name, type and offset word.
    fn compound(&mut self, kind: u32, name: &str, flag: bool, members: &[(&str, u32, u32)]) {
        let name = self.name(name);
        let info = u32::from(flag) << 31 | kind << 24 | members.len() as u32;
        self.types.extend([name, info, 64]);
        for &(name, member, offset) in members {
            let name = self.name(name);
            self.types.extend([name, member, offset]);
        }
    }

    fn plain(&mut self, kind: u32, name: &str, link: u32, body: &[u32]) {
        let name = self.name(name);
        self.types.extend([name, kind << 24, link]);
        self.types.extend(body);
    }

    fn bytes(&self) -> Vec<u8> {
        let length = 4 * self.types.len() as u32;
        let header = [24, 0, length, length, self.names.len() as u32];
        let mut bytes = [MAGIC.to_ne_bytes(), [1, 0]].concat();
        bytes.extend(header.iter().chain(&self.types).flat_map(|w| w.to_ne_bytes()));
        bytes.extend(&self.names);
        bytes
    }
}

fn example() -> Blob {
    let mut blob = Blob::default();
    blob.name("");
    blob.plain(1, "u64", 8, &[64]); // 1
    blob.compound(5, "", false, &[("in_union", 1, 0), ("also_in_union", 1, 0)]); // 2
    blob.plain(10, "", 2, &[]); // 3: const union
    blob.compound(4, "", false, &[("deep", 1, 32), ("", 3, 64)]); // 4: holds 3
    blob.compound(4, "rq", false, &[("first", 1, 0), ("", 4, 128), ("last", 1, 320)]); // 5
    blob.compound(4, "packed", true, &[("bit", 1, 1 << 24 | 3), ("whole", 1, 16)]); // 6
    blob.compound(4, "ring", false, &[("", 7, 0)]); // 7: holds itself
    blob.plain(12, "tick", 1, &[]); // 8
    blob.plain(8, "rq", 8, &[]); // 9: a typedef of the same name as a structure
    blob.plain(8, "endless", 10, &[]); // 10
    blob.compound(4, "odd", false, &[("", 10, 0), ("gone", 99, 8), ("x", 1, 64)]); // 11
    blob
}

#[test]
fn fields_are_found_where_c_puts_them() {
    let btf = Btf::parse(&example().bytes()).unwrap();
    let cases = [
        ("first", "rq", "first", Some(0)),
        ("after an anonymous one", "rq", "last", Some(40)),
        ("in an anonymous structure", "rq", "deep", Some(20)),
        ("in a const union inside it", "rq", "also_in_union", Some(24)),
        ("bit field", "packed", "bit", None),
        ("whole field beside it", "packed", "whole", Some(2)),
        ("absent", "rq", "steal", None),
        ("prefix of a name", "rq", "fir", None),
        ("structure that holds itself", "ring", "x", None),
        ("members of endless and absent types", "odd", "x", Some(8)),
        ("structure absent", "runqueue", "first", None),
    ];
    for (name, structure, field, expected) in cases {
        assert_eq!(btf.field_offset(structure, field).ok(), expected, "case: {name}");
    }
}

#[test]
fn types_are_found_by_kind_and_name() {
    let btf = Btf::parse(&example().bytes()).unwrap();
    assert_eq!(btf.id(Kind::Struct, "rq"), Ok(5));
    assert_eq!(btf.id(Kind::Typedef, "rq"), Ok(9));
    assert_eq!(btf.id(Kind::Function, "tick"), Ok(8));
    let error = btf.id(Kind::Function, "rq").unwrap_err().to_string();
    assert_eq!(error, "the kernel's type data has no function 'rq'");
    let error = btf.field_offset("rq", "steal").unwrap_err().to_string();
    assert_eq!(error, "the kernel's 'struct rq' has no field 'steal'");
}

#[test]
fn damaged_data_are_refused_by_name() {
    let good = example().bytes();
    let with = |at: usize, value: u32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        bytes
    };
    let cases = [
        ("empty", Vec::new(), "header cut short"),
        ("header only", good[..12].to_vec(), "header cut short"),
        ("other byte order", with(0, 0x9feb_0100), "no BTF of this byte order"),
        ("types beyond the end", with(12, 1 << 30), "types cut short"),
        ("types overflow", with(8, u32::MAX), "types cut short"),
        ("names beyond the end", with(20, 1 << 30), "names cut short"),
        ("header length overflows", with(4, u32::MAX), "types cut short"),
        ("unknown kind", with(24 + 4, 31 << 24), "unknown kind of type"),
        ("too many members", with(24 + 4, 4 << 24 | 0xffff), "last type cut short"),
        ("half a type", with(12, 8), "last type cut short"),
    ];
    for (name, bytes, expected) in cases {
        let error = Btf::parse(&bytes).expect_err(name).to_string();
        assert!(error.contains(expected), "case: {name}: {error}");
    }
}

/// Truncates at every length and replaces every byte by several others: there is an answer or an error, but
/// no panic and no endless loop.
#[test]
fn no_damage_makes_it_panic_or_hang() {
    let good = example().bytes();
    let ask = |bytes: &[u8]| {
        let Ok(btf) = Btf::parse(bytes) else { return };
        for structure in ["rq", "packed", "ring", "odd"] {
            let _ = btf.field_offset(structure, "in_union");
        }
        let _ = btf.id(Kind::Function, "tick");
    };
    for length in 0..good.len() {
        ask(&good[..length]);
    }
    for at in 0..good.len() {
        for value in 0..=u8::MAX {
            let mut bytes = good.clone();
            bytes[at] = value;
            ask(&bytes);
        }
    }
}

/// The compiler that built the kernel and this parser agree on a structure that both can see.
#[test]
fn the_running_kernel_agrees() {
    let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") else {
        anechoic_lab::note::skipped("this kernel has no /sys/kernel/btf/vmlinux");
        return;
    };
    let btf = Btf::parse(&bytes).unwrap();
    let offset = std::mem::offset_of!(libc::timespec, tv_nsec) as u32;
    assert_eq!(btf.field_offset("timespec64", "tv_nsec"), Ok(offset));
    // `mapping` lies in an anonymous structure in an anonymous union.
    let flags = btf.field_offset("page", "flags").unwrap();
    assert!(btf.field_offset("page", "mapping").unwrap() > flags);
    assert!(btf.id(Kind::Typedef, "btf_trace_sched_switch").is_ok());
}
