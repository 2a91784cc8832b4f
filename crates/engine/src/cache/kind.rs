//! The kinds of cache entries. Each has a name for figures, and a type that fixes the types of key and value.

use std::hash::Hash;

use equivalent::Equivalent;

/// A kind of entries, as a type.
pub trait CachedKind: 'static {
    /// Unique to this type.
    const KIND: Kind;
    /// Identifies an entry of an owner.
    type Key: Hash + Eq + Send + Sync + 'static;
    /// The cached value.
    type Value: Send + Sync + 'static;

    /// Heap bytes of a key and its value.
    fn bytes(key: &Self::Key, value: &Self::Value) -> usize;
}

/// Declares kinds of entries: `kind: key => value, heap bytes`. The type has the same name as its kind.
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

/// A key of two borrowed parts, equal to the tuple of both.
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
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Name in metrics.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// Commit: documents of a word.
    WordDocuments = "word_documents",
    /// Commit: true for a prefix of many words.
    CommonPrefixes = "common_prefixes",
    /// Commit: documents of all words with a prefix.
    PrefixDocuments = "prefix_documents",
    /// Commit: documents by position of a word, or of all words with a prefix.
    Positions = "positions",
    /// Commit: occurrences of a word.
    WordOccurrences = "word_occurrences",
    /// Commit: documents by distance of two words.
    Pairs = "pairs",
    /// Commit: number of documents for which positions of a word were read so far.
    PositionReads = "position_reads",
    /// Commit: number of documents for which occurrences of a word were read so far.
    OccurrenceReads = "occurrence_reads",
    /// Commit: number of documents for which distances of two words were read so far.
    PairReads = "pair_reads",
    /// Commit: documents by the number of words in a field.
    LengthDocuments = "field_lengths",
    /// Commit: number of words in each field of each document.
    LengthsByField = "lengths_by_field",
    /// Commit: arrays for the scores of all documents, between two searches.
    SumsByDocument = "sums_by_document",
    /// Commit: highest frequency of a word and its other forms in a document.
    HighestFrequencies = "highest_frequencies",
    /// Commit: scores of the documents of one kind of derivations of a term.
    ScoreLists = "score_lists",
    /// Commit: number of documents whose scores were computed for such a list so far.
    ScoreReads = "score_reads",
    /// Commit: number of documents that decides how rare a term is.
    TermDocuments = "term_documents",
    /// Commit: the best place to split a word in two.
    Splits = "splits",
    /// Commit: the derivations of a term.
    Derivations = "derivations",
    /// Commit: documents of the derivations of one kind of a term.
    DerivedDocuments = "derived_documents",
    /// Commit: occurrences of the derivations of one kind of a term.
    DerivedOccurrences = "derived_occurrences",
    /// Commit: number of documents for which these occurrences were read so far.
    DerivedReads = "derived_reads",
    /// Commit: documents that match a term by some kinds of derivation.
    MatchingDocuments = "matching_documents",
    /// Commit: documents of a phrase.
    PhraseDocuments = "phrase_documents",
    /// Commit: the synonyms of the settings, as words.
    SynonymLists = "synonyms",
    /// Commit: the analyzer of the settings.
    Analyzers = "analyzers",
    /// Commit: documents that pass a filter.
    Filters = "filters",
    /// Commit: all values of a field in one order.
    FieldRanks = "ranks",
    /// Segment: documents of a word, or of a number of words in a field.
    SegmentDocuments = "segment_documents",
    /// Segment: number of words in each field of each document.
    SegmentLengths = "segment_lengths",
    /// Segment: words by their stems.
    SegmentStems = "segment_stems",
    /// Segment: long words by their ends.
    SegmentEndings = "segment_endings",
    /// Segment: documents of all words with a prefix.
    SegmentPrefixes = "segment_prefixes",
    /// Segment: documents by position.
    SegmentPositions = "segment_positions",
    /// Segment: occurrences of all words with a prefix.
    SegmentOccurrences = "segment_occurrences",
    /// Segment: documents by distance of two words.
    SegmentPairs = "segment_pairs",
    /// Segment: documents that meet one condition of a filter.
    Selections = "selections",
    /// Column: its numbers in order.
    SortedNumbers = "sorted_numbers",
    /// Column: groups of strings that are spellings of one value.
    StringGroups = "string_groups",
    /// Largest of several columns: the strings of all columns in one order.
    MergedStrings = "merged_strings",
    /// Column: number of documents of each value.
    ValueCounts = "value_counts",
    /// Column: documents by value.
    DocumentsByValue = "documents_by_value",
    /// Segment: documents by geographic cell.
    SegmentCells = "geo_cells",
    /// Segment: bounding boxes of shapes.
    ShapeBoxes = "shape_boxes",
    /// Segment: documents as text.
    Documents = "documents",
}
