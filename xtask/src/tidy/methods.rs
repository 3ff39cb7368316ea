//! The names of methods stand in their registry alone.

use super::Finding;
use crate::source::Source;
use anyhow::Context;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The registry: a constant of each method, a string literal each.
const REGISTRY: &str = "crates/recording/src/methods.rs";

/// Names that are words of the screens or of the kernel as well. They are a method's only in a line that speaks of methods.
const WORDS: &[&str] = &["\"detours\"", "\"memory\"", "\"program\"", "\"tick\""];

pub(super) fn check(_root: &Path, sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    Ok(literals(sources)?
        .into_iter()
        .map(|(file, name)| Finding {
            file,
            what: format!("holds {name}: use the method's row in {REGISTRY}"),
        })
        .collect())
}

/// Files that hold a method's name as a literal, with the name.
///
/// # Errors
/// There is no registry.
pub fn literals(sources: &[Source]) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let registry = sources.iter().find(|source| source.path == Path::new(REGISTRY));
    let names = literals_of(&registry.context("no registry of methods")?.text);
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.ships()) {
        if source.path != Path::new(REGISTRY) && source.crate_name() != "xtask" {
            found.extend(in_file(source, &names).map(|name| (source.path.clone(), name)));
        }
    }
    Ok(found)
}

/// The names that one file holds; those that are words as well, in lines that speak of methods.
fn in_file<'a>(source: &'a Source, names: &'a BTreeSet<String>) -> impl Iterator<Item = String> {
    let word = |name: &String| WORDS.contains(&name.as_str());
    let spoken = |line: &&str| !line.trim_start().starts_with("//") && line.contains("method");
    let of_methods: String = source.shipped_lines().filter(spoken).collect();
    let all: String = source.shipped_lines().flat_map(|line| [line, "\n"]).collect();
    let plain = literals_of(&all).into_iter().filter(move |name| !word(name));
    let words = WORDS.iter().filter(move |word| of_methods.contains(**word));
    plain.chain(words.map(|word| (*word).to_owned())).filter(|name| names.contains(name))
}

/// The string literals of a text, in quotes.
fn literals_of(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(TokenStream::from_str(text).unwrap_or_default(), &mut found);
    found
}

fn collect(tokens: TokenStream, found: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.starts_with('"') {
                    found.insert(text);
                }
            }
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_methods_are_found_where_they_are_no_words() {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.to_owned() };
        let registry = "const FTQ: &str = \"ftq\"; const DETOURS: &str = \"detours\";";
        let cases: [(&str, &str, &[&str]); 5] = [
            ("a literal", "fn f() { g(\"ftq\") }", &["\"ftq\""]),
            ("in a comment", "// \"ftq\"", &[]),
            ("a constant", "fn f() { g(methods::FTQ) }", &[]),
            ("a word", "fn f() { counted(n, \"detours\") }", &[]),
            ("a word as a method", "fn f() { method == \"detours\" }", &["\"detours\""]),
        ];
        for (name, text, expected) in cases {
            let sources = [source(REGISTRY, registry), source("crates/x/src/lib.rs", text)];
            let found = literals(&sources).expect("a registry");
            let found: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
            assert_eq!(found, expected, "case: {name}");
        }
    }
}
