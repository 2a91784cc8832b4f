import type { JsonLimits } from '../parse/index.js'

/** Attempts per request, within the time limit of the search. */
export const ATTEMPTS_MAX = 3
/** First and longest pause between attempts, in milliseconds. */
export const PAUSE_MS_FIRST = 50
export const PAUSE_MS_MAX = 1000
/** Bytes of one answer. A thousand scores take 50 kB; some services repeat the documents. */
export const ANSWER_BYTES_MAX = 32 * 1024 * 1024
export const ANSWER_JSON: JsonLimits = { depthMax: 64, valuesMax: 300_000 }
/** Milliseconds of one request of a personalized search. Source: the API. */
export const PERSONALIZATION_MS_MAX = 30_000
/** Bytes of one hit in the request of a personalized search. */
export const PERSONALIZED_HIT_BYTES_MAX = 16_384
