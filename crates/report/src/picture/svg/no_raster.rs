//! No PNG: this build leaves out what draws them.

/// Resolution of a PNG, in dots per inch.
pub const DPI: u16 = 300;

/// Draws figures as PNG. There is none in this build.
#[derive(Debug, Clone)]
pub enum Raster {}

impl Raster {
    /// Returns why there can be no PNG.
    ///
    /// # Errors
    ///
    /// Always: this build leaves PNG out.
    pub fn from_system() -> Result<Self, &'static str> {
        Err("this build leaves PNG out (`cargo build --release` builds all)")
    }

    /// Renders a figure as PNG.
    ///
    /// # Errors
    ///
    /// A text that states which part of the figure cannot be drawn.
    pub fn png(&self, _svg: &str) -> Result<Vec<u8>, String> {
        match *self {}
    }
}
