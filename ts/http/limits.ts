/** How much may one request hold, and how much all requests together? */
import { defaultJsonLimits, type JsonLimits } from '../requests/index.js'

/** The limits of a route's JSON body. */
export interface BodyLimits extends JsonLimits {
  /** Bytes after decompression, unless the operator chose a limit for all bodies. */
  readonly bytesMax: number
}

const { depthMax } = defaultJsonLimits

/** Names, rules and options: keys, indexes, webhooks, remotes, features, swaps, exports. */
const few: BodyLimits = { bytesMax: 4_000_000, valuesMax: 100_000, depthMax }

/** One search: a filter of tens of thousands of values, a vector and an image in `media` fit. */
const search: BodyLimits = { bytesMax: 20_000_000, valuesMax: 200_000, depthMax }

/** Many searches in one body: 1,000 with a vector of 1,536 numbers each are 30 MB and 100,000 values. */
const searches: BodyLimits = { bytesMax: 50_000_000, valuesMax: 300_000, depthMax }

/** Settings: 100,000 synonyms are 300,000 values and 4 MB. */
const settings: BodyLimits = { bytesMax: 50_000_000, valuesMax: 500_000, depthMax }

/** A million ids of documents. The list that holds them is one more value. */
const ids: BodyLimits = { bytesMax: Number.POSITIVE_INFINITY, valuesMax: 1_000_001, depthMax }

const documents = '/indexes/:indexUid/documents'
const settingsPath = '/indexes/:indexUid/settings'

const byRoute: Readonly<Record<string, BodyLimits>> = {
  '/indexes/:indexUid/search': search,
  '/indexes/:indexUid/facet-search': search,
  '/indexes/:indexUid/similar': search,
  '/multi-search': searches,
  [`${documents}/fetch`]: search,
  [`${documents}/delete`]: search,
  [`${documents}/edit`]: search,
  [`${documents}/delete-batch`]: ids,
  '/render-template': search,
}

/** @param route as the router knows it: `/indexes/:indexUid/search` */
export function bodyLimits(route: string): BodyLimits {
  if (route === settingsPath || route.startsWith(`${settingsPath}/`)) return settings
  return Object.hasOwn(byRoute, route) ? byRoute[route]! : few
}

/**
 * Bytes of a body, as announced and without compression, that is read without a stream and without counting its memory.
 * Nearly all searches are shorter.
 */
export const SHORT_BYTES_MAX = 16_384

/** Bytes of a body that is parsed at once. A longer body is parsed in slices: one slice per turn of the event loop. */
export const WHOLE_BYTES_MAX = 65_536

/**
 * Bytes of memory for all JSON bodies that have begun to arrive and are not answered yet, including `VALUE_BYTES` per
 * value. A single body may exceed it.
 */
export const BODIES_BYTES_MAX = 256_000_000
/** Bytes of memory that one value of a body takes while it is read. Measured: 80 to 120. */
export const VALUE_BYTES = 100

/**
 * Milliseconds without a byte of the body after which the request is refused. Time during which a busy server leaves
 * arrived bytes unread counts too.
 */
export const BODY_IDLE_MS_MAX = 300_000

/**
 * Bytes of an answer that counts as unread. A shorter one fits into the buffers of the system and takes no memory here.
 */
export const UNREAD_COUNTED_BYTES_MIN = 65_536
/** Bytes of all answers that have been made and not read. When more, the connection of the oldest answer is closed. */
export const UNREAD_BYTES_MAX = 256_000_000
/** Milliseconds in which a client reads no byte of its answer, after which its connection is closed. */
export const UNREAD_MS_MAX = 60_000

/** The longest time, in milliseconds, that a request may wait for the end of a task: proxies often end it after that. */
export const TASK_WAIT_MS_MAX = 60_000
/** Requests that wait for the end of a task at the same time. Further ones are answered at once. */
export const TASK_WAITS_MAX = 10_000

/**
 * Open streams of tasks and batches. Streams with one filter share what they read, up to twenty times a second while
 * tasks change.
 */
export const CHANGE_STREAMS_MAX = 100
/** The share of the open streams that one key may have. */
export const STREAMS_OF_KEY_SHARE = 1 / 2
/** Changed tasks that a stream has not shown yet, 4 MB at most. A reader that is slower loses its stream. */
export const UNSHOWN_CHANGES_MAX = 100_000
/** Tasks or batches that a stream reads at a time. */
export const CHANGES_READ = 1_000
/** The least milliseconds between two readings of one stream. */
export const CHANGES_PAUSE_MS = 50
/** Milliseconds between two readings of the progress of a running batch. */
export const PROGRESS_PAUSE_MS = 500
/** Milliseconds without a change after which a comment tells a reader, and proxies on the way, that the stream lives. */
export const HEARTBEAT_MS = 15_000
/** Milliseconds after which a reader whose stream ended connects again. Source: the API sends the same. */
export const RECONNECT_MS = 10_000

/** The share of the memory of the process that each bound of memory above may take, if that is less than the bound. */
export const MEMORY_SHARE = 0.125

/** Indexes whose waiting tasks `/metrics` shows, those with the most. The number of series must not grow with a queue. */
export const WAITING_INDEXES_MAX = 50

/** Batches of which `/metrics` shows steps and documents. */
export const REPORTED_BATCHES_MAX = 10
