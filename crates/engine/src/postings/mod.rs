//! Here is a word: which documents hold it, in which attribute, and where?
//!
//! Words come out of the term dictionaries of all segments as one list ([`Postings::word`],
//! [`Postings::starting_with`], [`Postings::near`]); a [`Word`] knows where its postings lie, and the
//! other calls decode them. Answers are docids of live documents and speak of searchable attributes only,
//! so they depend neither on how documents are spread over segments nor on what a merge has removed.

mod automata;
mod cache;
mod dictionary;
mod docsets;
mod lengths;
mod nearness;
mod occurrences;
mod positions;
mod prefixes;
mod searchable;

pub use dictionary::Word;
pub use docsets::{FieldDocs, Reading};
pub use nearness::DISTANCE_MAX;
pub use occurrences::Occurrences;
pub use positions::{PositionDocs, bucketed};
pub use prefixes::Prefix;
pub use searchable::Searchable;

use std::sync::Arc;

use tantivy::InvertedIndexReader;

use crate::error::Result;
use crate::store::Snapshot;

/// The words of one commit.
pub struct Postings {
    snapshot: Snapshot,
    /// Of the `text` field, one per segment.
    indexes: Vec<Arc<InvertedIndexReader>>,
    searchable: Searchable,
    cache: Arc<cache::Cache>,
}

impl Postings {
    /// Opens the dictionaries of every segment; cheap, tantivy keeps them mapped.
    pub fn open(snapshot: &Snapshot) -> Result<Self> {
        let text = snapshot.schema().text;
        let open = |segment: &crate::store::SegmentView| Ok(segment.reader.inverted_index(text)?);
        Ok(Self {
            indexes: snapshot.segments().iter().map(open).collect::<Result<_>>()?,
            searchable: Searchable::new(snapshot.fields(), snapshot.settings()),
            cache: snapshot.attachments().get(),
            snapshot: snapshot.clone(),
        })
    }

    /// The commit these words belong to.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Which attributes are searchable, and how.
    pub fn searchable(&self) -> &Searchable {
        &self.searchable
    }
}
