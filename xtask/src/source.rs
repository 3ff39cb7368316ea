//! The Rust files of the repository.

use anyhow::Context;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use syn::Item;

/// One Rust file of the repository.
pub struct Source {
    /// Path relative to the repository.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

impl Source {
    /// Name of its crate's directory: `measure`, `xtask`.
    pub fn crate_name(&self) -> &str {
        let mut parts = self.path.iter().filter_map(|part| part.to_str());
        let first = parts.next().unwrap_or_default();
        if first == "crates" { parts.next().unwrap_or_default() } else { first }
    }

    /// Whether it is part of what ships, not of tests, benches or examples.
    pub fn ships(&self) -> bool {
        let has = |name: &str| self.path.iter().any(|part| part == name);
        let stem = self.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let for_tests = has("tests") || stem.ends_with("tests") || stem == "testing";
        has("src") && !for_tests && self.crate_name() != "lab"
    }

    /// Its lines without items that are compiled for tests only. The module of unit tests ends the file.
    pub fn shipped_lines(&self) -> impl Iterator<Item = &str> {
        let mut lines = self.text.lines();
        iter::from_fn(move || {
            loop {
                let line = lines.next()?;
                if !["#[cfg(test)]", "#[cfg(all(test,"].iter().any(|test| line.starts_with(test)) {
                    return Some(line);
                }
                let item = lines.find(|line| !line.starts_with("#["))?;
                if item.contains("mod ") && item.ends_with('{') {
                    lines = "".lines();
                } else if !item.ends_with(';') {
                    lines.find(|line| ["}", "};"].contains(line))?;
                }
            }
        })
    }

    /// Its syntax.
    ///
    /// # Errors
    /// It is not Rust.
    pub fn parsed(&self) -> anyhow::Result<syn::File> {
        syn::parse_file(&self.text).with_context(|| self.path.display().to_string())
    }

    /// Its syntax without what is compiled for tests only.
    ///
    /// # Errors
    /// It is not Rust.
    pub fn shipped(&self) -> anyhow::Result<syn::File> {
        let mut file = self.parsed()?;
        file.items.retain(|item| !attributes(item).iter().any(is_for_tests));
        Ok(file)
    }
}

/// The files of the repository at `root`, by path.
///
/// # Errors
/// A file or directory cannot be read.
pub fn rust_files(root: &Path) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut open = ["crates", "xtask", "bare"].map(|dir| root.join(dir)).to_vec();
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).with_context(|| dir.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                sources.push(Source { path: path.strip_prefix(root)?.to_owned(), text });
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn is_for_tests(attribute: &syn::Attribute) -> bool {
    let text = |list: &syn::MetaList| list.tokens.to_string();
    let for_tests = |tokens: &str| tokens == "test" || tokens.starts_with("all (test ,");
    attribute.path().is_ident("cfg")
        && attribute.meta.require_list().is_ok_and(|list| for_tests(&text(list)))
}

fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_tests_alone_does_not_ship() {
        let cases = [
            ("unit tests at the end", "a\n#[cfg(test)]\nmod tests {\n    b\n}\n", "a"),
            ("on one system", "a\n#[cfg(all(test, unix))]\nmod tests {\n    b\n}\n", "a"),
            ("unit tests in a file", "a\n#[cfg(test)]\n#[path = \"b\"]\nmod tests;\nc\n", "a c"),
            ("an item", "a\n#[cfg(test)]\nimpl A {\n    b\n}\nc\n", "a c"),
            ("an import", "a\n#[cfg(test)]\nuse a::{\n    b,\n};\nc\n", "a c"),
        ];
        for (name, text, expected) in cases {
            let source = Source { path: "crates/a/src/b.rs".into(), text: text.to_owned() };
            let lines: Vec<&str> = source.shipped_lines().collect();
            assert_eq!(lines.join(" "), expected, "case: {name}");
        }
        let ships = ["a.rs", "a_tests.rs", "tests/a.rs", "testing.rs"].map(|file| {
            Source { path: Path::new("crates/a/src").join(file), text: String::new() }.ships()
        });
        assert_eq!(ships, [true, false, false, false]);
    }
}
