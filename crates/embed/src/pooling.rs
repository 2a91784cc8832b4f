//! Combines the vectors of a text's tokens into the vector of the text.

/// How the vectors of tokens are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The vector of the first token.
    Cls,
    /// Their mean.
    Mean,
    /// The vector of the last token.
    Last,
    /// Their sum divided by the square root of their number.
    MeanSqrtLength,
    /// The maximum of each component.
    Max,
}

impl Pooling {
    /// `tokens`: the vectors of at least one token, in sequence.
    pub(crate) fn pooled(self, tokens: &[f32], dimensions: usize) -> Vec<f32> {
        let count = (tokens.len() / dimensions) as f32;
        let folded = |fold: fn(f32, f32) -> f32| {
            let mut all = tokens.chunks_exact(dimensions);
            let mut vector = all.next().map(<[f32]>::to_vec).unwrap_or_default();
            for token in all {
                for (component, other) in vector.iter_mut().zip(token) {
                    *component = fold(*component, *other);
                }
            }
            vector
        };
        let scaled = |by: f32| {
            let sum = folded(|a, b| a + b);
            sum.into_iter().map(|component| component / by).collect()
        };
        match self {
            Self::Cls => tokens[..dimensions].to_vec(),
            Self::Mean => scaled(count),
            Self::Last => tokens[tokens.len() - dimensions..].to_vec(),
            Self::MeanSqrtLength => scaled(count.sqrt()),
            Self::Max => folded(f32::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pooling;

    #[test]
    fn each_kind_of_pooling_returns_its_vector() {
        let tokens = [1.0, 8.0, 3.0, 2.0, 5.0, 2.0, 7.0, 4.0];
        for (pooling, expected) in [
            (Pooling::Cls, [1.0, 8.0]),
            (Pooling::Mean, [4.0, 4.0]),
            (Pooling::Last, [7.0, 4.0]),
            (Pooling::MeanSqrtLength, [8.0, 8.0]),
            (Pooling::Max, [7.0, 8.0]),
        ] {
            assert_eq!(pooling.pooled(&tokens, 2), expected, "{pooling:?}");
        }
    }
}
