//! Selects the part of a text that shows its matches best.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use super::matches::Match;
use crate::analysis::{Piece, TokenKind};

/// Largest distance in words between matches; greater distances count as this. Source: search §16.4.
const GAP_MAX: usize = 7;

/// The score of a run of matches: number of query positions, proximity, order.
type Score = (usize, isize, isize);

/// Returns the bytes to show: `length` words around the best matches, or the beginning of a text without matches.
pub(super) fn window(pieces: &[Piece], matches: &[Match], length: usize) -> Range<usize> {
    let end = pieces.last().map_or(0, |token| token.end as usize);
    // Words and separators in `left..right` are shown.
    let (mut left, mut right, mut remaining);
    match best_run(matches, length) {
        None => (left, right, remaining) = (0, 0, length),
        Some((first, last)) => {
            let (first_word, last_word) = (*first.words.start(), *last.words.end());
            left = index_of(pieces, first_word);
            right = index_of(pieces, last_word) + 1;
            let span = last_word - first_word + 1;
            if span > length {
                let start = left.checked_sub(1).map_or(0, |before| pieces[before].end as usize);
                let last = index_of(pieces, first_word + length - 1);
                return start..pieces[last].end as usize;
            }
            remaining = length - span;
        }
    }
    while remaining > 0 {
        let before = left.checked_sub(1).map(|at| pieces[at].kind);
        let after = pieces.get(right).map(|token| token.kind);
        match (before, after) {
            (None, None) => break,
            (Some(kind), None) => {
                left -= 1;
                remaining -= usize::from(kind.is_word());
            }
            (None, Some(kind)) => {
                right += 1;
                remaining -= usize::from(kind.is_word());
            }
            (Some(before), Some(after)) => match (before.is_word(), after.is_word()) {
                (true, true) => {
                    left -= 1;
                    remaining -= 1;
                    if remaining > 0 {
                        right += 1;
                        remaining -= 1;
                    }
                }
                (true, false) => {
                    left -= 1;
                    remaining -= 1;
                }
                (false, true) => {
                    right += 1;
                    remaining -= 1;
                }
                (false, false) if before == after => {
                    left -= 1;
                    // A window never ends with a separator.
                    if remaining > 1 {
                        right += 1;
                    }
                }
                (false, false) if before == TokenKind::Hard => right += 1,
                (false, false) => left -= 1,
            },
        }
    }
    let from = left.checked_sub(1).map_or(0, |before| pieces[before].end as usize);
    let to = pieces.get(right).map_or(end, |after| after.start as usize);
    from..to
}

/// Returns the index of a word, given by its number, among all words and separators.
fn index_of(pieces: &[Piece], word: usize) -> usize {
    let mut words = (0..pieces.len()).filter(|&at| pieces[at].kind.is_word());
    words.nth(word).unwrap_or_default()
}

/// Returns the first and last match of the best run within `length` words; the first match if no run fits.
fn best_run(matches: &[Match], length: usize) -> Option<(&Match, &Match)> {
    let mut best: Option<(Score, usize, usize)> = None;
    let mut scores = RunScores::new(matches);
    let mut consider = |first: usize, last: usize| {
        let score = scores.of(first, last);
        if best.is_none_or(|(so_far, ..)| score > so_far) {
            best = Some((score, first, last));
        }
    };
    let fits = |first: usize, last: usize| {
        let (start, end) = (*matches[first].words.start(), *matches[last].words.end());
        start > end || end - start < length
    };
    let final_match = matches.len().checked_sub(1)?;
    let mut first = 0;
    for next in 0..matches.len() {
        if fits(first, next) {
            continue;
        }
        // Two consecutive phrases can both be longer than the crop; there is no run between them.
        if next > first {
            consider(first, next - 1);
        }
        first += 1;
        while first < matches.len() && !fits(first, next) {
            first += 1;
        }
        first = first.min(final_match);
    }
    let alone = first == final_match;
    if !alone || matches[first].words.clone().count() < length {
        consider(first, final_match);
    }
    let (first, last) = best.map_or((0, 0), |(_, first, last)| (first, last));
    Some((&matches[first], &matches[last]))
}

/// Scores runs of matches. Each run must begin and end no earlier than the previous one.
struct RunScores<'m> {
    matches: &'m [Match],
    /// Match → words after the first one, summed over all earlier matches.
    spans: Vec<isize>,
    /// Match → words to the next match, at most [`GAP_MAX`], summed over all earlier matches.
    gaps: Vec<isize>,
    /// Match → number of earlier matches followed by a match later in the query.
    ascents: Vec<isize>,
    /// Query position → number of matches in the run.
    counts: HashMap<u32, usize>,
    run: Range<usize>,
}

impl<'m> RunScores<'m> {
    fn new(matches: &'m [Match]) -> Self {
        let sums = |of: &dyn Fn(&Match, &Match) -> isize| -> Vec<isize> {
            let mut sum = 0;
            let next = matches.iter().skip(1).chain(matches.last());
            let mut sums = vec![0];
            sums.extend(matches.iter().zip(next).map(|(one, next)| {
                sum += of(one, next);
                sum
            }));
            sums
        };
        let gap = |one: &Match, next: &Match| {
            let words = next.words.start().cast_signed() - one.words.end().cast_signed();
            words.min(GAP_MAX.cast_signed())
        };
        Self {
            matches,
            spans: sums(&|one, _| (one.words.end() - one.words.start()).cast_signed()),
            gaps: sums(&gap),
            ascents: sums(&|one, next| isize::from(next.positions.start() > one.positions.start())),
            counts: HashMap::new(),
            run: 0..0,
        }
    }

    fn of(&mut self, first: usize, last: usize) -> Score {
        for found in &self.matches[self.run.end..(last + 1).max(self.run.end)] {
            for position in found.positions.clone() {
                *self.counts.entry(position).or_default() += 1;
            }
        }
        for found in &self.matches[self.run.start..first.max(self.run.start)] {
            for position in found.positions.clone() {
                if let Entry::Occupied(mut count) = self.counts.entry(position) {
                    *count.get_mut() -= 1;
                    if *count.get() == 0 {
                        count.remove();
                    }
                }
            }
        }
        self.run = first..last + 1;
        let span = self.spans[last + 1] - self.spans[first];
        let gap = self.gaps[last] - self.gaps[first];
        (self.counts.len(), -span - gap, span + self.ascents[last] - self.ascents[first])
    }
}
