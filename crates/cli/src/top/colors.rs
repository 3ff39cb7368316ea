//! Colours that the terminal can show.

use crate::terminal::is_colored;
use anechoic_report::live::color;
use ratatui::style::{Color, Style};

/// The number of colours of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colors {
    /// No colours, as the user asked.
    None,
    /// The 256 colours that nearly all terminals have.
    Indexed,
    /// All 24-bit colours.
    True,
}

impl Colors {
    pub(crate) fn from_terminal() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        match set("COLORTERM") {
            _ if !is_colored(true) => Colors::None,
            Some(value) if value == "truecolor" || value == "24bit" => Colors::True,
            _ => Colors::Indexed,
        }
    }

    /// Returns the style of a kind of source.
    pub fn source(self, source: &str) -> Style {
        let (red, green, blue) = color(source);
        match self {
            Colors::None => Style::new(),
            Colors::Indexed => Style::new().fg(Color::Indexed(nearest(red, green, blue))),
            Colors::True => Style::new().fg(Color::Rgb(red, green, blue)),
        }
    }

    /// Returns the style of what matters most.
    pub(crate) fn accent(self) -> Style {
        if self == Colors::None { Style::new() } else { Style::new().fg(Color::Cyan) }
    }
}

/// Returns the nearest colour of the 6×6×6 colour cube.
fn nearest(red: u8, green: u8, blue: u8) -> u8 {
    16 + 36 * level(red) + 6 * level(green) + level(blue)
}

/// Returns the number of the level of the cube that is nearest to this part of a colour.
fn level(part: u8) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let nearest = LEVELS.iter().enumerate().min_by_key(|(_, level)| level.abs_diff(part));
    nearest.map_or(0, |(number, _)| number as u8)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn corners_of_the_cube() {
        assert_eq!(nearest(0, 0, 0), 16);
        assert_eq!(nearest(255, 255, 255), 231);
        assert_eq!(nearest(250, 10, 130), 16 + 36 * 5 + 2);
    }
}
