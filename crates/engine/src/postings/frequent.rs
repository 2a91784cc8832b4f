//! Finds the texts whose first search takes longest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::reader::Postings;
use crate::error::Result;
use crate::store::schema::parse_term;

/// Letters of the prefixes that are counted. Longer prefixes of frequent words cost little more than the words.
const PREFIX_LETTERS: [usize; 2] = [1, 2];

impl Postings {
    /// Returns words, and prefixes of one or two letters, with the most postings: in turn the next word, letter and pair of
    /// letters, at most `texts_max` of each, each with about `postings_min` postings or more. Only the largest segment is
    /// read; the others are assumed to be like it.
    pub fn frequent(&self, texts_max: usize, postings_min: u64) -> Result<Vec<Box<str>>> {
        let segments = self.snapshot.segments().iter().zip(&self.indexes);
        let documents: u64 = segments.clone().map(|(segment, _)| u64::from(segment.reader.max_doc())).sum();
        let Some((largest, index)) = segments.max_by_key(|(segment, _)| segment.reader.max_doc()) else {
            return Ok(Vec::new());
        };
        let least = postings_min * u64::from(largest.reader.max_doc()) / documents.max(1);
        let most = || Most { texts_max, least: least.max(1), ..Most::default() };
        let (mut words, mut prefixes) = (most(), PREFIX_LETTERS.map(|_| most()));
        let mut terms = index.terms().stream()?;
        while terms.advance() && !self.budget.stops() {
            let Some((text, field)) = parse_term(terms.key()) else { continue };
            if self.searchable.weight(field).is_none() {
                continue;
            }
            let postings = u64::from(terms.value().doc_freq);
            for (letters, prefixes) in PREFIX_LETTERS.iter().zip(&mut prefixes) {
                if let Some((end, last)) = text.char_indices().nth(letters - 1) {
                    prefixes.add(&text[..end + last.len_utf8()], postings);
                }
            }
            if text.chars().nth(PREFIX_LETTERS[PREFIX_LETTERS.len() - 1]).is_some() {
                words.add(text, postings);
            }
        }
        let [letters, pairs] = prefixes.map(Most::finish);
        Ok(in_turn([words.finish(), letters, pairs]))
    }
}

/// Returns the first of each list, then the second of each, and so on.
fn in_turn(lists: [Vec<Box<str>>; 3]) -> Vec<Box<str>> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let at = |rank: usize| lists.iter().filter_map(move |list| list.get(rank).cloned());
    (0..longest).flat_map(at).collect()
}

/// The texts with the most postings. Equal texts are added one after the other.
#[derive(Default)]
struct Most {
    texts_max: usize,
    least: u64,
    heap: BinaryHeap<(Reverse<u64>, Box<str>)>,
    last: String,
    postings: u64,
}

impl Most {
    fn add(&mut self, text: &str, postings: u64) {
        if text != self.last {
            self.take();
            self.last.clear();
            self.last.push_str(text);
        }
        self.postings += postings;
    }

    fn take(&mut self) {
        let postings = std::mem::take(&mut self.postings);
        if postings < self.least {
            return;
        }
        self.heap.push((Reverse(postings), self.last.as_str().into()));
        if self.heap.len() > self.texts_max {
            self.heap.pop();
        }
    }

    fn finish(mut self) -> Vec<Box<str>> {
        self.take();
        self.heap.into_sorted_vec().into_iter().map(|(_, text)| text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_with_the_most_postings_come_first_and_lists_take_turns() {
        let mut most = Most { texts_max: 2, least: 3, ..Most::default() };
        for (text, postings) in [("a", 2), ("b", 2), ("b", 2), ("c", 9), ("d", 1), ("e", 5)] {
            most.add(text, postings);
        }
        let texts = most.finish();
        assert_eq!(texts.iter().map(|text| &**text).collect::<Vec<_>>(), ["c", "e"]);
        let others = ["x", "y", "z"].map(Box::from).to_vec();
        let all = in_turn([texts, Vec::new(), others]);
        assert_eq!(all.iter().map(|text| &**text).collect::<Vec<_>>(), ["c", "x", "e", "y", "z"]);
    }
}
