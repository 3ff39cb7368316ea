//! What is public is named by somebody outside of its crate.

use super::Finding;
use crate::modules::{ModulePath, module_path};
use crate::source::Source;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use syn::visit::{self, Visit};
use syn::{ImplItem, Item, UseTree, Visibility};

/// Crates that are programs: what is public in them is for the other command, or for their own program, alone.
const NOT_LIBRARIES: &[&str] = &["xtask", "mpi", "bare"];

/// A public item of a crate.
#[derive(Debug)]
pub struct Public {
    /// The file that defines it.
    pub file: PathBuf,
    /// Its name.
    pub name: String,
    /// Of a function outside of a type: the names by which the crate exports it.
    exported: Vec<String>,
    /// The names that its signature or its public fields need.
    needs: BTreeSet<String>,
}

pub(super) fn check(_root: &Path, sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let superfluous = superfluous(sources)?.1.into_iter();
    Ok(superfluous
        .map(|item| Finding {
            what: format!("{} is public, and nothing outside of the crate names it", item.name),
            file: item.file,
        })
        .collect())
}

/// The number of public items of all libraries, and those that nothing outside of their crate names or needs.
///
/// # Errors
/// A file that is not Rust.
pub fn superfluous(sources: &[Source]) -> anyhow::Result<(usize, Vec<Public>)> {
    let mut shipped: BTreeMap<&str, Vec<(&Path, Vec<Item>)>> = BTreeMap::new();
    let mut named: BTreeMap<(&str, bool), Names> = BTreeMap::new();
    for source in sources {
        let name = source.crate_name();
        // A command is another crate than the library beside it.
        let ships = source.ships() && !source.path.ends_with("main.rs");
        let names = named.entry((name, ships)).or_default();
        names.collect(TokenStream::from_str(&source.text).unwrap_or_default(), None);
        if ships && !NOT_LIBRARIES.contains(&name) {
            shipped.entry(name).or_default().push((&source.path, source.shipped()?.items));
        }
    }
    let (mut all, mut superfluous) = (0, Vec::new());
    for (name, files) in shipped {
        let exports = Exports::from_files(&files);
        let items = files.iter().flat_map(|(file, items)| public_items(file, items, &exports));
        let items: Vec<Public> = items.collect();
        all += items.len();
        let outside = named.iter().filter(|((user, ships), _)| *user != name || !ships);
        let outside: Vec<&Names> = outside.map(|(_, names)| names).collect();
        let is_named = |item: &Public| outside.iter().any(|names| names.have(name, item));
        superfluous.extend(not_needed(items, is_named));
    }
    Ok((all, superfluous))
}

/// The items that are neither used outside nor needed by one that is.
fn not_needed(items: Vec<Public>, outside: impl Fn(&Public) -> bool) -> Vec<Public> {
    let (mut kept, mut rest): (Vec<Public>, Vec<Public>) = items.into_iter().partition(outside);
    loop {
        let needs: BTreeSet<String> = kept.iter().flat_map(|item| item.needs.clone()).collect();
        let (more, left): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|item| needs.contains(&item.name));
        rest = left;
        if more.is_empty() {
            return rest;
        }
        kept.extend(more);
    }
}

