//! Which crate may depend on which, and what only some crates may do.

use super::Finding;
use crate::source::Source;
use anyhow::Context;
use std::path::Path;
use std::process::Command;

/// Every crate with the crates of this repository that it may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("anechoic-kernels", &[]),
    ("anechoic-recording", &[]),
    ("anechoic-system", &["anechoic-kernels", "anechoic-recording"]),
    (
        "anechoic-measure",
        &["anechoic-attribute", "anechoic-kernels", "anechoic-recording", "anechoic-system"],
    ),
    ("anechoic-attribute", &["anechoic-recording"]),
    ("anechoic-analyze", &["anechoic-recording"]),
    ("anechoic-predict", &["anechoic-analyze", "anechoic-recording"]),
    ("anechoic-simulate", &["anechoic-analyze", "anechoic-predict", "anechoic-recording"]),
    (
        "anechoic-report",
        &["anechoic-analyze", "anechoic-predict", "anechoic-recording", "anechoic-simulate"],
    ),
    (
        "anechoic-cli",
        &[
            "anechoic-analyze",
            "anechoic-attribute",
            "anechoic-measure",
            "anechoic-predict",
            "anechoic-recording",
            "anechoic-report",
            "anechoic-simulate",
            "anechoic-system",
        ],
    ),
    (
        "anechoic-mpi",
        &[
            "anechoic-cli",
            "anechoic-measure",
            "anechoic-recording",
            "anechoic-simulate",
            "anechoic-system",
        ],
    ),
    ("anechoic-lab", &["anechoic-recording"]),
    ("xtask", &[]),
];

/// Crates that touch the live system, the CPU or a library in C, and so may hold unsafe code.
const UNSAFE: &[&str] = &["kernels", "system", "measure", "mpi", "lab", "bare"];
/// Crates that are commands.
const COMMANDS: &[&str] = &["anechoic-cli", "anechoic-mpi", "xtask"];

/// Texts that only some crates may hold, with who may and why.
const RESERVED: &[(&[&str], &[&str], &str)] = &[
    (
        &["println!(", "print!(", "eprintln!(", "eprint!("],
        &["cli", "mpi", "lab", "xtask"],
        "only commands and tests print",
    ),
    (&["process::exit("], &["cli", "mpi"], "only commands exit"),
    (&["parquet::"], &["recording"], "only recording touches recording files"),
    (&["dbg!(", "todo!(", "unimplemented!("], &[], "unfinished code"),
];

pub(super) fn check(root: &Path, sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let mut findings = dependencies(root)?;
    for source in sources.iter().filter(|source| source.ships()) {
        let name = source.crate_name();
        for (texts, allowed, why) in RESERVED {
            let code = |line: &&str| !line.trim_start().starts_with("//");
            let mut lines = source.shipped_lines().filter(code);
            let breaks = |line: &str| texts.iter().any(|text| line.contains(text));
            if !allowed.contains(&name) && name != "xtask" && lines.any(breaks) {
                let what = format!("holds {}: {why}", texts.join(" or "));
                findings.push(Finding { file: source.path.clone(), what });
            }
        }
        let root_file =
            ["lib.rs", "main.rs"].iter().any(|file| source.path.ends_with(format!("src/{file}")));
        let forbids = source.text.contains("#![forbid(unsafe_code)]");
        if root_file && !forbids && !UNSAFE.contains(&name) {
            let what = "lacks #![forbid(unsafe_code)]".to_owned();
            findings.push(Finding { file: source.path.clone(), what });
        }
    }
    Ok(findings)
}

/// Dependencies of each crate, development ones left out, against the table.
fn dependencies(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let metadata = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cargo metadata")?;
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout)?;
    let mut findings = Vec::new();
    for package in metadata["packages"].as_array().context("packages")? {
        let name = package["name"].as_str().context("name")?;
        let file = Path::new(package["manifest_path"].as_str().context("manifest_path")?);
        let file = file.strip_prefix(root).unwrap_or(file).to_owned();
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            let what = "is a crate without a row in xtask's table of allowed arrows".to_owned();
            findings.push(Finding { file, what });
            continue;
        };
        for dependency in package["dependencies"].as_array().context("dependencies")? {
            let to = dependency["name"].as_str().context("name")?;
            let ours = ALLOWED.iter().any(|(known, _)| *known == to);
            let reserved = to == "anyhow" && !COMMANDS.contains(&name);
            if dependency["kind"].is_null() && (ours && !allowed.contains(&to) || reserved) {
                findings
                    .push(Finding { file: file.clone(), what: format!("may not depend on {to}") });
            }
        }
    }
    Ok(findings)
}
