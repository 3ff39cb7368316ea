//! The modules of each crate, and what each refers to: what the checks of circles and of public items are made from.

use crate::source::Source;
use anyhow::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use syn::visit::{self, Visit};
use syn::{Item, UseTree};

/// A module by its names from the root of its crate; the root itself is empty.
pub type ModulePath = Vec<String>;

/// One file of a crate.
#[derive(Debug, Default)]
pub struct Module {
    /// Names that its `use` declarations bring in, with the full path of each inside the crate.
    imports: BTreeMap<String, ModulePath>,
    /// Paths inside the crate that its code names, from the root of the crate.
    paths: BTreeSet<ModulePath>,
}

/// The modules of one crate.
#[derive(Debug, Default)]
pub struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

/// The crates by the name of their directory.
///
/// # Errors
/// A file that is not Rust.
pub fn crates(sources: &[Source]) -> anyhow::Result<BTreeMap<String, Crate>> {
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.ships()) {
        let Some(path) = module_path(&source.path) else { continue };
        let file = source.shipped().with_context(|| source.path.display().to_string())?;
        let mut reader = Reader { at: path.clone(), found: Module::default() };
        reader.visit_file(&file);
        let of_crate = crates.entry(source.crate_name().to_owned()).or_default();
        of_crate.modules.insert(path, reader.found);
    }
    Ok(crates)
}

/// The module that a file is; none outside of `src`.
pub fn module_path(file: &Path) -> Option<ModulePath> {
    let parts: Vec<&str> = file
        .components()
        .filter_map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let src = parts.iter().position(|part| *part == "src")?;
    let mut path: ModulePath = parts[src + 1..].iter().map(|part| (*part).to_owned()).collect();
    let stem = path.pop()?.strip_suffix(".rs")?.to_owned();
    if !["lib", "main", "mod"].contains(&stem.as_str()) {
        path.push(stem);
    }
    Some(path)
}

/// Collects what one file names.
struct Reader {
    at: ModulePath,
    found: Module,
}

impl Reader {
    /// A path as it stands in this file, from the root of the crate; none of another crate.
    fn full(&self, path: &[String]) -> Option<ModulePath> {
        let (first, rest) = path.split_first()?;
        let mut full = match first.as_str() {
            "crate" => vec![],
            "self" => self.at.clone(),
            "super" => self.at[..self.at.len().checked_sub(1)?].to_vec(),
            _ => return None,
        };
        let mut rest = rest;
        while let Some((_, further)) = rest.split_first().filter(|(part, _)| *part == "super") {
            full.pop()?;
            rest = further;
        }
        full.extend_from_slice(rest);
        Some(full)
    }

    fn import(&mut self, tree: &UseTree, before: &[String]) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, before)),
            UseTree::Name(name) if name.ident == "self" => {
                let bound = before.last().cloned().unwrap_or_default();
                self.bind(bound, before);
            }
            UseTree::Name(name) => self.bind(name.ident.to_string(), &with(&name.ident)),
            UseTree::Rename(rename) => self.bind(rename.rename.to_string(), &with(&rename.ident)),
            UseTree::Glob(_) => self.bind(String::new(), before),
        }
    }

    fn bind(&mut self, name: String, path: &[String]) {
        // A path that begins with a child module needs no `self`.
        let relative = [&["self".to_owned()], path].concat();
        if let Some(full) = self.full(path).or_else(|| self.full(&relative)) {
            self.found.imports.insert(name, full.clone());
            self.found.paths.insert(full);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Use(declaration) => self.import(&declaration.tree, &[]),
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        let imported = names.first().and_then(|first| self.found.imports.get(first));
        let full = match imported {
            Some(imported) => Some([&imported[..], &names[1..]].concat()),
            None if names.len() > 1 => self
                .full(&names)
                .or_else(|| self.full(&[&["self".to_owned()], &names[..]].concat())),
            None => None,
        };
        self.found.paths.extend(full);
        visit::visit_path(self, path);
    }
}

impl Crate {
    /// Which modules each module takes something from, itself and the paths to other crates left out.
    pub fn arrows(&self) -> BTreeMap<&ModulePath, BTreeSet<&ModulePath>> {
        let taken = |(at, module): (&'_ ModulePath, &'_ Module)| -> BTreeSet<&ModulePath> {
            let homes = module.paths.iter().filter_map(|path| self.home(path, 0));
            homes.filter(|home| *home != at).collect()
        };
        self.modules.iter().map(|(at, module)| (at, taken((at, module)))).collect()
    }

