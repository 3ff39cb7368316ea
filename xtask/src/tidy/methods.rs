//! The names of methods stand in their registry alone.

use super::Finding;
use crate::source::Source;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The registry: constants of recordings' methods, a string literal each.
const REGISTRY: &str = "crates/recording/src/method.rs";

pub(super) fn check(_root: &Path, sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let finding = |(file, name): (PathBuf, String)| {
        let what = format!("holds {name}: use the method's row in {REGISTRY}");
        Finding { file, what }
    };
    Ok(literals(sources)?.into_iter().map(finding).collect())
}

/// Files that hold a method's name as a literal, with the name.
///
/// # Errors
/// There is no registry.
pub fn literals(sources: &[Source]) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let registry = sources.iter().find(|source| source.path == Path::new(REGISTRY));
    let names: BTreeSet<String> =
        registry.map(literals_of).unwrap_or_default().into_iter().collect();
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.ships()) {
        if source.path != Path::new(REGISTRY) && source.crate_name() != "xtask" {
            let of_file = literals_of(source).into_iter().filter(|text| names.contains(text));
            found.extend(of_file.map(|name| (source.path.clone(), name)));
        }
    }
    Ok(found)
}

/// The string literals of a file, in quotes, those of tests left out.
fn literals_of(source: &Source) -> Vec<String> {
    let text: String = source.shipped_lines().flat_map(|line| [line, "\n"]).collect();
    let mut found = Vec::new();
    collect(TokenStream::from_str(&text).unwrap_or_default(), &mut found);
    found
}

fn collect(tokens: TokenStream, found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.starts_with('"') {
                    found.push(text);
                }
            }
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}
