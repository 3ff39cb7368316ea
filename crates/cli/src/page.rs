//! A result as an HTML page, and its figures as separate files.

mod figures;
mod gather;

use crate::files;
use crate::progress::Busy;
use crate::terminal;
use anechoic_recording::Problem;
use anechoic_report::results::Found;
use anechoic_report::{HtmlReport, html, shown};
pub(crate) use gather::{Known, gather};
use std::path::{Path, PathBuf};

// Where to write a result as a page or as figures, besides printing it. No doc comment: clap would print it as the
// command's help.
#[derive(Debug, clap::Args)]
pub(crate) struct PageArgs {
    /// Also write the result as one HTML file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write its figures to this directory, as SVG and PNG for a paper, with their captions
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

impl PageArgs {
    /// Refuses to overwrite anything, before anything is computed.
    ///
    /// # Errors
    /// The file exists, or the directory is not empty.
    pub fn refuse(&self, force: bool) -> Result<(), Problem> {
        refuse(self.html.as_deref(), self.figures.as_deref(), force)
    }

    /// Writes what was requested, and names it on stderr.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, found: Found, force: bool) -> Result<(), Problem> {
        let mut page = HtmlReport::default();
        page.together.found.add(found);
        self.print(&page, force)
    }

    /// Returns whether anything was requested.
    pub(crate) fn is_wanted(&self) -> bool {
        self.html.is_some() || self.figures.is_some()
    }

    /// Writes this page, as far as it was requested, and names the files on stderr.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn print(&self, page: &HtmlReport, force: bool) -> Result<(), Problem> {
        for line in written(page, self.html.as_deref(), self.figures.as_deref(), force)? {
            terminal::print_note(format_args!("{line}"));
        }
        Ok(())
    }
}

/// Refuses to overwrite a file or figures, before anything is computed.
pub(crate) fn refuse(file: Option<&Path>, dir: Option<&Path>, force: bool) -> Result<(), Problem> {
    file.map_or(Ok(()), |path| files::refuse(path, force))?;
    dir.map_or(Ok(()), |dir| figures::refuse_full(dir, force))
}

/// Writes the page to a file and its figures to a directory, as far as they are asked for. Returns a line for each.
pub(crate) fn written(
    report: &HtmlReport,
    file: Option<&Path>,
    dir: Option<&Path>,
    force: bool,
) -> Result<Vec<String>, Problem> {
    let mut lines = vec![];
    if let Some(path) = file {
        let bytes = files::write_whole(path, force, |out| Ok(html(report, out)?))?;
        lines.push(format!("{} · {}", shown(path), anechoic_report::bytes(bytes)));
    }
    if let Some(dir) = dir {
        let _busy = Busy::with("drawing", false);
        lines.extend(figures::write(report, dir, force)?);
    }
    Ok(lines)
}
