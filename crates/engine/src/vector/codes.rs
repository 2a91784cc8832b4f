//! Codes of vectors: shorter vectors that are sufficient for finding neighbours.
//!
//! A code has a byte per component, and the error from rounding to bytes. It is a quarter of the vector, so it is read
//! in a quarter of the time. Scans and graphs compare codes first. Candidates are then compared by the vectors of the
//! log, so results show no rounding.
//!
//! ```text
//! code = component:i8* 0* scale:f32 error:f32        components padded to a multiple of 32
//! ```
//!
//! The vector of components times `scale` has length 1. Its distance to the original vector, scaled to length 1, is
//! `error`.

use std::sync::{Arc, LazyLock};

use fearless_simd::{Level, Simd, SimdBase as _, SimdIntWiden as _, SimdWiden as _, dispatch, i8x32, i32x8};

/// Components that are compared at a time.
const LANES: usize = 32;

/// Number of codes that are compared together, and fetched together from memory. A code takes seven cache lines. With a
/// strict filter, codes are far apart, and fetching them one after another takes five times as long as comparing them.
pub const SIDE_BY_SIDE: usize = 8;

const TAIL_BYTES: usize = 8;

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;

/// Number of codes in a part. A commit copies a part before adding to it, if the previous commit shares it.
const PART_CODES: usize = 1024;

static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);

/// Returns the bytes of the code of a vector of `dimensions`.
pub fn code_bytes(dimensions: usize) -> usize {
    dimensions.next_multiple_of(LANES) + TAIL_BYTES
}

/// Returns the code of a vector; `None` if its length is 0 or not finite.
pub fn code_of(vector: &[f32]) -> Option<Vec<i8>> {
    let most = vector.iter().fold(0f32, |most, component| most.max(component.abs()));
    if most == 0.0 || !most.is_finite() {
        return None;
    }
    // 64-bit arithmetic: neither the largest nor the smallest float overflows.
    let step = 127.0 / f64::from(most);
    let (mut squares, mut code_squares, mut product) = (0f64, 0f64, 0f64);
    let mut code: Vec<i8> = Vec::with_capacity(code_bytes(vector.len()));
    for component in vector {
        let exact = f64::from(*component) * step;
        let rounded = (exact + 0.5f64.copysign(exact)) as i8;
        squares += exact * exact;
        code_squares += f64::from(rounded) * f64::from(rounded);
        product += exact * f64::from(rounded);
        code.push(rounded);
    }
    let scale = 1.0 / code_squares.sqrt();
    // Distance of two points on the unit sphere, from the cosine between them.
    let error = (2.0 - 2.0 * product * scale / squares.sqrt()).max(0.0).sqrt();
    code.resize(code_bytes(vector.len()) - TAIL_BYTES, 0);
    code.extend((scale as f32).to_le_bytes().map(|byte| byte as i8));
    code.extend((error as f32).to_le_bytes().map(|byte| byte as i8));
    Some(code)
}

/// Returns the distance of two codes of equal length: 1 minus the cosine.
pub fn code_distance(a: &[i8], b: &[i8]) -> f32 {
    // Reads components first and tails last: memory is read fastest in ascending order.
    let product = dispatch!(*LEVEL, simd => products(simd, a, b)) as f32;
    1.0 - product * tail(a).0 * tail(b).0
}

/// Returns the distances of a code to several other codes of its length.
pub fn code_distances(probe: &[i8], codes: [&[i8]; SIDE_BY_SIDE]) -> [f32; SIDE_BY_SIDE] {
    let products = dispatch!(*LEVEL, simd => products_side_by_side(simd, probe, codes));
    let scale = tail(probe).0;
    std::array::from_fn(|at| 1.0 - products[at] as f32 * scale * tail(codes[at]).0)
}

