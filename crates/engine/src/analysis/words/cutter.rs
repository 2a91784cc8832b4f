//! Cuts texts into the words of a dictionary.
//!
//! Candidates are the words of the dictionary and unknown words, by the category of their characters. The cheapest
//! sequence wins: each word has a cost, and so has each pair of neighbours (Viterbi). Candidates and ties are those of
//! MeCab with the same dictionary.

use super::dictionary::{Dictionary, u16_at};

/// UTF-16 units that are cut together. A longer text is cut in windows, so that memory is bounded.
const WINDOW: usize = 1024;
/// Words that end closer to the end of a window than this are cut again with the next one.
const MARGIN: usize = 64;
/// Longest group of characters that can be an unknown word, without its first. Source: MeCab.
const GROUP_MAX: usize = 24;

const CATEGORIES: u32 = 0x3ffff;
const NONE: u32 = u32::MAX;

/// A candidate. `next` links those with the same end.
#[derive(Clone, Copy)]
struct Node {
    start: u16,
    right: u16,
    cost: i32,
    before: u32,
    cuts: u16,
    next: u32,
}

/// Cuts texts, one after another, with the same memory.
pub struct Cutter<'d> {
    dictionary: &'d Dictionary,
    /// The window as UTF-16, and the byte in the window at which each unit begins; the last one is its end.
    units: Vec<u16>,
    bytes: Vec<u32>,
    nodes: Vec<Node>,
    /// Position in the window → last node that ends there.
    ending: Vec<u32>,
    /// Ends and token lists of the candidates that begin at a position.
    found: Vec<(usize, usize)>,
    /// Lengths and inner boundaries of the cheapest sequence, last word first.
    words: Vec<(usize, u16)>,
}

