//! Bounds of the distance of a document, as far as codes tell.

/// Bounds of the distance of one document.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The document.
    pub docid: u32,
    /// Its least possible distance.
    pub lower: f32,
    /// Its greatest possible distance.
    pub upper: f32,
}
