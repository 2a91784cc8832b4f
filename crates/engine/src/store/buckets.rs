//! Positions as ranking rules compare them: exact at the start of an attribute, coarser further on.

/// Positions below this one have a bucket of their own.
pub const EXACT_POSITIONS: u32 = 16;

/// The bucketed positions; positions are below 65536.
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

/// [`bucket_of`] for the positions that most words have.
const NEAR: [u8; 256] = {
    let mut buckets = [0; 256];
    let mut position = 0;
    while position < buckets.len() {
        buckets[position] = far_bucket_of(position as u32) as u8;
        position += 1;
    }
    buckets
};

/// The index in [`BUCKETS`] of the bucket of a position.
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

/// The bucket a word position falls in. Source: search §3.3.
pub fn bucketed(position: u32) -> u32 {
    BUCKETS[bucket_of(position)]
}

#[cfg(test)]
mod tests {
    use super::bucketed;

    #[test]
    fn positions_grow_coarser_further_on() {
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
