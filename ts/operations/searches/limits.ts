/** Most parts of a filter that an explanation judges. Each takes a search. */
export const EXPLAINED_CLAUSES_MAX = 100
/** Milliseconds to prepare queries of a multi-search before yielding to the event loop. */
export const PREPARING_TURN_MS = 10
/** Milliseconds of work on the hits of a reordered search before yielding to the event loop. */
export const REORDERING_TURN_MS = 10
/** Queries of a multi-search whose hits are reordered at the same time. Each may hold the texts of 1,000 hits. */
export const REORDERINGS_AT_ONCE = 4

/** Indexes in one list of those that a caller may search. */
export const DESCRIBED_INDEXES_MAX = 1000
/** Fields that the description of an index names. */
export const DESCRIBED_FIELDS_MAX = 200
/** Attributes whose values a description counts. */
export const DESCRIBED_FACETS_MAX = 50
/** Values of an attribute in a description. */
export const DESCRIBED_VALUES_MAX = 10
/** Documents whose values give the types of fields. */
export const TYPED_DOCUMENTS_MAX = 20
/** Documents that a description shows. */
export const SAMPLES_MAX = 3
/** Characters of a text, and items of a list, in these documents. */
export const SAMPLE_TEXT_CHARS_MAX = 200
export const SAMPLE_ITEMS_MAX = 5
