//! Positions as ranking rules see them: exact at the start of an attribute, coarser further on.

/// The bucket a word position falls in. Source: search-semantics §3.3.
pub fn bucketed(position: u32) -> u32 {
    match position {
        0..16 => position,
        16..24 => 24,
        _ => position.next_power_of_two(),
    }
}

#[cfg(test)]
mod tests {
    use super::bucketed;

    #[test]
    fn positions_grow_coarser_further_on() {
        for (position, bucket) in
            [(0, 0), (15, 15), (16, 24), (23, 24), (24, 32), (32, 32), (33, 64), (64, 64), (65, 128), (65_535, 65_536)]
        {
            assert_eq!(bucketed(position), bucket, "{position}");
        }
    }
}