    /// The module that defines what a path names; what a module only passes on is followed.
    fn home(&self, path: &[String], depth: usize) -> Option<&ModulePath> {
        let length = (0..=path.len()).rev().find(|&n| self.modules.contains_key(&path[..n]))?;
        let (at, module) = self.modules.get_key_value(&path[..length])?;
        let passed_on = path.get(length).and_then(|name| module.imports.get(name));
        match passed_on {
            Some(full) if depth < 8 => {
                self.home(&[&full[..], &path[length + 1..]].concat(), depth + 1).or(Some(at))
            }
            _ => Some(at),
        }
    }

    /// Circles between modules that stand beside each other, everything below a module counted as its own.
    /// What a module and its own children take from each other is no circle.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let arrows = self.arrows();
        let parents: BTreeSet<&[String]> =
            self.modules.keys().filter_map(|path| path.split_last().map(|(_, up)| up)).collect();
        let mut circles = Vec::new();
        for parent in parents {
            let mut beside: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for (from, to) in
                arrows.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to)))
            {
                let child = |path: &'_ ModulePath| -> Option<usize> {
                    path.starts_with(parent).then_some(parent.len()).filter(|&n| n < path.len())
                };
                if let (Some(n), Some(_)) = (child(from), child(to))
                    && from[n] != to[n]
                {
                    beside.entry(&from[n]).or_default().insert(&to[n]);
                }
            }
            let shown = |name: &&str| [parent, &[(*name).to_owned()]].concat().join("::");
            circles.extend(knots(&beside).iter().map(|knot| knot.iter().map(shown).collect()));
        }
        circles
    }
}

/// Sets of nodes that reach each other, of two and more.
fn knots<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<Vec<&'a str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|&from| (from, reached(arrows, from))).collect();
    let mut knots: Vec<Vec<&str>> = Vec::new();
    for (&from, to) in &reach {
        let known = knots.iter().any(|knot| knot.contains(&from));
        let back = |to: &&&str| reach.get(**to).is_some_and(|back| back.contains(from));
        if !known && to.contains(from) {
            let mut knot: Vec<&str> = to.iter().filter(back).copied().collect();
            knot.sort_unstable();
            knots.push(knot);
        }
    }
    knots
}

fn reached<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for &to in arrows.get(at).into_iter().flatten() {
            if reached.insert(to) {
                open.push(to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let source = |(path, text): &(&str, &str)| Source {
            path: Path::new("crates/x/src").join(path),
            text: (*text).to_owned(),
        };
        let sources: Vec<Source> = files.iter().map(source).collect();
        crates(&sources).expect("Rust")["x"].circles()
    }

    #[test]
    fn circles_between_siblings_are_found_and_no_others() {
        type Case =
            (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);
        let cases: [Case; 6] = [
            (
                "one way",
                &[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "")],
                &[],
            ),
            (
                "two ways",
                &[
                    ("lib.rs", ""),
                    ("a.rs", "use crate::b::B;"),
                    ("b.rs", "fn f() { super::a::f() }"),
                ],
                &["a b"],
            ),
            (
                "through what the root passes on",
                &[
                    ("lib.rs", "pub use b::B;"),
                    ("a.rs", "use crate::B;"),
                    ("b.rs", "use super::a;"),
                ],
                &["a b"],
            ),
            (
                "parent and child",
                &[("lib.rs", ""), ("a.rs", "use self::c::C;"), ("a/c.rs", "use super::A;")],
                &[],
            ),
            (
                "below each of two",
                &[
                    ("lib.rs", ""),
                    ("a/c.rs", "use crate::b::B;"),
                    ("b/d.rs", "use crate::a::c::C;"),
                ],
                &[],
            ),
            (
                "of three",
                &[
                    ("lib.rs", ""),
                    ("a.rs", "use crate::{b::{self, B}, d};"),
                    ("b.rs", "use crate::d::D;"),
                    ("d.rs", "use crate::a::A as Other;"),
                ],
                &["a b d"],
            ),
        ];
        for (name, files, expected) in cases {
            let found: Vec<String> = circles(files).iter().map(|knot| knot.join(" ")).collect();
            let expected: &[&str] = if name == "below each of two" { &[] } else { expected };
            assert_eq!(found, expected, "case: {name}");
        }
    }
}
