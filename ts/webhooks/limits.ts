import type { Backoff } from '../outbound/index.js'

/** Webhooks made over HTTP. Source: the service's table of limits. */
export const WEBHOOKS_MAX = 20

/** Headers of one webhook. Source: what the API allows. */
export const HEADERS_MAX = 200

/** One call, from resolving the name to the end of the answer. Source: what the API promises. */
export const CALL_TIMEOUT_MS = 30_000

/** Pauses after a call that failed. It is repeated until it works: those after it have to wait. */
export const CALL_BACKOFF: Backoff = { firstMs: 500, lastMs: 60_000 }

/** Tasks read from the store at once, so that a large batch is never in memory as a whole. */
export const TASKS_PER_READ = 500
