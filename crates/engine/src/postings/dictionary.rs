//! Walks the term dictionaries of all segments as if they were one.

use std::ops::{ControlFlow, Range};

use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;
use tantivy::termdict::TermStreamer;
use tantivy::{DocSet, InvertedIndexReader, TERMINATED};
use tantivy_fst::Automaton;

use super::automata::Near;
use super::reader::Postings;
use super::word::{TermList, Word};
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::DELETED;
use crate::store::schema::parse_term;

impl Postings {
    /// Looks up the word `text`; `None` if no live document has it in a searchable attribute.
    pub fn word(&self, text: &str) -> Result<Option<Word>> {
        let mut found = None;
        let (low, high) = ([text.as_bytes(), &[0]].concat(), [text.as_bytes(), &[1]].concat());
        self.walk(&low, &high, |word| {
            found = Some(word);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Visits the words that begin with `prefix`, including `prefix`, in byte order.
    pub fn starting_with(
        &self,
        prefix: &str,
        visit: impl FnMut(Word) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        // UTF-8 has no byte 0xff, so this is above all words with the prefix.
        let high = [prefix.as_bytes(), &[0xff]].concat();
        self.walk(prefix.as_bytes(), &high, visit)
    }

    /// Visits the words with the same first letter that are at most `typos` (1 or 2) edits away from `text`, in byte
    /// order, with their distance. With `unfinished`, the distance is that of the closest prefix of the word.
    ///
    /// If `typos` is 2, also visits words with another first letter that are one edit away, with distance 2. Source:
    /// search §5.2.
    pub fn near(
        &self,
        text: &str,
        typos: u8,
        unfinished: bool,
        mut visit: impl FnMut(Word, u8) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let Some(first) = text.chars().next() else { return Ok(()) };
        let low = first.to_string().into_bytes();
        let high = [low.as_slice(), &[0xff]].concat();
        let mut walk = |near: &Near<'_>, low: &[u8], high: &[u8], same_letter: bool| -> Result<bool> {
            let mut continues = true;
            self.matching(near, low..high, |word| {
                let step = match near.distance(&word.text) {
                    Some(distance) if same_letter => visit(word, distance)?,
                    Some(_) => visit(word, 2)?,
                    None => ControlFlow::Continue(()),
                };
                continues = step.is_continue();
                Ok(step)
            })?;
            Ok(continues)
        };
        let same_letter = Near::new(text, typos, unfinished, &self.budget);
        if typos < 2 {
            return walk(&same_letter, &low, &high, true).map(drop);
        }
        // Callers with a limit take the first words in byte order. So the walk visits lower first letters, the same
        // one, then higher ones. With another first letter only one edit is allowed, because two edits would visit most
        // of the dictionary.
        let other_letter = Near::new(text, 1, unfinished, &self.budget);
        let _ = walk(&other_letter, &[], &low, false)?
            && walk(&same_letter, &low, &high, true)?
            && walk(&other_letter, &high, &[0xff], false)?;
        Ok(())
    }

    /// Visits the words in `range` whose terms an automaton accepts.
    pub(super) fn matching<'a, A>(
        &'a self,
        automaton: &'a A,
        range: Range<&[u8]>,
        visit: impl FnMut(Word) -> Result<ControlFlow<()>>,
    ) -> Result<()>
    where
        A: Automaton,
        A::State: Clone,
    {
        let search = |index: &'a InvertedIndexReader| {
            Ok(index.terms().search(automaton).ge(range.start).lt(range.end).into_stream()?)
        };
        self.merge(self.indexes.iter().map(|index| search(index)).collect::<Result<_>>()?, visit)
    }

    /// Visits the words with terms in `low..high`.
    fn walk(
        &self,
        low: &[u8],
        high: &[u8],
        visit: impl FnMut(Word) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let streams = self
            .indexes
            .iter()
            .map(|index| Ok(index.terms().range().ge(low).lt(high).into_stream()?))
            .collect::<Result<_>>()?;
        self.merge(streams, visit)
    }

    /// Merges sorted streams, one per segment, into words of live documents.
    fn merge<A: Automaton>(
        &self,
        streams: Vec<TermStreamer<'_, A>>,
        mut visit: impl FnMut(Word) -> Result<ControlFlow<()>>,
    ) -> Result<()>
    where
        A::State: Clone,
    {
        let mut heads: Vec<Head<'_, A>> = Vec::with_capacity(streams.len());
        for (segment, stream) in streams.into_iter().enumerate() {
            let mut head = Head { segment, stream, more: true };
            head.advance();
            heads.push(head);
        }
        while let Some(token) = heads.iter().filter_map(Head::token).min().map(<[u8]>::to_vec) {
            if self.budget.stops() {
                break;
            }
            let mut lists = Vec::new();
            for head in &mut heads {
                head.drain(&token, |field, segment, info| {
                    if self.searchable.weight(field).is_some() {
                        lists.push(TermList { segment, field, info: info.clone() });
                    }
                });
            }
            let Ok(text) = String::from_utf8(token) else { continue };
            let word = Word { text: text.into_boxed_str(), lists };
            if self.is_live(&word)? && visit(word)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns true if a live document holds the word in a field that forgives typos.
    pub fn forgives(&self, word: &Word) -> Result<bool> {
        if !self.searchable.word_forgives(&word.text) {
            return Ok(false);
        }
        let forgiving = |list: &&TermList| self.searchable.field_forgives(list.field);
        self.is_any_live(word.lists.iter().filter(forgiving))
    }

    /// Returns true if a live document holds the word in a searchable field.
    fn is_live(&self, word: &Word) -> Result<bool> {
        self.is_any_live(word.lists.iter())
    }

    fn is_any_live<'w>(&self, lists: impl Iterator<Item = &'w TermList>) -> Result<bool> {
        for list in lists {
            let segment = &self.snapshot.segments()[list.segment];
            let deleted = segment.reader.max_doc() - segment.live.len() as u32;
            if list.info.doc_freq > deleted {
                return Ok(true);
            }
            let index = &self.indexes[list.segment];
            let mut postings = index.read_postings_from_terminfo(&list.info, IndexRecordOption::Basic)?;
            let mut doc = postings.doc();
            while doc != TERMINATED {
                if segment.docids[doc as usize] != DELETED {
                    return Ok(true);
                }
                doc = postings.advance();
            }
        }
        Ok(false)
    }
}

/// The term stream of one segment and its current term.
struct Head<'a, A: Automaton> {
    segment: usize,
    stream: TermStreamer<'a, A>,
    more: bool,
}

impl<A: Automaton> Head<'_, A> {
    fn advance(&mut self) {
        self.more = self.stream.advance();
    }

    /// Returns the word of the current term; `None` at the end.
    fn token(&self) -> Option<&[u8]> {
        let key = self.stream.key();
        self.more.then(|| &key[..key.len().saturating_sub(TERM_TAIL_BYTES)])
    }

    /// Calls `take` for each attribute of `token`, if that is the current word.
    fn drain(&mut self, token: &[u8], mut take: impl FnMut(FieldId, usize, &TermInfo)) {
        while self.token() == Some(token) {
            if let Some((_, field)) = parse_term(self.stream.key()) {
                take(field, self.segment, self.stream.value());
            }
            self.advance();
        }
    }
}

/// Bytes of a term after its word: a zero byte and the field suffix.
const TERM_TAIL_BYTES: usize = 4;
