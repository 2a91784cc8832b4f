//! Finds the texts whose first search takes longest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::reader::Postings;
use crate::error::Result;
use crate::store::schema::parse_term;

/// Letters of the prefixes that are counted. Longer prefixes of frequent words cost little more than the words.
const PREFIX_LETTERS: [usize; 2] = [1, 2];

impl Postings {
    /// Returns words, and prefixes of one or two letters, with the most postings, most first: at most `texts_max`, each
    /// with about `postings_min` or more. Only the largest segment is read; the others are assumed to be like it.
    pub fn frequent(&self, texts_max: usize, postings_min: u64) -> Result<Vec<Box<str>>> {
        let segments = self.snapshot.segments().iter().zip(&self.indexes);
        let documents: u64 = segments.clone().map(|(segment, _)| u64::from(segment.reader.max_doc())).sum();
        let Some((largest, index)) = segments.max_by_key(|(segment, _)| segment.reader.max_doc()) else {
            return Ok(Vec::new());
        };
        let least = postings_min * u64::from(largest.reader.max_doc()) / documents.max(1);
        let mut most = Most { texts_max, least, heap: BinaryHeap::new() };
        let mut prefixes = PREFIX_LETTERS.map(|_| Sum::default());
        let mut word = Sum::default();
        let mut terms = index.terms().stream()?;
        while terms.advance() && !self.budget.stops() {
            let Some((text, field)) = parse_term(terms.key()) else { continue };
            if self.searchable.weight(field).is_none() {
                continue;
            }
            let postings = u64::from(terms.value().doc_freq);
            for (letters, sum) in PREFIX_LETTERS.iter().zip(&mut prefixes) {
                if let Some((end, last)) = text.char_indices().nth(letters - 1) {
                    sum.add(&text[..end + last.len_utf8()], postings, &mut most);
                }
            }
            if text.chars().nth(PREFIX_LETTERS[PREFIX_LETTERS.len() - 1]).is_some() {
                word.add(text, postings, &mut most);
            }
        }
        prefixes.iter_mut().chain([&mut word]).for_each(|sum| sum.end(&mut most));
        Ok(most.heap.into_sorted_vec().into_iter().map(|(_, text)| text).collect())
    }
}

/// The texts with the most postings.
struct Most {
    texts_max: usize,
    least: u64,
    heap: BinaryHeap<(Reverse<u64>, Box<str>)>,
}

/// Postings of a text. Equal texts are added one after the other.
#[derive(Default)]
struct Sum {
    text: String,
    postings: u64,
}

impl Sum {
    fn add(&mut self, text: &str, postings: u64, most: &mut Most) {
        if text != self.text {
            self.end(most);
            self.text.clear();
            self.text.push_str(text);
        }
        self.postings += postings;
    }

    fn end(&mut self, most: &mut Most) {
        let postings = std::mem::take(&mut self.postings);
        if postings < most.least.max(1) {
            return;
        }
        most.heap.push((Reverse(postings), self.text.as_str().into()));
        if most.heap.len() > most.texts_max {
            most.heap.pop();
        }
    }
}
