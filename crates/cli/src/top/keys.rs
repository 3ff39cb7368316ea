//! What the keys do.

use super::app::{App, Typing};
use super::session::Session;
use crate::ask;
use anechoic_report::live::Watched;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The keys, and what they do.
pub(crate) const KEYS: [(&str, &str); 9] = [
    ("q", "quit"),
    ("space", "pause the screen; the measurement goes on"),
    ("o", "sort by the next column, which is underlined"),
    ("/", "filter: part of a source's name, or CPUs like 2-5"),
    ("t", "change the threshold (1us, or calibrated); the measurement restarts"),
    ("s", "save the measurement as a recording"),
    ("up down", "scroll"),
    ("esc", "clear the filter, or close this list"),
    ("?", "open and close this list"),
];

impl App {
    /// Handles a key; returns false if it ends the view.
    pub fn key(&mut self, key: KeyEvent, session: &Session) -> bool {
        self.pressed = true;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return !matches!(key.code, KeyCode::Char('c' | 'd'));
        }
        if let Some((typing, text)) = self.typing.take() {
            self.typed(typing, text, key.code, session);
            return true;
        }
        match key.code {
            KeyCode::Char('q' | 'Q') => return false,
            KeyCode::Char(' ' | 'p') => self.paused = !self.paused,
            KeyCode::Char('o') => {
                self.order = self.order.next();
                self.say(format!("sorted by {}", self.order.name(self.watched())));
            }
            KeyCode::Char('/') => self.typing = Some((Typing::Filter, self.filter.clone())),
            KeyCode::Char('t') if self.watched() == Watched::Program => {
                self.say("a program has no threshold: each of its detours counts".to_owned());
            }
            KeyCode::Char('t') if self.watched() == Watched::WakeUps => {
                self.say("wake-ups have no threshold: each counts".to_owned());
            }
            KeyCode::Char('t') => self.typing = Some((Typing::Threshold, String::new())),
            KeyCode::Char('s') => self.save(session),
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Up | KeyCode::Char('k') => self.scrolled = self.scrolled.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.scrolled += 1,
            KeyCode::Esc if self.help => self.help = false,
            KeyCode::Esc => self.filter.clear(),
            _ => {}
        }
        true
    }

    fn save(&mut self, session: &Session) {
        if self.kept {
            self.say("everything is already being kept".to_owned());
        } else if self.run().is_some() && !self.saving {
            self.saving = true;
            self.say("saving …".to_owned());
            session.save();
        }
    }

    fn typed(&mut self, typing: Typing, mut text: String, code: KeyCode, session: &Session) {
        match code {
            KeyCode::Esc => return,
            KeyCode::Enter => return self.entered(typing, &text, session),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(letter) => text.push(letter),
            _ => {}
        }
        if typing == Typing::Filter {
            self.filter.clone_from(&text); // the filter applies while it is typed
        }
        self.typing = Some((typing, text));
    }

    fn entered(&mut self, typing: Typing, text: &str, session: &Session) {
        if typing == Typing::Filter {
            text.trim().clone_into(&mut self.filter);
            return;
        }
        let threshold = (!text.trim().is_empty()).then(|| ask::duration(text)).transpose();
        match threshold {
            Err(error) => self.say(error),
            Ok(threshold) => {
                let least = self.least_threshold_ns();
                match threshold.filter(|asked| asked.as_nanos() < u128::from(least)) {
                    Some(_) => {
                        self.say(format!("the shortest threshold on this machine is {least} ns"))
                    }
                    None => session.threshold(threshold),
                }
            }
        }
    }

    /// Returns the shortest useful threshold; below it, every loop iteration would be a detour.
    fn least_threshold_ns(&self) -> u64 {
        self.run()
            .map_or(1, |run| run.clock.ns((2.0 * run.clock.read_mean_ticks).ceil() as u64) + 1)
    }
}
