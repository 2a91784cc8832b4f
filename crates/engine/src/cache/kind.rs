//! What is cached? Every kind has a name for figures, and a type that says what its keys and values are.

use std::hash::Hash;

use equivalent::Equivalent;

/// A kind of entries by its types.
pub trait CachedKind: 'static {
    /// No two types have the same.
    const KIND: Kind;
    /// By what an entry of an owner is found.
    type Key: Hash + Eq + Send + Sync + 'static;
    /// What is found.
    type Value: Send + Sync + 'static;

    /// Bytes on the heap that a key and its value point to.
    fn bytes(key: &Self::Key, value: &Self::Value) -> usize;
}

/// Declares what entries of some kinds are: `kind: key => value, bytes on the heap`. A kind has the same name as a type.
macro_rules! cached {
    ($($vis:vis $kind:ident: $key:ty => $value:ty, $bytes:expr;)*) => {$(
        $vis struct $kind;

        impl $crate::cache::kind::CachedKind for $kind {
            const KIND: $crate::cache::kind::Kind = $crate::cache::kind::Kind::$kind;
            type Key = $key;
            type Value = $value;

            fn bytes(key: &$key, value: &$value) -> usize {
                let bytes: fn(&$key, &$value) -> usize = $bytes;
                bytes(key, value)
            }
        }
    )*};
}

pub(crate) use cached;

/// A key of two parts that are borrowed: equal to the tuple of both.
#[derive(Hash)]
pub struct Both<'a, A: ?Sized, B: ?Sized>(pub &'a A, pub &'a B);

impl<A, B, C, D> Equivalent<(C, D)> for Both<'_, A, B>
where
    A: Equivalent<C> + ?Sized,
    B: Equivalent<D> + ?Sized,
{
    fn equivalent(&self, (first, second): &(C, D)) -> bool {
        self.0.equivalent(first) && self.1.equivalent(second)
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// A kind of entries, for figures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// As metrics name it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// Of a commit: documents of a word.
    WordDocuments = "word_documents",
    /// Of a commit: whether many words share a prefix.
    CommonPrefixes = "common_prefixes",
    /// Of a commit: documents of all words with a prefix.
    PrefixDocuments = "prefix_documents",
    /// Of a commit: documents by position of a word, or of all words with a prefix.
    Positions = "positions",
    /// Of a commit: occurrences of a word.
    WordOccurrences = "word_occurrences",
    /// Of a commit: documents by distance of two words.
    Pairs = "pairs",
    /// Of a commit: for how many documents positions of a word were read until now.
    PositionReads = "position_reads",
    /// Of a commit: for how many documents occurrences of a word were read until now.
    OccurrenceReads = "occurrence_reads",
    /// Of a commit: for how many documents distances of two words were read until now.
    PairReads = "pair_reads",
    /// Of a commit: documents by the number of words in a field.
    FieldLengths = "field_lengths",
    /// Of a commit: where a word is best cut in two.
    Splits = "splits",
    /// Of a commit: the words that may stand for a term.
    Derivations = "derivations",
    /// Of a commit: documents of the words that stand for a term in one way.
    DerivedDocuments = "derived_documents",
    /// Of a commit: occurrences of those words.
    DerivedOccurrences = "derived_occurrences",
    /// Of a commit: for how many documents those occurrences were read until now.
    DerivedReads = "derived_reads",
    /// Of a commit: documents that match a term in some ways.
    MatchingDocuments = "matching_documents",
    /// Of a commit: documents of a phrase.
    PhraseDocuments = "phrase_documents",
    /// Of a commit: the synonyms of its settings, as words.
    SynonymLists = "synonyms",
    /// Of a commit: the analyzer of its settings.
    Analyzers = "analyzers",
    /// Of a commit: documents that pass a filter.
    Filters = "filters",
    /// Of a commit: all values of a field in one order.
    FieldRanks = "ranks",
    /// Of a segment: documents of a word, or of a number of words in a field.
    SegmentDocuments = "segment_documents",
    /// Of a segment: documents of all words with a prefix.
    SegmentPrefixes = "segment_prefixes",
    /// Of a segment: documents by position.
    SegmentPositions = "segment_positions",
    /// Of a segment: occurrences of all words with a prefix.
    SegmentOccurrences = "segment_occurrences",
    /// Of a segment: documents by distance of two words.
    SegmentPairs = "segment_pairs",
    /// Of a segment: documents that meet one condition of a filter.
    Selections = "selections",
    /// Of a column: its numbers in order.
    SortedNumbers = "sorted_numbers",
    /// Of a column: which of its strings are spellings of one value.
    StringGroups = "string_groups",
    /// Of the largest of several columns: the strings of all in one order.
    MergedStrings = "merged_strings",
    /// Of a column: how many documents each value has.
    ValueCounts = "value_counts",
    /// Of a column: documents by value.
    DocumentsByValue = "documents_by_value",
    /// Of a segment: documents by where they are.
    SegmentCells = "geo_cells",
    /// Of a segment: the bounding boxes of shapes.
    ShapeBoxes = "shape_boxes",
    /// Of a segment: documents as text.
    Documents = "documents",
}