/// Prefetches memory that will be read soon. Scans and walks wait mostly for memory.
///
/// Prefetches into the second-level cache, which takes more prefetches at a time than the first.
#[inline]
pub fn fetch<T>(soon: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of_val(soon)).step_by(LINE_BYTES) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and cannot fail, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(soon.as_ptr().cast::<i8>().wrapping_add(line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = soon;
}

/// Returns bounds of the distances, from 0 to 1, of a vector with the code `probe` to vectors with the other codes.
pub fn code_bounds(probe: &[i8], codes: [&[i8]; SIDE_BY_SIDE]) -> [(f32, f32); SIDE_BY_SIDE] {
    let distances = code_distances(probe, codes);
    std::array::from_fn(|at| bounds_around(distances[at], probe, codes[at]))
}

/// As [`code_bounds`], for one code at a known `distance` from `probe`.
pub fn bounds_around(distance: f32, probe: &[i8], code: &[i8]) -> (f32, f32) {
    // Greatest rounding error of 32-bit sums, here and in the comparison of vectors.
    let lost = 1e-5 + probe.len() as f32 * 1e-8;
    let error = tail(probe).1 + tail(code).1 + lost;
    ((distance - error) / 2.0, (distance + error) / 2.0)
}

/// Returns scale and error. The scale is 0 for a vector of length 0, which counts as near to all.
fn tail(code: &[i8]) -> (f32, f32) {
    let float = |bytes: [i8; 4]| f32::from_le_bytes(bytes.map(|byte| byte as u8));
    match code.last_chunk::<TAIL_BYTES>() {
        Some([a, b, c, d, e, f, g, h]) => (float([*a, *b, *c, *d]), float([*e, *f, *g, *h])),
        None => (0.0, 0.0),
    }
}

/// Returns true if a code belongs to a vector of non-zero length.
pub fn has_direction(code: &[i8]) -> bool {
    tail(code).0 != 0.0
}

// The tail is shorter than a chunk, so chunking leaves it out. Sums of 127² stay below 2³¹ up to 133,000 components;
// longer vectors have no codes.
#[inline(always)]
fn products<S: Simd>(simd: S, a: &[i8], b: &[i8]) -> i32 {
    let mut sums = i32x8::splat(simd, 0);
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        let (a_low, a_high) = i8x32::from_slice(simd, a).widen();
        let (b_low, b_high) = i8x32::from_slice(simd, b).widen();
        sums = sums + a_low.pairwise_dot_product(b_low) + a_high.pairwise_dot_product(b_high);
    }
    let lanes: [i32; 8] = sums.into();
    lanes.into_iter().fold(0, i32::wrapping_add)
}

// As `products`, for a code with several others.
#[inline(always)]
fn products_side_by_side<S: Simd>(
    simd: S,
    probe: &[i8],
    codes: [&[i8]; SIDE_BY_SIDE],
) -> [i32; SIDE_BY_SIDE] {
    let mut sums = [i32x8::splat(simd, 0); SIDE_BY_SIDE];
    let (probe, _) = probe.as_chunks::<LANES>();
    // The slices get the length of `probe`, so that the compiler checks it once instead of at each step. They are
    // written out because this information is lost in a closure.
    let steps = |at: usize| &codes[at].as_chunks::<LANES>().0[..probe.len()];
    let codes = [steps(0), steps(1), steps(2), steps(3), steps(4), steps(5), steps(6), steps(7)];
    for (at, part) in probe.iter().enumerate() {
        let (low, high) = i8x32::from_slice(simd, part).widen();
        for (sum, code) in sums.iter_mut().zip(codes) {
            let (other_low, other_high) = i8x32::from_slice(simd, &code[at]).widen();
            *sum = *sum + low.pairwise_dot_product(other_low) + high.pairwise_dot_product(other_high);
        }
    }
    sums.map(|sum| <[i32; 8]>::from(sum).into_iter().fold(0, i32::wrapping_add))
}

/// Greatest number of components for which sums of codes do not overflow. Longer vectors are compared directly.
pub const CODED_MAX: usize = 130_000;

/// Codes in the order of their vectors. Cheap to clone: parts are shared until they are extended.
#[derive(Clone, Default)]
pub struct Codes {
    parts: Vec<Arc<Vec<i8>>>,
    count: usize,
}

impl Codes {
    /// Adds the code of a vector, which has the same dimensions as all others. Returns its index.
    pub fn push(&mut self, vector: &[f32]) -> u32 {
        self.push_code(&code_of(vector).unwrap_or_else(|| vec![0; code_bytes(vector.len())]))
    }

    /// Adds a code of the same length as all others. Returns its index.
    pub fn push_code(&mut self, code: &[i8]) -> u32 {
        if self.count.is_multiple_of(PART_CODES) {
            self.parts.push(Arc::default());
        }
        if let Some(part) = self.parts.last_mut() {
            Arc::make_mut(part).extend_from_slice(code);
        }
        self.count += 1;
        (self.count - 1) as u32
    }

    /// Returns the code at an index, of a vector of `dimensions`.
    pub fn get(&self, at: u32, dimensions: usize) -> &[i8] {
        let (part, start) = (at as usize / PART_CODES, at as usize % PART_CODES * code_bytes(dimensions));
        &self.parts[part][start..start + code_bytes(dimensions)]
    }
}
