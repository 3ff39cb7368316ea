//! Functions of a user's own shared object.

use anechoic_recording::{Problem, ProblemKind, in_words, sha256, verify_code};
use std::ffi::{CStr, CString, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// The machine numbers of ELF.
const MACHINES: [(u16, &str); 7] = [
    (3, "x86 with 32 bits"),
    (21, "POWER"),
    (22, "IBM Z"),
    (40, "Arm with 32 bits"),
    (62, "x86-64"),
    (183, "AArch64"),
    (243, "RISC-V"),
];
/// The machine of this program.
const OWN_MACHINE: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
/// The type of a section with the names that a shared object exports.
const DYNAMIC_SYMBOLS: u32 = 11;
/// Types of ELF files.
const RELOCATABLE: u16 = 1;
const SHARED: u16 = 3;
/// Largest number of names in an error.
const MOST_NAMES: usize = 5;
/// What makes a shared object of a file in C.
const LINK: &str = "cc -O2 -shared -fPIC -o kernel.so kernel.c";

/// A shared object in this process, where it stays until the end.
#[derive(Debug)]
pub struct SharedObject {
    handle: NonNull<c_void>,
    /// Where it is, without links.
    pub path: PathBuf,
    /// Its SHA-256 checksum, in hexadecimal digits.
    pub sha256: String,
    /// The names that it exports.
    names: Vec<String>,
}

impl SharedObject {
    /// Loads a shared object, which runs its constructors.
    ///
    /// # Errors
    /// Fails if this process has the rights of its own file, if there is no such file, if it is none for this machine, if
    /// root could be made to run another user's code, or if the dynamic linker refuses it.
    pub fn open(file: &Path) -> Result<Self, Problem> {
        verify_rights()?;
        let path = verify_code(file).map_err(|error| unreadable(&error))?;
        let bytes = std::fs::read(&path).map_err(|error| unreadable(&error))?;
        verify_machine(&bytes)?;
        let names = exported(&bytes).unwrap_or_default();
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| ProblemKind::Usage.problem("its path contains a zero byte", ""))?;
        // SAFETY: the path is a text that ends in zero. What the constructors of the file do is the user's own choice.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let handle = NonNull::new(handle).ok_or_else(refused)?;
        Ok(SharedObject { handle, path, sha256: sha256(&bytes), names })
    }

    /// Returns the address of an exported function.
    ///
    /// # Errors
    /// Fails if there is none of this name; the error lists the nearest names.
    pub fn function(&self, name: &str) -> Result<NonNull<c_void>, Problem> {
        self.find(name).ok_or_else(|| {
            let mut near: Vec<&str> = self.names.iter().map(String::as_str).collect();
            near.sort_by_key(|known| (strsim::osa_distance(name, known), known.len()));
            near.truncate(MOST_NAMES);
            let mangled =
                self.names.iter().any(|known| known.starts_with("_Z") && known.contains(name));
            let remedy = match near[..] {
                _ if mangled => "declare it extern \"C\", so that C++ keeps its name".to_owned(),
                [] => {
                    "it exports no function: remove `static`, or in Rust use #[unsafe(no_mangle)]"
                        .to_owned()
                }
                _ => format!("it exports {}", near.join(", ")),
            };
            ProblemKind::Usage.problem(format!("it has no function '{name}'"), remedy)
        })
    }

    /// Returns the address of an exported function, if there is one of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NonNull<c_void>> {
        if !self.names.iter().any(|known| known == name) {
            return None; // the linker would also search what the file itself is linked to
        }
        let name = CString::new(name).ok()?;
        // SAFETY: the handle is that of an object that stays loaded, and the name ends in zero.
        NonNull::new(unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) })
    }
}

/// Refuses to run a file's code with rights that the caller does not have: a file of any user could use those that `setcap`
/// gave to this program.
fn verify_rights() -> Result<(), Problem> {
    // SAFETY: reads what the kernel passed to this process.
    let has_more = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    if !has_more || rustix::process::getuid().is_root() {
        return Ok(());
    }
    let why = "`--work` does not run with file capabilities";
    let remedy = "start it with sudo, or use a copy without them";
    Err(ProblemKind::Unavailable.problem(why, remedy))
}

fn unreadable(error: &io::Error) -> Problem {
    Problem::inside(error).unwrap_or_else(|| {
        let remedy = format!("build it with: {LINK}");
        ProblemKind::NoInput.problem(in_words(error), remedy)
    })
}

