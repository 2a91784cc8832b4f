import type { Backoff } from '../../outbound/index.js'

/** Webhooks created over HTTP. Source: the service's table of limits. */
export const WEBHOOKS_MAX = 20

/** Headers of one webhook. Source: the API. */
export const HEADERS_MAX = 200

/** Milliseconds per call, from resolving the name to the end of the answer. Source: the API. */
export const CALL_TIMEOUT_MS = 30_000

/** Pauses after a failed call, which is repeated until it succeeds. Later batches wait meanwhile. */
export const CALL_BACKOFF: Backoff = { firstMs: 500, lastMs: 60_000 }

/** Tasks per read from the store, so that a large batch is never completely in memory. */
export const TASKS_PER_READ = 500
