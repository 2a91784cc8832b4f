//! Finds the documents of all words with a prefix, and tells common prefixes from rare ones.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::by_field::{ByField, unite};
use super::cache::{CommonPrefixes, PrefixDocuments};
use super::field_docs::FieldDocs;
use super::reader::Postings;
use super::segment::PrefixDocs;
use crate::cache::Both;
use crate::error::Result;

impl Postings {
    /// Returns true if at least `words_min` words with the prefix `prefix` occur in fields that forgive typos.
    pub fn is_common_prefix(&self, prefix: &str, words_min: usize) -> Result<bool> {
        if let Some(known) = self.cache().get::<CommonPrefixes>(&Both(prefix, &words_min)) {
            return Ok(*known);
        }
        let mut forgiving = 0;
        self.starting_with(prefix, |word| {
            forgiving += usize::from(self.forgives(&word)?);
            Ok(if forgiving < words_min { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(*self.insert::<CommonPrefixes>((prefix.into(), words_min), forgiving >= words_min))
    }

    /// Returns the documents of all words with the prefix `prefix`, including `prefix`, over the complete index.
    /// Computed once and cached; meant for prefixes of frequent words.
    pub fn prefix_docs(&self, prefix: &str) -> Result<Arc<FieldDocs>> {
        if let Some(known) = self.cache().get::<PrefixDocuments>(prefix) {
            return Ok(known);
        }
        let (mut all, mut forgiving) = (ByField::new(), ByField::new());
        let mut some_are_exact = false;
        for segment in self.segments() {
            let PrefixDocs { all: here, without_numbers } = segment.prefix_docs(prefix)?;
            some_are_exact |= without_numbers.is_some();
            for (field, docs) in without_numbers.as_ref().unwrap_or(&here) {
                unite(&mut forgiving, *field, docs);
            }
            here.iter().for_each(|(field, docs)| unite(&mut all, *field, docs));
        }
        let searchable = |fields: ByField<_>| -> ByField<_> {
            fields.into_iter().filter(|(field, _)| self.searchable.weight(*field).is_some()).collect()
        };
        let forgiving =
            (some_are_exact && self.searchable.numbers_are_exact()).then(|| searchable(forgiving));
        Ok(self.insert::<PrefixDocuments>(prefix.into(), FieldDocs::new(searchable(all), forgiving)))
    }
}
