//! Every file of a family is registered in the family's table, and every file of tests in its program.

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
    findings.extend(sources.iter().filter(|source| is_left_out(source, sources)).map(|source| {
        let what = "is no module of the main.rs beside it: its tests do not run".to_owned();
        Finding { file: source.path.clone(), what }
    }));
    Ok(findings)
}

/// Whether this is a file of integration tests that their program does not name.
fn is_left_out(test: &Source, sources: &[Source]) -> bool {
    let Some(dir) = test.path.parent().filter(|dir| dir.ends_with("tests")) else { return false };
    let program = sources.iter().find(|source| source.path == dir.join("main.rs"));
    let stem = test.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let names = |program: &Source| program.text.contains(&format!("mod {stem};"));
    stem != "main" && program.is_some_and(|program| !names(program))
}
