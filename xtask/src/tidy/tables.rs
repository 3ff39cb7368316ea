//! Every file of a family is registered in the family's table.

use super::Finding;
use crate::source::Source;
use std::path::Path;

/// Directory of a family, and the file that holds its table.
const FAMILIES: &[(&str, &str)] = &[
    ("crates/attribute/src/sources", "crates/attribute/src/sources/mod.rs"),
    ("crates/kernels/src/work", "crates/kernels/src/work.rs"),
    ("crates/report/src/html/sections", "crates/report/src/html/sections/mod.rs"),
];

pub(super) fn check(_root: &Path, sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (dir, table) in FAMILIES {
        let table = sources.iter().find(|source| source.path == Path::new(table));
        let table_text = table.map_or("", |source| source.text.as_str());
        let members = sources.iter().filter(|source| source.path.parent() == Some(Path::new(dir)));
        for member in
            members.filter(|member| member.path.file_name().is_some_and(|f| f != "mod.rs"))
        {
            let stem = member.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if !table_text.contains(&format!("{stem}::")) {
                let what = format!("has no row in the table of {dir}");
                findings.push(Finding { file: member.path.clone(), what });
            }
        }
    }
    Ok(findings)
}
