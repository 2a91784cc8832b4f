import type { JsonLimits } from '../parse/index.js'

/** Milliseconds of one rendering, without pauses. A template can loop over a document many times. */
export const RENDER_MS_MAX = 1000
/** Characters of output of one rendering. Fits images of 10 MB as text. */
export const RENDER_CHARS_MAX = 20_000_000
/** Renderings that may wait while another is running. Further ones are refused. */
export const RENDERINGS_WAITING_MAX = 16
/** Heap of the rendering thread, in megabytes. The largest rendering within the limits above takes about 200. */
export const RENDER_THREAD_MB_MAX = 512
/** Idle milliseconds after which the rendering thread ends. */
export const RENDER_THREAD_IDLE_MS = 2_000
/** Characters of templates kept in parsed form. A character takes 65 bytes of memory. */
export const PARSED_CHARS_MAX = 200_000
/** Rendering steps between two checks of the time. A step takes about a microsecond, or calls one filter. */
export const STEPS_PER_CHECK = 16

/** Texts per request to a provider that accepts several. Source: vectors §2.3. */
export const TEXTS_PER_REQUEST = 10
/** Texts per call of a local model. More were not faster, and vectors are spooled after each call. */
export const TEXTS_PER_MODEL_CALL = 32
/** Concurrent requests to one provider while embedding documents. Source: vectors §5.1. */
export const REQUESTS_AT_ONCE = 40
/** Milliseconds by which a request may catch up after a late timer. The limit per minute still holds. */
export const RATE_TOLERANCE_MS = 50
/** Remembered accounts (provider and API key), above which idle accounts are forgotten. */
export const IDLE_ACCOUNTS_MAX = 1_000
/** Attempts per request. Source: vectors §5.2. */
export const ATTEMPTS_MAX = 11
/** Bytes of one answer. Ten vectors of 16,000 components take about 4 MB as text. */
export const ANSWER_BYTES_MAX = 32 * 1024 * 1024
/**
 * Depth and number of values of one answer. Response templates are at most 64 levels deep. A number in a vector counts
 * as 1/16 of a value, so that all numbers of the longest answer fit.
 */
export const ANSWER_JSON: JsonLimits = { depthMax: 64, valuesMax: 300_000 }
/** Components of one vector. No model returns more. */
export const DIMENSIONS_MAX = 1_000_000
/** Characters of a provider's answer quoted in an error message. */
export const PROVIDER_TEXT_MAX = 500
/** Largest query in bytes whose vector is cached. Source: vectors §5.5. */
export const CACHED_QUERY_BYTES_MAX = 2000
/** Milliseconds of rendering between two turns of the event loop. */
export const RENDERING_TURN_MS = 10

/** Bytes of all spooled vectors on disk. Fits a million vectors of 256 components. */
export const SPOOL_BYTES_MAX = 1024 ** 3
/** Milliseconds after which unused spooled vectors are removed: a week. */
export const SPOOL_AGE_MS_MAX = 7 * 24 * 3600 * 1000
/** Bytes per read from a file of spooled vectors. */
export const SPOOL_READ_BYTES = 1024 * 1024
/** Documents listed in the message of a failed request. Further ones are only counted. */
export const NAMED_DOCUMENTS_MAX = 10
/** Tokens per text for OpenAI's models. Source: vectors §5.4. */
export const OPENAI_TOKENS_MAX = 8191
/**
 * Longest run of characters without a space, or of spaces only, that is tokenised at once. Runs of 200 take less than a
 * millisecond; runs of 1000 took 26 ms.
 */
export const TOKENIZED_RUN_MAX = 200
