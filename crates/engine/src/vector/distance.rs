//! How alike are two vectors?
//!
//! All in 32-bit floats. Sums run in 16 lanes that are added pairwise at the end, so that the fallback, which
//! counts one by one, prints the same digits, whatever the processor. Source: vectors §6.5.

use std::sync::LazyLock;

use fearless_simd::{Level, Simd, SimdBase as _, dispatch, f32x16};

use super::embedder::Shift;

const LANES: usize = 16;

/// What the processor can do, asked once.
static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);

/// Sum of products of two vectors of one length.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    dispatch!(*LEVEL, simd => dot_in_lanes(simd, a, b))
}

// Nothing is fused, so that every processor gives the same digits. Written as vectors, because of 16 sums side
// by side a compiler makes 16 single ones.
#[inline(always)]
fn dot_in_lanes<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let mut sums = f32x16::splat(simd, 0.0);
    let (mut left, mut right) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    for (a, b) in left.by_ref().zip(right.by_ref()) {
        sums += f32x16::from_slice(simd, a) * f32x16::from_slice(simd, b);
    }
    let mut lanes: [f32; LANES] = sums.into();
    for (lane, (a, b)) in left.remainder().iter().zip(right.remainder()).enumerate() {
        lanes[lane] += a * b;
    }
    let mut half = LANES / 2;
    while half >= 1 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// The length of a vector.
pub fn norm(a: &[f32]) -> f32 {
    dot(a, a).sqrt()
}

/// Half of what the cosine lacks to 1: between 0 and 1. A vector without direction is near to all.
fn from_cosine(product: f32, norms: f32) -> f32 {
    if norms == 0.0 {
        return 0.0;
    }
    ((1.0 - product / norms) / 2.0).clamp(0.0, 1.0)
}

/// Components whose squares no 32-bit float holds are compared in 64 bits.
fn wide_distance(a: &[f32], b: &[f32]) -> f32 {
    let (mut product, mut left, mut right) = (0f64, 0f64, 0f64);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (f64::from(*x), f64::from(*y));
        product += x * y;
        left += x * x;
        right += y * y;
    }
    let norms = left.sqrt() * right.sqrt();
    if norms == 0.0 { 0.0 } else { from_cosine((product / norms) as f32, 1.0) }
}

/// A vector others are compared with.
#[derive(Debug, Clone)]
pub enum Probe {
    /// By the angle between them.
    Floats {
        /// As given.
        vector: Vec<f32>,
        /// Its length.
        norm: f32,
    },
    /// By the bits that differ.
    Bits {
        /// Padded to words of 64.
        bits: Vec<u8>,
    },
}

impl Probe {
    /// Readies `vector` for comparison with vectors kept as floats, or as bits.
    pub fn new(vector: &[f32], binary: bool) -> Self {
        if binary {
            return Self::Bits { bits: bits_of(vector) };
        }
        Self::Floats { vector: vector.to_vec(), norm: norm(vector) }
    }

    /// Distance, from 0 to 1, to a vector in the form it is stored in: its length and its components, or bits.
    pub fn distance(&self, stored: &[u8]) -> f32 {
        match self {
            Self::Bits { bits } => {
                let word =
                    |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("chunks are of 8 bytes"));
                let words = bits.chunks_exact(8).zip(stored.chunks_exact(8));
                let differing: u32 = words.map(|(a, b)| (word(a) ^ word(b)).count_ones()).sum();
                differing as f32 / (bits.len() * 8) as f32
            }
            Self::Floats { vector, norm: own } => {
                let stored = floats(stored);
                let (norm, stored) = stored.split_first().expect("a stored vector begins with its length");
                let (product, norms) = (dot(vector, stored), own * norm);
                if product.is_finite() && norms.is_finite() {
                    return from_cosine(product, norms);
                }
                wide_distance(vector, stored)
            }
        }
    }
}

/// Stored bytes as floats; copied only where memory does not allow to look at them in place.
pub fn floats(stored: &[u8]) -> std::borrow::Cow<'_, [f32]> {
    // SAFETY: every bit pattern is a float, and `align_to` sees to alignment and length.
    let (before, middle, after) = unsafe { stored.align_to::<f32>() };
    if cfg!(target_endian = "little") && before.is_empty() && after.is_empty() {
        return middle.into();
    }
    let float = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("chunks are of 4 bytes"));
    stored.chunks_exact(4).map(float).collect()
}

/// One bit per component, 1 above zero, padded to words of 64.
pub fn bits_of(vector: &[f32]) -> Vec<u8> {
    let mut bits = vec![0u8; vector.len().div_ceil(64) * 8];
    for (at, component) in vector.iter().enumerate() {
        if *component > 0.0 {
            bits[at / 8] |= 1 << (at % 8);
        }
    }
    bits
}

/// The likeness that is shown for a distance: 1 − distance, spread by `shift`.
pub fn similarity(distance: f32, shift: Option<Shift>) -> f32 {
    let plain = 1.0 - distance;
    let Some(Shift { mean, sigma }) = shift else { return plain };
    let factor = 0.4f32 / sigma;
    let offset = 0.5 - factor * mean;
    let shifted = factor * plain + offset;
    // Source: vectors §6.5. Even the least alike shows more than a document without vectors.
    if shifted <= 0.0 { f32::EPSILON } else { shifted.min(1.0) }
}
