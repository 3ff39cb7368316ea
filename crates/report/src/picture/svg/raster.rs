//! Figures as PNG with the same size on paper.

use png::{BitDepth, ColorType, Encoder, PixelDimensions, Unit};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::Arc;

/// Resolution of a PNG, in dots per inch.
pub const DPI: u16 = 300;
/// Resolution in dots per metre, as PNG stores it.
const DOTS_PER_METRE: u32 = (DPI as f64 / 0.0254 + 0.5) as u32;

/// Fonts that a figure may use if none of those it names is installed.
const KNOWN: [&str; 6] =
    ["Helvetica", "Arial", "Liberation Sans", "Nimbus Sans", "DejaVu Sans", "Noto Sans"];

/// The fonts of this machine; without any a PNG would have no text.
#[derive(Debug, Clone)]
pub struct Raster {
    fonts: Arc<fontdb::Database>,
}

impl Raster {
    /// Looks for the fonts of the system.
    ///
    /// # Errors
    ///
    /// Why there can be no PNG: no font is installed.
    pub fn from_system() -> Result<Self, &'static str> {
        let mut fonts = fontdb::Database::new();
        fonts.load_system_fonts();
        let families =
            || fonts.faces().flat_map(|face| &face.families).map(|(name, _)| name.as_str());
        let known = KNOWN.into_iter().find(|known| families().any(|name| name == *known));
        let found = known.or_else(|| families().min());
        let found = found.ok_or("no font is installed (Debian: fonts-dejavu-core)")?.to_owned();
        fonts.set_sans_serif_family(found);
        Ok(Self { fonts: Arc::new(fonts) })
    }

    /// Renders a figure as PNG at 300 dpi.
    ///
    /// # Errors
    ///
    /// A text that states which part of the figure cannot be drawn.
    pub fn png(&self, svg: &str) -> Result<Vec<u8>, String> {
        let options =
            Options { dpi: f32::from(DPI), fontdb: Arc::clone(&self.fonts), ..Options::default() };
        let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
        let size = tree.size().to_int_size();
        let mut dots =
            Pixmap::new(size.width(), size.height()).ok_or("the figure is too large for a PNG")?;
        dots.fill(Color::WHITE);
        resvg::render(&tree, Transform::default(), &mut dots.as_mut());
        // The paper is white everywhere: nothing shines through.
        let colors: Vec<u8> =
            dots.pixels().iter().flat_map(|dot| [dot.red(), dot.green(), dot.blue()]).collect();
        encoded(size.width(), size.height(), &colors).map_err(|error| error.to_string())
    }
}

fn encoded(width: u32, height: u32, colors: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = vec![];
    let mut encoder = Encoder::new(&mut bytes, width, height);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    // Word processors take the size on paper from it.
    encoder.set_pixel_dims(Some(PixelDimensions {
        xppu: DOTS_PER_METRE,
        yppu: DOTS_PER_METRE,
        unit: Unit::Meter,
    }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(colors)?;
    writer.finish()?;
    Ok(bytes)
}
