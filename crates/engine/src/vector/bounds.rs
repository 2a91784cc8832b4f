//! Between what the distance of a document lies, as far as codes tell.

/// Between what the distance of a document lies.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Whose.
    pub docid: u32,
    /// It is not nearer.
    pub lower: f32,
    /// It is not further.
    pub upper: f32,
}
