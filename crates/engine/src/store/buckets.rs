//! Buckets of positions, as ranking rules compare them: exact at the start of an attribute, coarser after that.

/// Positions below this have a bucket each.
pub const EXACT_POSITIONS: u32 = 16;

/// All bucketed positions. Positions are below 65536.
pub const BUCKETS: [u32; 29] = {
    let mut buckets = [0; 29];
    let mut at = 0;
    while at < buckets.len() {
        buckets[at] = match at {
            0..16 => at as u32,
            16 => 24,
            _ => 1 << (at - 12),
        };
        at += 1;
    }
    buckets
};

/// Table of [`bucket_of`] for small positions, which most words have.
const NEAR: [u8; 256] = {
    let mut buckets = [0; 256];
    let mut position = 0;
    while position < buckets.len() {
        buckets[position] = far_bucket_of(position as u32) as u8;
        position += 1;
    }
    buckets
};

/// Returns the index in [`BUCKETS`] of the bucket of a position.
#[inline]
pub fn bucket_of(position: u32) -> usize {
    match NEAR.get(position as usize) {
        Some(&bucket) => usize::from(bucket),
        None => far_bucket_of(position),
    }
}

const fn far_bucket_of(position: u32) -> usize {
    match position {
        0..16 => position as usize,
        16..24 => 16,
        24..0x1_0000 => 12 + position.next_power_of_two().ilog2() as usize,
        _ => BUCKETS.len() - 1,
    }
}

/// Returns the bucketed position of a position. Source: search §3.3.
pub fn bucketed(position: u32) -> u32 {
    BUCKETS[bucket_of(position)]
}

#[cfg(test)]
mod tests {
    use super::bucketed;

    #[test]
    fn buckets_widen_with_the_position() {
        for (position, bucket) in [
            (0, 0),
            (15, 15),
            (16, 24),
            (23, 24),
            (24, 32),
            (32, 32),
            (33, 64),
            (64, 64),
            (65, 128),
            (65_535, 65_536),
        ] {
            assert_eq!(bucketed(position), bucket, "{position}");
        }
    }
}
