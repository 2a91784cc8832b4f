//! Maps stems to the words of a segment.

use std::sync::Arc;

use super::cache::SegmentStems;
use super::reader::Segment;
use crate::analysis::Stemmer;
use crate::error::Result;
use crate::postings::stems::Stems;
use crate::store::schema::parse_term;

impl Segment<'_> {
    /// Returns the words of the segment by their stems. Made once, even if the time of the search is up: otherwise no
    /// search of a large segment would ever have them.
    pub(crate) fn stems(&self, stemmer: Stemmer) -> Result<Arc<Stems>> {
        if let Some(known) = self.view.cache().get::<SegmentStems>(&stemmer) {
            return Ok(known);
        }
        let mut stems = Stems::new(stemmer);
        let mut last = String::new();
        let mut terms = self.index.terms().stream()?;
        while terms.advance() {
            // A word has a term in each field.
            if let Some((word, _)) = parse_term(terms.key()).filter(|(word, _)| *word != last) {
                word.clone_into(&mut last);
                stems.add(word);
            }
        }
        let made = Arc::new(stems.finish());
        self.view.cache().insert::<SegmentStems>(stemmer, &made);
        Ok(made)
    }
}
