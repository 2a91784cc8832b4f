//! Here is a vector: what of it suffices to find its neighbours?
//!
//! A byte for each component and one number that makes their length 1, a quarter of the vector itself. Graphs
//! compare these; what they propose is compared anew by the vectors of the log, so that nothing of the rounding
//! is ever seen.
//!
//! ```text
//! code = component:i8* 0* scale:f32        components padded to a multiple of 32
//! ```

use std::sync::LazyLock;

use fearless_simd::{Level, Simd, SimdBase as _, SimdIntWiden as _, SimdWiden as _, dispatch, i8x32, i32x8};

/// Components that are compared at a time.
const LANES: usize = 32;
const SCALE_BYTES: usize = 4;

static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);

/// Bytes of the code of a vector of so many `dimensions`.
pub fn code_bytes(dimensions: usize) -> usize {
    dimensions.next_multiple_of(LANES) + SCALE_BYTES
}

/// The code of a vector; None if it has no direction, or one that floats do not tell.
pub fn code_of(vector: &[f32]) -> Option<Vec<i8>> {
    let most = vector.iter().fold(0f32, |most, component| most.max(component.abs()));
    if most == 0.0 || !most.is_finite() {
        return None;
    }
    // In 64 bits: neither the largest nor the smallest float overflows there.
    let step = 127.0 / f64::from(most);
    let mut code: Vec<i8> =
        vector.iter().map(|component| (f64::from(*component) * step).round() as i8).collect();
    let squares: i64 = code.iter().map(|component| i64::from(*component).pow(2)).sum();
    let scale = 1.0 / (squares as f64).sqrt();
    code.resize(code_bytes(vector.len()) - SCALE_BYTES, 0);
    code.extend((scale as f32).to_le_bytes().map(|byte| byte as i8));
    Some(code)
}

/// How far apart two codes of one length are: 1 less the cosine.
pub fn code_distance(a: &[i8], b: &[i8]) -> f32 {
    let ((a, scale), (b, other)) = (open(a), open(b));
    1.0 - dispatch!(*LEVEL, simd => products(simd, a, b)) as f32 * scale * other
}

fn open(code: &[i8]) -> (&[i8], f32) {
    match code.split_last_chunk::<SCALE_BYTES>() {
        Some((components, scale)) => (components, f32::from_le_bytes(scale.map(|byte| byte as u8))),
        None => (&[], 0.0),
    }
}

// Sums of 127² stay below 2³¹ up to 133,000 components, beyond which they wrap: a bad proposal, no more.
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
