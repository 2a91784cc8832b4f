import type { JsonLimits } from '../parse/index.js'

/** Milliseconds of one rendering, without its pauses. A template can loop over a document many times. */
export const RENDER_MS_MAX = 1000
/** Characters that one rendering may write. Images of ten megabytes, as text, fit. */
export const RENDER_CHARS_MAX = 20_000_000
/** Renderings that wait for the one that runs, before further ones are refused. */
export const RENDERINGS_WAITING_MAX = 16
/** Megabytes of objects of the thread of renderings. The largest rendering within the limits above takes about 200. */
export const RENDER_THREAD_MB_MAX = 512
/** Milliseconds without a call after which the thread of renderings ends. */
export const RENDER_THREAD_IDLE_MS = 2_000
/** Characters of the templates that are kept parsed. A character takes 65 bytes of objects. */
export const PARSED_CHARS_MAX = 200_000
/** Steps of a rendering between two checks of its time. A step takes about a microsecond, or calls one filter. */
export const STEPS_PER_CHECK = 16

/** Texts in one request to a provider that accepts several. Source: vectors §2.3. */
export const TEXTS_PER_REQUEST = 10
/**
 * Texts that a model which runs here gets at a time. More were no faster, and what was made is noted after each call.
 */
export const TEXTS_PER_MODEL_CALL = 32
/** Requests to one provider at the same time while documents are embedded. Source: vectors §5.1. */
export const REQUESTS_AT_ONCE = 40
/** Milliseconds that a request may make up for if a timer was late; a minute has no more requests for it. */
export const RATE_TOLERANCE_MS = 50
/** Providers and keys whose last request is remembered, before those without requests are forgotten. */
export const IDLE_ACCOUNTS_MAX = 1_000
/** Attempts of one request. Source: vectors §5.2. */
export const ATTEMPTS_MAX = 11
/** Bytes of one answer: ten vectors of 16,000 components take about 4 MB as text. */
export const ANSWER_BYTES_MAX = 32 * 1024 * 1024
/**
 * Depth and number of the values of one answer. Response templates are at most 64 levels deep. A number of a vector
 * counts as a sixteenth of a value, so that all numbers of the longest answer fit.
 */
export const ANSWER_JSON: JsonLimits = { depthMax: 64, valuesMax: 300_000 }
/** Components of one vector. No model returns more. */
export const DIMENSIONS_MAX = 1_000_000
/** Characters of a provider's answer that an error message quotes. */
export const PROVIDER_TEXT_MAX = 500
/** Bytes of a query whose vector is cached. Source: vectors §5.5. */
export const CACHED_QUERY_BYTES_MAX = 2000
/** Milliseconds of rendering between two turns of the event loop. */
export const RENDERING_TURN_MS = 10

/** Bytes of all vectors on disk that wait for their commits. A million vectors of 256 components fit. */
export const PAID_BYTES_MAX = 1024 ** 3
/** Milliseconds after which vectors that no batch has come back for are removed: a week. */
export const PAID_AGE_MS_MAX = 7 * 24 * 3600 * 1000
/** Bytes that are read at a time from a file of such vectors. */
export const PAID_READ_BYTES = 1024 * 1024
/** Documents that the message of a failed request names; further ones are counted. */
export const NAMED_DOCUMENTS_MAX = 10
/** Tokens of one text for the models of OpenAI. Source: vectors §5.4. */
export const OPENAI_TOKENS_MAX = 8191
/**
 * Characters without a space, or spaces without another character, that are turned into tokens together. 200 take
 * less than a millisecond; a thousand took 26.
 */
export const TOKENIZED_RUN_MAX = 200
