//! Bounds of the distance of a document, calculated from codes.

/// Bounds of the distance of a document.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Docid of the document.
    pub docid: u32,
    /// Its least possible distance.
    pub lower: f32,
    /// Its greatest possible distance.
    pub upper: f32,
}