impl<'d> Cutter<'d> {
    /// Creates a cutter without memory.
    pub fn new(dictionary: &'d Dictionary) -> Self {
        Self {
            dictionary,
            units: Vec::new(),
            bytes: Vec::new(),
            nodes: Vec::new(),
            ending: Vec::new(),
            found: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Passes the end of each word of `text` to `take`, in bytes.
    pub fn each(&mut self, text: &str, mut take: impl FnMut(usize)) {
        let mut from = 0;
        while from < text.len() {
            self.read_window(&text[from..]);
            let window = self.bytes.last().map_or(0, |end| *end as usize);
            let is_last = from + window == text.len();
            let trusted = if is_last { self.units.len() } else { self.units.len() - MARGIN };
            self.find_cheapest();
            let (mut start, mut last) = (0, from);
            for &(length, cuts) in self.words.iter().rev() {
                if start > 0 && start + length > trusted {
                    break;
                }
                let inner = (1..length.min(17)).filter(|at| cuts >> (at - 1) & 1 == 1);
                for end in inner.chain([length]) {
                    let end = from + self.bytes[start + end] as usize;
                    if end > last {
                        take(end);
                        last = end;
                    }
                }
                start += length;
            }
            from = last;
        }
    }

    fn read_window(&mut self, text: &str) {
        self.units.clear();
        self.bytes.clear();
        let mut at = 0;
        for char in text.chars() {
            let mut units = [0; 2];
            let units = char.encode_utf16(&mut units);
            if self.units.len() + units.len() > WINDOW {
                break;
            }
            self.units.extend_from_slice(units);
            self.bytes.extend(units.iter().map(|_| at as u32));
            at += char.len_utf8();
        }
        self.bytes.push(at as u32);
    }

    /// Fills `words` for the window.
    fn find_cheapest(&mut self) {
        let length = self.units.len();
        self.nodes.clear();
        self.ending.clear();
        self.ending.resize(length + 1, NONE);
        let start =
            Node { start: 0, right: self.dictionary.start, cost: 0, before: NONE, cuts: 0, next: NONE };
        self.nodes.push(start);
        self.ending[0] = 0;
        for at in 0..length {
            if self.ending[at] != NONE {
                self.extend(at);
            }
        }
        self.words.clear();
        let (mut node, _) = self.best(length, self.dictionary.end);
        if node == NONE {
            // Only a list without tokens, which no build writes, leaves a window without words.
            self.words.push((length, 0));
            return;
        }
        let mut to = length;
        while to > 0 {
            let Node { start, before, cuts, .. } = self.nodes[node as usize];
            self.words.push((to - usize::from(start), cuts));
            (node, to) = (before, usize::from(start));
        }
    }

    /// Adds all candidates that begin at `at`.
    fn extend(&mut self, at: usize) {
        let dictionary = self.dictionary;
        self.found.clear();
        let mut node = dictionary.root(self.units[at]);
        let mut end = at + 1;
        while node != 0 {
            if let Some(list) = dictionary.word(node) {
                self.found.push((end, list));
            }
            node = self.units.get(end).map_or(0, |unit| dictionary.child(node, *unit));
            end += 1;
        }
        let kind = self.kind(at);
        // Bit 31: unknown words compete with words of the dictionary.
        if self.found.is_empty() || kind >> 31 == 1 {
            self.add_unknown(at, kind);
        }
        // MeCab connects the last candidate first.
        for index in (0..self.found.len()).rev() {
            let (end, list) = self.found[index];
            for token in dictionary.tokens(list).rev() {
                let (before, cost) = self.best(at, token.left);
                let node = self.nodes.len() as u32;
                let cost = cost + i32::from(token.cost);
                let next = std::mem::replace(&mut self.ending[end], node);
                let (start, right, cuts) = (at as u16, token.right, token.cuts);
                self.nodes.push(Node { start, right, cost, before, cuts, next });
            }
        }
    }

    /// Adds the unknown words that begin at `at`.
    fn add_unknown(&mut self, at: usize, kind: u32) {
        let list = self.dictionary.unknown(kind);
        let known = self.found.len();
        let length = self.units.len();
        let first = at + self.length_at(at);
        let mut group_end = None;
        if kind >> 30 & 1 == 1 {
            let (mut end, mut characters, mut categories) = (first, 0, kind);
            while end < length {
                let next = self.kind(end);
                if next & categories & CATEGORIES == 0 {
                    break;
                }
                categories = next;
                end += self.length_at(end);
                characters += 1;
            }
            if characters <= GROUP_MAX {
                self.found.push((end, list));
            }
            group_end = Some(end);
        }
        let mut end = first;
        for _ in 0..kind >> 26 & 15 {
            if Some(end) == group_end {
                break;
            }
            self.found.push((end, list));
            if end == length || self.kind(end) & kind & CATEGORIES == 0 {
                break;
            }
            end += self.length_at(end);
        }
        if self.found.len() == known {
            self.found.push((first, list));
        }
    }

    /// Returns the cheapest node that ends at `at` if a word of class `left` follows, and the cost up to that word.
    fn best(&self, at: usize, left: u16) -> (u32, i32) {
        let costs = self.dictionary.costs(left);
        let (mut best, mut least) = (NONE, i32::MAX);
        let mut node = self.ending[at];
        while node != NONE {
            let Node { cost, right, next, .. } = self.nodes[node as usize];
            let sum = cost + i32::from(u16_at(costs, 2 * usize::from(right)).cast_signed());
            if sum < least {
                (best, least) = (node, sum);
            }
            node = next;
        }
        (best, least)
    }

    /// UTF-16 units of the character at `at`.
    fn length_at(&self, at: usize) -> usize {
        let is_pair = self.units[at] & 0xfc00 == 0xd800
            && self.units.get(at + 1).is_some_and(|next| next & 0xfc00 == 0xdc00);
        if is_pair { 2 } else { 1 }
    }

    /// Kind of the character at `at`. Beyond the basic plane, all characters are like U+0000.
    fn kind(&self, at: usize) -> u32 {
        self.dictionary.kind(if self.length_at(at) == 2 { 0 } else { self.units[at] })
    }
}
