//! What is public is named by somebody outside of its crate.

use super::Finding;
use crate::source::Source;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use syn::visit::{self, Visit};
use syn::{ImplItem, Item, Visibility};

/// Crates that are programs: what is public in them is for the other command, or for their own program, alone.
const NOT_LIBRARIES: &[&str] = &["xtask", "mpi", "bare"];

/// A public item of a crate.
#[derive(Debug)]
pub struct Public {
    /// The file that defines it.
    pub file: PathBuf,
    /// Its name.
    pub name: String,
    /// The names that its signature or its public fields need.
    needs: BTreeSet<String>,
}

pub(super) fn check(_root: &Path, sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let finding = |item: Public| {
        let what = format!("{} is public, and nothing outside of the crate names it", item.name);
        Finding { file: item.file, what }
    };
    Ok(superfluous(sources)?.1.into_iter().map(finding).collect())
}

/// The number of public items of all libraries, and those that nothing outside of their crate names or needs.
///
/// # Errors
/// A file that is not Rust.
pub fn superfluous(sources: &[Source]) -> anyhow::Result<(usize, Vec<Public>)> {
    let mut public: BTreeMap<&str, Vec<Public>> = BTreeMap::new();
    let mut named: BTreeMap<(&str, bool), BTreeSet<String>> = BTreeMap::new();
    for source in sources {
        let name = source.crate_name();
        let ships = source.ships();
        let words = named.entry((name, ships)).or_default();
        let tokens = TokenStream::from_str(&source.text).unwrap_or_default();
        collect(tokens, words);
        if ships && !NOT_LIBRARIES.contains(&name) {
            let items = source.shipped()?.items;
            public.entry(name).or_default().extend(public_items(&source.path, &items));
        }
    }
    let all = public.values().map(Vec::len).sum();
    let mut superfluous = Vec::new();
    for (name, items) in public {
        let outside = |item: &Public| {
            named
                .iter()
                .any(|((of, ships), words)| (*of != name || !ships) && words.contains(&item.name))
        };
        superfluous.extend(not_needed(items, outside));
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

fn public_items(file: &Path, items: &[Item]) -> Vec<Public> {
    let mut found = Vec::new();
    let mut add = |name: &syn::Ident, needs: Needs| {
        let (name, needs) = (name.to_string(), needs.0);
        found.push(Public { file: file.to_owned(), name, needs });
    };
    for item in items {
        match item {
            Item::Fn(item) if is_public(&item.vis) => {
                add(&item.sig.ident, Needs::of(|n| n.visit_signature(&item.sig)))
            }
            Item::Struct(item) if is_public(&item.vis) => add(
                &item.ident,
                Needs::of(|n| {
                    let public = item.fields.iter().filter(|field| is_public(&field.vis));
                    public.for_each(|field| n.visit_type(&field.ty));
                    n.visit_generics(&item.generics);
                }),
            ),
            Item::Enum(item) if is_public(&item.vis) => {
                add(&item.ident, Needs::of(|n| n.visit_item_enum(item)))
            }
            Item::Const(item) if is_public(&item.vis) => {
                add(&item.ident, Needs::of(|n| n.visit_type(&item.ty)))
            }
            Item::Static(item) if is_public(&item.vis) => {
                add(&item.ident, Needs::of(|n| n.visit_type(&item.ty)))
            }
            Item::Type(item) if is_public(&item.vis) => {
                add(&item.ident, Needs::of(|n| n.visit_type(&item.ty)))
            }
            Item::Trait(item) if is_public(&item.vis) => {
                add(&item.ident, Needs::of(|n| n.visit_item_trait(item)))
            }
            Item::Impl(item) if item.trait_.is_none() => {
                for member in &item.items {
                    match member {
                        ImplItem::Fn(member) if is_public(&member.vis) => {
                            add(&member.sig.ident, Needs::of(|n| n.visit_signature(&member.sig)))
                        }
                        ImplItem::Const(member) if is_public(&member.vis) => {
                            add(&member.ident, Needs::of(|n| n.visit_type(&member.ty)))
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

fn is_public(of: &Visibility) -> bool {
    matches!(of, Visibility::Public(_))
}

/// The names in a signature.
#[derive(Default)]
struct Needs(BTreeSet<String>);

impl Needs {
    fn of(read: impl FnOnce(&mut Self)) -> Self {
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

/// All names in a text, those inside of macros too.
fn collect(tokens: TokenStream, words: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                words.insert(ident.to_string());
            }
            TokenTree::Group(group) => collect(group.stream(), words),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
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
                "pub fn used(of: Needed) {} pub fn alone() {} pub struct Needed; pub(crate) fn own() {}
                 pub struct Far { pub near: Near } pub struct Near; impl Near { pub fn tested() {} }",
            ),
            source("crates/a/tests/it.rs", "fn f() { a::Near::tested() }"),
            source("crates/b/src/lib.rs", "fn f() { format!(\"{}\", a::used(x)) }"),
        ];
        let (all, found) = superfluous(&sources).expect("Rust");
        let names: Vec<&str> = found.iter().map(|item| item.name.as_str()).collect();
        assert_eq!((all, names), (6, vec!["alone", "Far"]));
    }
}
