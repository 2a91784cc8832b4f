//! The distance and similarity of two vectors.
//!
//! All arithmetic is in 32-bit floats. Sums run in 16 lanes that are added pairwise at the end. The fallback adds the
//! numbers one by one in the same order, so both engines print the same digits on every processor.
//! Source: vectors §6.5.

use std::sync::LazyLock;

use fearless_simd::{Level, Simd, SimdBase as _, dispatch, f32x16};

use super::embedder::Shift;

const LANES: usize = 16;

/// Vector instructions of the processor, detected once.
static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);

/// Returns the sum of products of two vectors of equal length.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    dispatch!(*LEVEL, simd => dot_in_lanes(simd, a, b))
}

// Multiplications are not fused with additions, so that every processor gives the same digits. Uses explicit vectors,
// because compilers turn 16 parallel sums into 16 scalar ones.
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

/// Returns the length of a vector.
pub fn norm(a: &[f32]) -> f32 {
    dot(a, a).sqrt()
}

/// Returns half of 1 minus the cosine: between 0 and 1. A vector of length 0 has distance 0 to all.
fn from_cosine(product: f32, norms: f32) -> f32 {
    if norms == 0.0 {
        return 0.0;
    }
    ((1.0 - product / norms) / 2.0).clamp(0.0, 1.0)
}

/// Compares vectors in 64 bits, for squares that overflow 32-bit floats.
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

/// A vector of a query, prepared for comparison with stored vectors.
#[derive(Debug, Clone)]
pub enum Probe {
    /// Compared by the angle.
    Floats {
        /// The components as given.
        vector: Vec<f32>,
        /// Its length.
        norm: f32,
    },
    /// Compared by the number of bits that differ.
    Bits {
        /// Padded to words of 64.
        bits: Vec<u8>,
    },
}

impl Probe {
    /// Prepares `vector` for comparison with vectors stored as floats, or as bits.
    pub fn new(vector: &[f32], binary: bool) -> Self {
        if binary {
            return Self::Bits { bits: bits_of(vector) };
        }
        Self::Floats { vector: vector.to_vec(), norm: norm(vector) }
    }

    /// Returns the distance, from 0 to 1, to a stored vector: its length and its components, or bits.
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

/// Converts stored bytes to floats. Copies them only if they are not aligned.
pub fn floats(stored: &[u8]) -> std::borrow::Cow<'_, [f32]> {
    // SAFETY: every bit pattern is a float, and `align_to` guarantees alignment and length.
    let (before, middle, after) = unsafe { stored.align_to::<f32>() };
    if cfg!(target_endian = "little") && before.is_empty() && after.is_empty() {
        return middle.into();
    }
    let float = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("chunks are of 4 bytes"));
    stored.chunks_exact(4).map(float).collect()
}

/// Converts each component to a bit, 1 above zero. Pads the bits to words of 64.
pub fn bits_of(vector: &[f32]) -> Vec<u8> {
    let mut bits = vec![0u8; vector.len().div_ceil(64) * 8];
    for (at, component) in vector.iter().enumerate() {
        if *component > 0.0 {
            bits[at / 8] |= 1 << (at % 8);
        }
    }
    bits
}

/// Returns the displayed similarity of a distance: 1 − distance, transformed by `shift`.
pub fn similarity(distance: f32, shift: Option<Shift>) -> f32 {
    let plain = 1.0 - distance;
    let Some(Shift { mean, sigma }) = shift else { return plain };
    let factor = 0.4f32 / sigma;
    let offset = 0.5 - factor * mean;
    let shifted = factor * plain + offset;
    // The least similar document still scores above a document without vectors. Source: vectors §6.5.
    if shifted <= 0.0 { f32::EPSILON } else { shifted.min(1.0) }
}