fn public_items(file: &Path, items: &[Item], exports: &Exports) -> Vec<Public> {
    let mut found = Vec::new();
    for item in items {
        let mut add = |name: &syn::Ident, needs: Needs| {
            let (name, needs) = (name.to_string(), needs.0);
            let free = matches!(item, Item::Fn(_));
            let exported = if free { exports.names_of(file, &name) } else { Vec::new() };
            found.push(Public { file: file.to_owned(), name, exported, needs });
        };
        match item {
            Item::Fn(item) if is_public(&item.vis) => {
                add(&item.sig.ident, Needs::collected(|n| n.visit_signature(&item.sig)))
            }
            Item::Struct(item) if is_public(&item.vis) => add(
                &item.ident,
                Needs::collected(|n| {
                    let public = item.fields.iter().filter(|field| is_public(&field.vis));
                    public.for_each(|field| n.visit_type(&field.ty));
                    n.visit_generics(&item.generics);
                }),
            ),
            Item::Enum(item) if is_public(&item.vis) => {
                add(&item.ident, Needs::collected(|n| n.visit_item_enum(item)))
            }
            Item::Const(item) if is_public(&item.vis) => {
                add(&item.ident, Needs::collected(|n| n.visit_type(&item.ty)))
            }
            Item::Static(item) if is_public(&item.vis) => {
                add(&item.ident, Needs::collected(|n| n.visit_type(&item.ty)))
            }
            Item::Type(item) if is_public(&item.vis) => {
                add(&item.ident, Needs::collected(|n| n.visit_type(&item.ty)))
            }
            Item::Trait(item) if is_public(&item.vis) => {
                add(&item.ident, Needs::collected(|n| n.visit_item_trait(item)))
            }
            Item::Impl(item) if item.trait_.is_none() => {
                for member in &item.items {
                    match member {
                        ImplItem::Fn(member) if is_public(&member.vis) => add(
                            &member.sig.ident,
                            Needs::collected(|n| n.visit_signature(&member.sig)),
                        ),
                        ImplItem::Const(member) if is_public(&member.vis) => {
                            add(&member.ident, Needs::collected(|n| n.visit_type(&member.ty)))
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    found
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// The names in a signature.
#[derive(Default)]
struct Needs(BTreeSet<String>);

impl Needs {
    fn collected(read: impl FnOnce(&mut Self)) -> Self {
        let mut needs = Self::default();
        read(&mut needs);
        needs
    }
}

impl<'ast> Visit<'ast> for Needs {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.extend(path.segments.iter().map(|part| part.ident.to_string()));
        visit::visit_path(self, path);
    }
}

/// What a crate exports: its public modules, and the names in `pub use` with those that they get.
#[derive(Default)]
struct Exports {
    modules: BTreeSet<ModulePath>,
    names: BTreeSet<(String, String)>,
}

impl Exports {
    fn from_files(files: &[(&Path, Vec<Item>)]) -> Self {
        let mut exports = Self::default();
        for (file, items) in files {
            for item in items {
                match item {
                    Item::Mod(module) if is_public(&module.vis) => {
                        let at = module_path(file).unwrap_or_default();
                        exports.modules.insert([at, vec![module.ident.to_string()]].concat());
                    }
                    Item::Use(import) if is_public(&import.vis) => exports.add(&import.tree),
                    _ => {}
                }
            }
        }
        exports
    }

    fn add(&mut self, tree: &UseTree) {
        let mut add = |name: &syn::Ident, to: &syn::Ident| {
            self.names.insert((name.to_string(), to.to_string()))
        };
        match tree {
            UseTree::Path(path) => self.add(&path.tree),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add(tree)),
            UseTree::Name(used) => drop(add(&used.ident, &used.ident)),
            UseTree::Rename(renamed) => drop(add(&renamed.ident, &renamed.rename)),
            UseTree::Glob(_) => {}
        }
    }

    /// The names by which what this file defines is exported.
    fn names_of(&self, file: &Path, name: &str) -> Vec<String> {
        let Some(at) = module_path(file) else { return Vec::new() };
        let public = (1..=at.len()).all(|length| self.modules.contains(&at[..length]));
        let passed_on =
            self.names.iter().filter(|(exported, _)| exported == name).map(|(_, to)| to.clone());
        passed_on.chain(public.then(|| name.to_owned())).collect()
    }
}

/// The names in a text, those inside of macros too.
#[derive(Default)]
struct Names {
    all: BTreeSet<String>,
    /// Names with the one before them: `module::name`, also in `module::{name}`, and `module::*`.
    in_modules: BTreeSet<(String, String)>,
}

impl Names {
    /// Adds names; `module` is the path before a list of imports.
    fn collect(&mut self, tokens: TokenStream, module: Option<String>) {
        let (mut before, mut colons) = (module.clone(), 2);
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.collect(group.stream(), before.take().filter(|_| colons == 2));
                }
                TokenTree::Punct(punct) if punct.as_char() == ',' => {
                    (before, colons) = (module.clone(), 2);
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    let name = token.to_string();
                    if let Some(module) = before.take().filter(|_| colons == 2) {
                        self.in_modules.insert((module, name.clone()));
                    }
                    self.all.insert(name.clone());
                    (before, colons) = (Some(name), 0);
                }
            }
        }
    }

    /// Whether they name an item of this crate: an exported function with a module in which it can stand.
    fn have(&self, crate_name: &str, item: &Public) -> bool {
        if item.exported.is_empty() {
            return self.all.contains(&item.name);
        }
        let modules =
            item.file.iter().filter_map(|part| Some(part.to_str()?.trim_end_matches(".rs")));
        let named = |module: &str| {
            let has = |name: &str| self.in_modules.contains(&(module.to_owned(), name.to_owned()));
            item.exported.iter().any(|name| has(name) || has("*") && self.all.contains(name))
        };
        modules.chain([&*format!("anechoic_{crate_name}")]).any(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_outside_names_or_needs_is_superfluous() {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.to_owned() };
        let sources = [
            source(
                "crates/a/src/lib.rs",
                "pub mod x; mod own; pub fn used(of: Needed) {} pub fn alone() {} pub struct Needed; pub(crate) fn own() {}
                 pub struct Far { pub near: Near } pub struct Near; impl Near { pub fn tested() {} }",
            ),
            source("crates/a/src/x.rs", "pub fn read() {} pub fn write() {} pub fn far() {}"),
            source("crates/a/src/own.rs", "pub fn write() {}"),
            source("crates/a/tests/it.rs", "fn f() { a::Near::tested() }"),
            source(
                "crates/b/src/lib.rs",
                "use anechoic_a::{x::{write}, y}; fn f() { format!(\"{}\", anechoic_a::used(x)); fs::read(); x::far() }",
            ),
        ];
        let (all, found) = superfluous(&sources).expect("Rust");
        let names: Vec<&str> = found.iter().map(|item| item.name.as_str()).collect();
        assert_eq!((all, names), (10, vec!["alone", "Far", "read"]));
    }
}
