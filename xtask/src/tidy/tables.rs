//! Every file of a family is registered in the family's table, and every file of tests in its program.

use super::Finding;
use crate::source::Source;
use std::path::Path;

/// Directory of a family, and the file that holds its table.
const FAMILIES: &[(&str, &str)] = &[
    ("crates/analyze/src/gate/rules", "crates/analyze/src/gate/rules/mod.rs"),
    ("crates/kernels/src/work", "crates/kernels/src/work.rs"),
    ("crates/recording/src/import", "crates/recording/src/import/mod.rs"),
    ("crates/report/src/export", "crates/report/src/export/mod.rs"),
    ("crates/report/src/page/sections", "crates/report/src/page/sections/mod.rs"),
    ("crates/report/src/results", "crates/report/src/results/mod.rs"),
];

pub(super) fn check(_root: &Path, sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (dir, table) in FAMILIES {
        let table = sources.iter().find(|source| source.path == Path::new(table));
        let table_text = table.map_or("", |source| source.text.as_str());
        for source in sources {
            let Some(member) = member(&source.path, Path::new(dir)) else { continue };
            if !table_text.contains(&format!("{member}::")) {
                let what = format!("has no row in the table of {dir}");
                findings.push(Finding { file: source.path.clone(), what });
            }
        }
    }
    findings.extend(sources.iter().filter(|source| is_left_out(source, sources)).map(|source| {
        let what = "is no module of main.rs or mod.rs beside it: its tests do not run".to_owned();
        Finding { file: source.path.clone(), what }
    }));
    Ok(findings)
}

/// Returns the name of the member of a family that this is: a file in its directory, or the `mod.rs` of a folder there.
fn member<'a>(path: &'a Path, dir: &Path) -> Option<&'a str> {
    let module = if path.ends_with("mod.rs") { path.parent()? } else { path };
    (module.parent() == Some(dir)).then(|| module.file_stem()?.to_str())?
}

/// Whether this is a file of integration tests that their program, or the module around it, does not name.
fn is_left_out(test: &Source, sources: &[Source]) -> bool {
    let is_test = test.path.iter().nth(2).is_some_and(|dir| dir == "tests");
    let module = if test.path.ends_with("mod.rs") { test.path.parent() } else { Some(&*test.path) };
    let Some((module, dir)) = module.and_then(|module| Some((module, module.parent()?))) else {
        return false;
    };
    let stem = module.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let name = format!("mod {stem};");
    let around = [dir.join("main.rs"), dir.join("mod.rs")];
    let names = |source: &Source| around.contains(&source.path) && source.text.contains(&name);
    is_test && stem != "main" && !sources.iter().any(names)
}
