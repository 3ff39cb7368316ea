//! What a brief screen leaves out: passed checks but for their names, charts, and how to read a table.

use super::{Content, Screen};
use crate::picture::Picture;
use crate::style::{Tone, View};

/// A name and the text beside it.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    /// A sign before the name; if there is one, only the sign is coloured by the tone.
    pub mark: &'static str,
    pub name: String,
    pub tone: Tone,
    pub text: String,
    /// The remedy, printed below the text.
    pub remedy: Option<String>,
    pub in_brief: InBrief,
}

/// What a brief screen shows of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InBrief {
    /// All of it.
    Whole,
    /// A passed check, in one line with the others.
    Passed(String),
    /// A check that could not be made, in the same line.
    Unchecked(&'static str),
    Nothing,
}

impl Fact {
    /// A fact without a sign and without a remedy, which a brief screen shows too.
    pub(crate) fn new(name: impl Into<String>, tone: Tone, text: impl Into<String>) -> Self {
        let (name, text) = (name.into(), text.into());
        Self { mark: "", name, tone, text, remedy: None, in_brief: InBrief::Whole }
    }

    /// Returns this fact as one of which a brief screen shows this much.
    pub(crate) fn in_brief(self, in_brief: InBrief) -> Self {
        Self { in_brief, ..self }
    }

    fn passed(&self) -> Option<&str> {
        match &self.in_brief {
            InBrief::Passed(name) => Some(name),
            _ => None,
        }
    }

    fn unchecked(&self) -> Option<&str> {
        match self.in_brief {
            InBrief::Unchecked(name) => Some(name),
            _ => None,
        }
    }

    /// Returns this fact as a check that a brief screen names like this if it is passed.
    pub(crate) fn checks(self, name: impl Into<String>) -> Self {
        match self.tone {
            Tone::Good => self.in_brief(InBrief::Passed(name.into())),
            _ => self,
        }
    }
}

impl Screen {
    /// Adds facts: all, or in brief the passed checks in one line above the others.
    pub(crate) fn checked(&mut self, facts: Vec<Fact>, all: bool) {
        if all {
            return self.facts(facts);
        }
        let passed: Vec<&str> = facts.iter().filter_map(Fact::passed).collect();
        let unchecked: Vec<&str> = facts.iter().filter_map(Fact::unchecked).collect();
        let failed = facts.iter().any(|fact| {
            matches!(fact.tone, Tone::Warning | Tone::Bad) && fact.in_brief == InBrief::Whole
        });
        let lists = [
            (
                if failed || !unchecked.is_empty() { "checks passed" } else { "all checks passed" },
                passed,
            ),
            ("not checked", unchecked),
        ];
        let lists = lists.iter().filter(|(_, names)| !names.is_empty());
        let line: Vec<String> =
            lists.map(|(what, names)| format!("{what}: {}", names.join(", "))).collect();
        if !line.is_empty() {
            self.sentence(&line.join("; "));
        }
        self.facts(facts.into_iter().filter(|fact| fact.in_brief == InBrief::Whole).collect());
    }

    /// Adds facts below an empty line: all, or in brief those that warn.
    pub(crate) fn warnings_or(&mut self, mut facts: Vec<Fact>, all: bool) {
        facts.retain(|fact| all || matches!(fact.tone, Tone::Warning | Tone::Bad));
        if !facts.is_empty() {
            self.gap();
            self.facts(facts);
        }
    }

    /// Returns the screen as a view shows it: all of it, or without charts and without the notes on how to read a table.
    pub(crate) fn in_brief(mut self, view: &View<'_>) -> Self {
        if !view.all {
            self.leave_out_figures();
        }
        self
    }

    fn leave_out_figures(&mut self) {
        let mut below_table = false;
        self.blocks.retain_mut(|block| {
            let is_legend = below_table && block.is_note();
            below_table = is_legend || matches!(block.content, Content::Table(_));
            match &mut block.content {
                Content::Picture(picture, _) => matches!(**picture, Picture::Heat(_)),
                Content::Pair(screen) => {
                    screen.leave_out_figures();
                    !screen.blocks.is_empty()
                }
                Content::Details(details) => {
                    details.screen.leave_out_figures();
                    true
                }
                _ => !is_legend,
            }
        });
    }
}
