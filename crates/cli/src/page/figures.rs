//! The figures of a report as separate files.

use crate::files::{refuse, write_whole};
use anechoic_recording::{Problem, ProblemKind, create_dir_all};
use anechoic_report::{Figure, HtmlReport, Raster, captions, figures, shown};
use std::path::Path;

/// The file of the captions, beside the figures.
const CAPTIONS: &str = "captions.txt";

/// Refuses a directory that already has figures, before anything is computed.
pub(super) fn refuse_full(dir: &Path, force: bool) -> Result<(), Problem> {
    refuse(&dir.join(CAPTIONS), force)
}

/// Writes each figure as SVG and, if that is possible, as PNG; then the captions. Returns one line per
/// figure.
pub(super) fn write(report: &HtmlReport, dir: &Path, force: bool) -> Result<Vec<String>, Problem> {
    let figures = figures(report);
    if figures.is_empty() {
        return Ok(vec!["no figures: nothing in this recording can be drawn".into()]);
    }
    let raster = Raster::from_system();
    let endings: &[&str] = if raster.is_ok() { &["svg", "png"] } else { &["svg"] };
    for figure in &figures {
        for ending in endings {
            refuse(&dir.join(format!("{}.{ending}", figure.name)), force)?;
        }
    }
    create_dir_all(dir).map_err(|error| Problem::unwritable(dir, &error))?;
    let mut lines = vec![];
    for figure in &figures {
        file(dir, &format!("{}.svg", figure.name), figure.svg.as_bytes(), force)?;
        if let Ok(raster) = &raster {
            let png = raster.png(&figure.svg).map_err(|why| not_drawn(figure, why))?;
            file(dir, &format!("{}.png", figure.name), &png, force)?;
        }
        lines.push(line(dir, figure, endings));
    }
    file(dir, CAPTIONS, captions(report, &figures).as_bytes(), force)?;
    lines.push(shown(&dir.join(CAPTIONS)));
    lines.extend(from_before(dir, &figures));
    lines.extend(raster.err().map(|why| format!("no PNG files: {why}")));
    Ok(lines)
}

fn not_drawn(figure: &Figure, why: String) -> Problem {
    let remedy = "the SVG file beside it holds the same picture";
    ProblemKind::Unavailable.problem(why, remedy).about(&figure.name)
}

/// Returns the pictures in the directory that are not part of this report; `--force` leaves them there.
fn from_before(dir: &Path, figures: &[Figure]) -> Option<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut older: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|file| {
            let stem = file.strip_suffix(".svg").or_else(|| file.strip_suffix(".png"));
            stem.is_some_and(|stem| figures.iter().all(|figure| figure.name != stem))
        })
        .collect();
    older.sort();
    (!older.is_empty())
        .then(|| format!("older files that do not belong to this report: {}", older.join(" ")))
}

fn file(dir: &Path, name: &str, bytes: &[u8], force: bool) -> Result<(), Problem> {
    write_whole(&dir.join(name), force, |out| Ok(out.write_all(bytes)?)).map(drop)
}

fn line(dir: &Path, figure: &Figure, endings: &[&str]) -> String {
    let (wide, high) = figure.size_cm;
    let path = dir.join(&figure.name);
    format!("{}.{} · {wide:.1} cm × {high:.1} cm", shown(&path), endings.join(" ."))
}
