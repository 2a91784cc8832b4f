//! Lists the words of a segment by their ends.

use std::sync::Arc;

use super::cache::SegmentEndings;
use super::reader::Segment;
use crate::error::Result;
use crate::postings::endings::Endings;
use crate::store::schema::parse_term;

impl Segment<'_> {
    /// Returns the words of the segment by their ends. Made once, even if the time of the search is up: otherwise no
    /// search of a large segment would ever have them.
    pub(crate) fn endings(&self) -> Result<Arc<Endings>> {
        if let Some(known) = self.view.cache().get::<SegmentEndings>(&()) {
            return Ok(known);
        }
        let mut endings = Endings::default();
        let mut last = String::new();
        let mut terms = self.index.terms().stream()?;
        while terms.advance() {
            // A word has a term in each field.
            if let Some((word, _)) = parse_term(terms.key()).filter(|(word, _)| *word != last) {
                word.clone_into(&mut last);
                endings.add(word);
            }
        }
        let made = Arc::new(endings.finish());
        self.view.cache().insert::<SegmentEndings>((), &made);
        Ok(made)
    }
}
