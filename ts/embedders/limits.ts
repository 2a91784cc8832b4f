import type { JsonLimits } from '../parse/index.js'

/** Templates of one fragment, and characters of them all: parsing these takes 50 ms at worst. */
export const FRAGMENT_TEMPLATES_MAX = 1_000
export const FRAGMENT_CHARS_MAX = 50_000
/** Milliseconds of its own that one rendering may take: a template may loop over a document many times. */
export const RENDER_MS_MAX = 1000
/** Characters that one rendering may put out: texts of ten megabytes, such as images, are passed on. */
export const RENDER_CHARS_MAX = 20_000_000
/** Steps of a rendering between looks at the clock; a step takes a microsecond or calls one filter. */
export const STEPS_PER_LOOK = 16

/** Texts in one request to a provider that takes several. Source: vectors §2.3. */
export const TEXTS_PER_REQUEST = 10
/** Requests to one provider at the same time while documents are embedded. Source: vectors §5.1. */
export const REQUESTS_AT_ONCE = 40
/** Attempts of one request. Source: vectors §5.2. */
export const ATTEMPTS_MAX = 11
/** Bytes of one answer: ten vectors of 16,000 components take about 4 MB as text. */
export const ANSWER_BYTES_MAX = 32 * 1024 * 1024
/**
 * Values inside each other, and values in all, of one answer. Request templates look no deeper than 64 levels; numbers of
 * a vector count as a sixteenth of a value each, so that all numbers of the longest answer fit.
 */
export const ANSWER_JSON: JsonLimits = { depthMax: 64, valuesMax: 300_000 }
/** Components of one vector; more is no vector of any model. */
export const DIMENSIONS_MAX = 1_000_000
/** Characters of a provider's own words that are passed on. */
export const PROVIDER_TEXT_MAX = 500
/** Bytes of a query that are still remembered with its vector. Source: vectors §5.5. */
export const CACHED_QUERY_BYTES_MAX = 2000
/** Milliseconds of rendering after which others get their turn. */
export const RENDERING_TURN_MS = 10