fn refused() -> Problem {
    // SAFETY: dlopen has just failed on this thread; the text is valid until the next call.
    let why = unsafe {
        let text = libc::dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    let why = why.unwrap_or_else(|| "no reason is known".to_owned());
    let remedy = "a missing library is found with: ldd FILE";
    ProblemKind::Unavailable.problem(format!("the dynamic linker refuses it: {why}"), remedy)
}

/// Refuses what is no shared object for this machine, with what would be one.
fn verify_machine(bytes: &[u8]) -> Result<(), Problem> {
    let wrong = |why: &str, remedy: String| Err(ProblemKind::Data.problem(why, remedy));
    if !bytes.starts_with(b"\x7fELF") {
        return wrong(
            "it is no shared object (not an ELF file)",
            format!("build one with: {LINK}"),
        );
    }
    let (kind, machine) = (number::<2>(bytes, 16), number::<2>(bytes, 18));
    let machine = machine.unwrap_or(0) as u16;
    if bytes.get(4) != Some(&2) || machine != OWN_MACHINE {
        let other = machine_name(machine).unwrap_or("another machine");
        let own = machine_name(OWN_MACHINE).unwrap_or_default();
        return wrong(&format!("it is built for {other}"), format!("build it for {own}"));
    }
    match kind.map(|kind| kind as u16) {
        Some(SHARED) => Ok(()),
        Some(RELOCATABLE) => {
            wrong("it is an object file that is not linked", format!("link it: {LINK}"))
        }
        _ => wrong("it is a program and no shared object", format!("build it with: {LINK}")),
    }
}

fn machine_name(number: u16) -> Option<&'static str> {
    MACHINES.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// Returns the names that an ELF file of 64 bits exports; none if it is damaged.
fn exported(bytes: &[u8]) -> Option<Vec<String>> {
    let sections = number::<8>(bytes, 0x28)?;
    let (size, count) = (number::<2>(bytes, 0x3a)?, number::<2>(bytes, 0x3c)?);
    let section = |number: usize| bytes.get(sections.checked_add(number.checked_mul(size)?)?..);
    let is_dynamic = |section: &&[u8]| number::<4>(section, 4) == Some(DYNAMIC_SYMBOLS as usize);
    let symbols = (0..count).filter_map(section).find(is_dynamic)?;
    let texts = content(bytes, section(number::<4>(symbols, 0x28)?)?)?;
    let symbols = content(bytes, symbols)?.chunks_exact(24);
    Some(symbols.filter_map(|symbol| defined_name(symbol, texts)).collect())
}

/// Returns what a section consists of.
fn content<'b>(bytes: &'b [u8], section: &[u8]) -> Option<&'b [u8]> {
    let start = number::<8>(section, 0x18)?;
    bytes.get(start..start.checked_add(number::<8>(section, 0x20)?)?)
}

/// Returns the name of a symbol, if the file defines it.
fn defined_name(symbol: &[u8], texts: &[u8]) -> Option<String> {
    let is_defined = number::<2>(symbol, 6)? != 0;
    let text = texts.get(number::<4>(symbol, 0)?..)?.split(|&byte| byte == 0).next()?;
    (is_defined && !text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned())
}

/// Reads a number of `N` bytes.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<usize> {
    let read = bytes.get(at..at.checked_add(N)?)?;
    let mut whole = [0; 8];
    whole[..N].copy_from_slice(read);
    usize::try_from(u64::from_le_bytes(whole)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(content: &[u8]) -> Problem {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("k.so");
        std::fs::write(&file, content).expect("a file");
        SharedObject::open(&file).expect_err("no shared object")
    }

    #[test]
    fn what_is_no_shared_object_of_this_machine_is_refused_with_what_would_be_one() {
        let elf = |class: u8, kind: u8, machine: u8| {
            let mut bytes = [0; 64];
            bytes[..4].copy_from_slice(b"\x7fELF");
            (bytes[4], bytes[16], bytes[18]) = (class, kind, machine);
            bytes.to_vec()
        };
        let own = OWN_MACHINE as u8;
        let cases = [
            ("empty", vec![], "not an ELF file"),
            ("text", b"int step;".to_vec(), "not an ELF file"),
            ("cut short", b"\x7fELF\x02".to_vec(), "built for another machine"),
            ("32 bits", elf(1, 3, 3), "built for x86 with 32 bits"),
            ("RISC-V", elf(2, 3, 243), "built for RISC-V"),
            ("not linked", elf(2, 1, own), "link it: cc"),
            ("a program", elf(2, 2, own), "it is a program"),
            ("damaged", elf(2, 3, own), "the dynamic linker refuses it"),
        ];
        for (name, bytes, expected) in cases {
            let problem = open(&bytes).to_string();
            assert!(problem.contains(expected), "case {name}: {problem}");
        }
        let missing = SharedObject::open(Path::new("/nowhere/k.so")).expect_err("no file");
        assert_eq!(missing.kind, ProblemKind::NoInput, "{missing}");
    }

    #[test]
    fn functions_are_found_and_near_names_are_listed() {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("a map");
        let library = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        let Some(libc) = library.into_iter().find(|path| path.ends_with("/libc.so.6")) else {
            return anechoic_lab::note::skipped("no libc in a file of its own");
        };
        let opened = SharedObject::open(Path::new(libc)).expect("libc");
        assert_eq!(opened.sha256.len(), 64);
        assert!(opened.function("getpid").is_ok());
        let problem = opened.function("getpidd").expect_err("no such function").to_string();
        assert!(problem.contains("it exports getpid"), "{problem}");
    }

    #[test]
    fn names_of_damaged_files_are_none() {
        let own = std::fs::read("/proc/self/exe").expect("this program");
        for cut in [0, 16, 0x3e, 64, 1_000, own.len() / 2] {
            let _ = exported(&own[..cut.min(own.len())]);
        }
        let mut damaged = own[..64].to_vec();
        damaged[0x28..0x30].fill(0xff);
        assert_eq!(exported(&damaged), None);
    }
}
