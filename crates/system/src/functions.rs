//! Functions of a program or shared library, by name, and where they lie in its file.

mod containing;
mod elf;
mod names;
mod readable;

pub(crate) use containing::names_at;

use anechoic_recording::{Problem, ProblemKind};
use elf::Elf;
use std::fs::File;

/// A function of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name, for people.
    pub name: String,
    /// Where its code begins in the file, in bytes.
    pub offset: u64,
}

/// Finds a function by its name, by its path in C++ and Rust, or by the end of that path: `step` also finds `main::step`.
/// Parameters and type arguments distinguish functions of one path: `step(int)`, `step::<u8>`. Of several versions of a name the
/// one that new programs get is found; `step@VERSION` is another.
///
/// # Errors
/// Fails if the file is no program, if there is no such function, or if there are several; the error names what is near.
pub fn find(file: &File, name: &str) -> Result<Function, Problem> {
    let elf = Elf::open(file)?;
    let names = elf.names().map_err(|error| damaged(&error))?;
    let (name, at) = names.find(name)?;
    let offset = elf.offset(at).map_err(|error| damaged(&error))?;
    let offset = offset.ok_or_else(|| damaged(&"the function lies outside of its code"))?;
    Ok(Function { name, offset })
}

fn damaged(why: &dyn std::fmt::Display) -> Problem {
    ProblemKind::Data
        .problem(format!("its table of symbols cannot be read: {why}"), "build it again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// Builds a program that has its symbols, in a directory that lasts as long as the test.
    pub(super) fn built() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let [source, program] = ["a.c", "a"].map(|name| dir.path().join(name));
        let text = "#include <stdlib.h>\nint a_function_of_this_test(int value) { return value + 1; }\n\
                    int main(void) { return a_function_of_this_test(0) - (malloc(1) != 0); }\n";
        std::fs::write(&source, text).expect("it is written");
        let built = Command::new("cc").arg("-o").args([&program, &source]).status();
        assert!(built.expect("a C compiler").success());
        (dir, program)
    }

    fn printed(command: &str, args: &[&str], file: &Path) -> String {
        let done = Command::new(command).args(args).arg(file).output().expect("it is installed");
        String::from_utf8(done.stdout).expect("text")
    }

    /// Where it is in memory by `nm`, and where that part of the file is by `readelf`.
    #[test]
    fn a_function_is_found_where_its_code_is() {
        let (_dir, program) = built();
        let file = File::open(&program).expect("it was built");
        let found = find(&file, "a_function_of_this_test").expect("it has symbols");
        assert_eq!(found.name, "a_function_of_this_test");
        let number =
            |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number");
        let symbols = printed("nm", &[], &program);
        let line = symbols.lines().find(|line| line.ends_with(" T a_function_of_this_test"));
        let address = number(line.expect("a symbol").split(' ').next().expect("an address"));
        let headers = printed("readelf", &["-lW"], &program);
        let code = headers.lines().find(|line| line.contains("LOAD") && line.contains("R E"));
        let words: Vec<&str> = code.expect("code").split_whitespace().collect();
        assert_eq!(found.offset, address - number(words[2]) + number(words[1]), "{headers}");
    }

    #[test]
    fn what_cannot_be_marked_has_a_remedy() {
        let (_dir, program) = built();
        let own = || File::open(&program).expect("it was built");
        let script = |text: &str| {
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(text.as_bytes()).expect("it is written");
            file
        };
        let cases = [
            ("absent", own(), "a_function_of_this_tset", "a_function_of_this_test"),
            ("of a library", own(), "malloc", "--mark libc.so.6:malloc"),
            ("script", script("#!/usr/bin/env -S A=1 python3 -u\n"), "f", "that python3 executes"),
            ("shell", script("#! /bin/sh -e\n"), "f", "that /bin/sh executes"),
            ("text", script("hello"), "f", "not an ELF file"),
            ("cut short", script("\x7fELF\x02\x01"), "f", "not an ELF file"),
        ];
        for (name, file, function, expected) in cases {
            let problem = find(&file, function).expect_err(name).to_string();
            assert!(problem.contains(expected), "case {name}: {problem}");
        }
    }

    #[test]
    fn damaged_files_are_refused() {
        let mut bytes = std::fs::read("/proc/self/exe").expect("this program");
        bytes.truncate(4_096);
        for damage in [0x20, 0x28, 0x36, 0x38, 0x3a, 0x3c] {
            let mut bytes = bytes.clone();
            bytes[damage..damage + 2].fill(0xff);
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(&bytes).expect("it is written");
            find(&file, "main").expect_err("its tables are cut off");
        }
    }

    /// Of `pthread_cond_wait`, whose meaning has changed, libraries for older programs have another version.
    #[test]
    fn the_version_for_new_programs_is_that_of_nm() {
        let library = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6"];
        let Some(library) = library.iter().map(Path::new).find(|path| path.is_file()) else {
            return println!("skipped: no such library");
        };
        let symbols = printed("nm", &["-D", "--with-symbol-versions"], library);
        let lines = symbols.lines().filter_map(|line| {
            let (address, name) = line.split_once(" T ")?;
            Some((u64::from_str_radix(address, 16).ok()?, name))
        });
        let lines: Vec<(u64, &str)> = lines.collect();
        let file = File::open(library).expect("it is there");
        let elf = Elf::open(&file).expect("a library");
        let names = elf.names().expect("it has names");
        let mut number = 0;
        for (address, name) in lines {
            let wanted = name.replace("@@", "@");
            assert_eq!(names.find(&wanted).map(|(_, at)| at).ok(), Some(address), "{name}");
            if let Some((plain, _)) = name.split_once("@@") {
                assert_eq!(names.find(plain).map(|(_, at)| at).ok(), Some(address), "{name}");
                number += 1;
            }
        }
        assert!(number > 100, "{number} functions");
    }

    /// Headers may claim tables of any size, and a file of holes has any size without taking space.
    #[test]
    fn a_sparse_file_takes_little_memory() {
        use std::os::unix::fs::FileExt;
        let (_dir, program) = built();
        let bytes = std::fs::read(&program).expect("it was built");
        let sections = u64::from_le_bytes(bytes[0x28..0x30].try_into().expect("8 bytes"));
        let entries = u16::from_le_bytes(bytes[0x3c..0x3e].try_into().expect("2 bytes"));
        let peak = || {
            let status = std::fs::read_to_string("/proc/self/status").expect("own status");
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kb = line.and_then(|it| it.trim().strip_suffix(" kB")).expect("a peak");
            kb.parse::<u64>().expect("a number")
        };
        let before = peak();
        for (name, at, value) in [("headers of 64 KiB", 0x3a, 0xffff_u64), ("tables", 0, 900 << 20)]
        {
            let file = tempfile::tempfile().expect("a file");
            file.write_all_at(&bytes, 0).expect("it is written");
            file.set_len(5 << 30).expect("it may be sparse");
            match at {
                0 => (0..u64::from(entries)).for_each(|number| {
                    let length = sections + number * 64 + 0x20;
                    file.write_all_at(&value.to_le_bytes(), length).expect("it is written");
                }),
                at => file.write_all_at(&value.to_le_bytes()[..2], at).expect("it is written"),
            }
            let _ = find(&file, "absent").expect_err(name);
            assert!(peak() < before + (200 << 10), "{name}: {} KiB", peak() - before);
        }
    }
}
