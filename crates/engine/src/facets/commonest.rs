//! Finds the most frequent values in the same way as the reference.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The reference groups four neighbouring values, then four neighbouring groups and so on, while a level has at least
/// [`GROUPS_MIN`] groups. Source: search §13, order by count.
const GROUP_BITS: u32 = 2;
const GROUPS_MIN: usize = 5;

/// Number of documents per group of four values, of sixteen, and so on. A document counts once per group.
pub(super) struct GroupCounts {
    /// By level and group: the number of documents, and the docid of the last one plus one. The first level holds groups
    /// of four values.
    levels: Vec<Vec<[u32; 2]>>,
}

impl GroupCounts {
    /// `None` if there are too few values for a level.
    pub fn new(mut len: usize) -> Option<Self> {
        let mut levels = Vec::new();
        while len >> GROUP_BITS >= GROUPS_MIN {
            len = len.div_ceil(1 << GROUP_BITS);
            levels.push(vec![[0; 2]; len]);
        }
        Some(Self { levels }).filter(|levels| !levels.levels.is_empty())
    }

    /// Counts a document with a value. All values of a document must be passed before the next document.
    pub fn see(&mut self, mut value: u32, docid: u32) {
        for level in &mut self.levels {
            value >>= GROUP_BITS;
            let [count, last] = &mut level[value as usize];
            if *last == docid + 1 {
                return;
            }
            *count += 1;
            *last = docid + 1;
        }
    }

    /// Counts documents that have only this value.
    pub fn add(&mut self, mut value: u32, documents: u32) {
        for level in &mut self.levels {
            value >>= GROUP_BITS;
            level[value as usize][0] += documents;
        }
    }

    /// Returns the most frequent values. Each step opens the largest group or takes the most frequent value, whichever
    /// has more documents. On a tie, a value comes before a group, and later values or groups before earlier ones.
    pub fn commonest(&self, counts: &[u32], max: usize) -> Vec<u32> {
        let mut heap = BinaryHeap::new();
        let count = |level: usize, group: u32| match level.checked_sub(1) {
            Some(above) => self.levels[above][group as usize][0],
            None => counts[group as usize],
        };
        let len = |level: usize| match level.checked_sub(1) {
            Some(above) => self.levels[above].len(),
            None => counts.len(),
        };
        let top = self.levels.len();
        for group in 0..len(top) as u32 {
            if count(top, group) > 0 {
                heap.push((count(top, group), Reverse(top), group));
            }
        }
        let mut values = Vec::new();
        while values.len() < max
            && let Some((_, Reverse(level), group)) = heap.pop()
        {
            if level == 0 {
                values.push(group);
                continue;
            }
            let first = group << GROUP_BITS;
            let end = (first + (1 << GROUP_BITS)).min(len(level - 1) as u32);
            for below in first..end {
                if count(level - 1, below) > 0 {
                    heap.push((count(level - 1, below), Reverse(level - 1), below));
                }
            }
        }
        values
    }
}

/// Returns values by descending count; on a tie, the last value comes first.
pub(super) fn commonest(counts: &[u32], max: usize) -> Vec<u32> {
    let mut seen: Vec<u32> = (0..counts.len() as u32).filter(|&value| counts[value as usize] > 0).collect();
    let key = |value: &u32| Reverse((counts[*value as usize], *value));
    if max > 0 && seen.len() > max {
        seen.select_nth_unstable_by_key(max - 1, key);
    }
    seen.truncate(max);
    seen.sort_unstable_by_key(key);
    seen
}
