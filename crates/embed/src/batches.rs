//! Computes texts in concurrent batches.

use rayon::prelude::*;

use crate::error::Result;
use crate::limits::BATCH_TOKENS;
use crate::tokens::Tokenized;

/// Returns what `compute` makes of each text, with the text's position in `tokens`, on the threads of the current pool.
/// Texts without tokens are left out.
pub fn in_batches<T: Send>(
    tokens: &[Tokenized],
    compute: impl Fn(&[&Tokenized]) -> Result<Vec<T>> + Sync,
) -> Result<Vec<(usize, T)>> {
    let lengths: Vec<usize> = tokens.iter().map(|text| text.ids.len()).collect();
    let total: usize = lengths.iter().sum();
    let share = total.div_ceil(rayon::current_num_threads());
    let made = batches(&lengths, share.min(BATCH_TOKENS))
        .into_par_iter()
        .map(|batch| {
            let texts: Vec<&Tokenized> = batch.iter().map(|text| &tokens[*text]).collect();
            compute(&texts).map(|made| batch.into_iter().zip(made).collect::<Vec<_>>())
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(made.into_iter().flatten().collect())
}

/// Groups texts to compute together, given by position in `lengths`, their numbers of tokens. Texts of a batch have
/// similar lengths, to keep padding small, and at most `max` tokens in total, unless a single text has more. Texts
/// without tokens are left out.
fn batches(lengths: &[usize], max: usize) -> Vec<Vec<usize>> {
    let mut places: Vec<usize> = (0..lengths.len()).filter(|at| lengths[*at] > 0).collect();
    places.sort_by_key(|at| std::cmp::Reverse(lengths[*at]));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for at in places {
        match batches.last_mut() {
            // The first text is the longest.
            Some(batch) if (batch.len() + 1) * lengths[batch[0]] <= max => batch.push(at),
            _ => batches.push(vec![at]),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::batches;

    #[test]
    fn batches_hold_texts_of_similar_lengths_and_no_texts_without_tokens() {
        let lengths = [300, 2000, 0, 310, 290, 8];
        assert_eq!(batches(&lengths, 1024), [vec![1], vec![3, 0, 4], vec![5]]);
    }
}
