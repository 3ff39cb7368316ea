//! The part of the page on a paper whose experiments the recordings are.

use super::state::{PAPER, Page};
use crate::results::suite::Study;
use crate::style::{capital, plain};
use maud::{Markup, html};

/// Returns what has changed since the paper, and what was published beside what was measured.
pub(super) fn part(study: &Study, page: &mut Page) -> Markup {
    page.begin_section(PAPER);
    html! {
        article #paper {
            header.head {
                p.machine { (study.paper.full) }
                h1 { (capital(study.title)) }
                @for sentence in &study.changed { p.lead { (plain(sentence)) } }
                @for sentence in study.lacking.iter().chain(&study.doubts) { p.warning { (plain(sentence)) } }
            }
            section #published {
                h2 { "Published beside measured" }
                (study.shown.with_figures(page))
            }
        }
    }
}
