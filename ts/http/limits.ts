/** Limits of single requests and of all requests together. */
import { defaultJsonLimits, type JsonLimits } from '../operations/index.js'

interface BodyLimits extends JsonLimits {
  /** Bytes after decompression, unless the operator chose a limit for all bodies. */
  readonly bytesMax: number
}

const { depthMax } = defaultJsonLimits

/** Names, rules and options: keys, indexes, webhooks, remotes, features, swaps, exports. */
const few: BodyLimits = { bytesMax: 4_000_000, valuesMax: 100_000, depthMax }

/** A single search: a filter of tens of thousands of values, a vector and an image in `media` fit. */
const search: BodyLimits = { bytesMax: 20_000_000, valuesMax: 200_000, depthMax }

/** Many searches in one body: 1,000 with a vector of 1,536 numbers each are 30 MB and 100,000 values. */
const searches: BodyLimits = { bytesMax: 50_000_000, valuesMax: 300_000, depthMax }

/** A question to a language model, with the conversation before it. */
const chat: BodyLimits = { bytesMax: 1_048_576, valuesMax: 100_000, depthMax }

/** Settings: 100,000 synonyms are 300,000 values and 4 MB. */
const settings: BodyLimits = { bytesMax: 50_000_000, valuesMax: 500_000, depthMax }

/** A million document ids. The list that holds them counts as one more value. */
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
  '/chats/:workspace/chat/completions': chat,
}

/** @param route pattern of the router, for example `/indexes/:indexUid/search` */
export function bodyLimits(route: string): BodyLimits {
  if (route === settingsPath || route.startsWith(`${settingsPath}/`)) return settings
  return Object.hasOwn(byRoute, route) ? byRoute[route]! : few
}

/**
 * Announced, uncompressed bytes of a body up to which it is read without a stream and without counting its memory.
 * Nearly all searches are shorter.
 */
export const SHORT_BYTES_MAX = 16_384

/** Bytes up to which a body is parsed at once. A longer body is parsed in slices, one per turn of the event loop. */
export const UNSLICED_BYTES_MAX = 65_536

/**
 * Bytes of memory for all JSON bodies that are received or handled, including `VALUE_BYTES` per value. A single body
 * may exceed it.
 */
export const BODIES_BYTES_MAX = 256_000_000
/** Bytes of memory that one value of a body takes while it is read. Measured: 80 to 120. */
export const VALUE_BYTES = 100

/**
 * Milliseconds without a byte of the body after which the request is refused. Time that a busy server needs to read
 * arrived bytes counts too.
 */
export const BODY_IDLE_MS_MAX = 300_000

/**
 * Bytes from which an unread answer is counted. A shorter one fits into the buffers of the system and takes no memory
 * here.
 */
export const UNREAD_COUNTED_BYTES_MIN = 65_536
/** Bytes of all unread answers. Above this limit the connection of the oldest answer is closed. */
export const UNREAD_BYTES_MAX = 256_000_000
/** Milliseconds without a read byte after which the connection of an unread answer is closed. */
export const UNREAD_MS_MAX = 60_000

/** Most milliseconds that a request may wait for the end of a task: proxies often end longer requests. */
export const TASK_WAIT_MS_MAX = 60_000
/** Requests that may wait for the end of a task. Further requests are answered at once. */
export const TASK_WAITS_MAX = 10_000

/**
 * Open streams of tasks and batches. Streams with the same filter share their reads, up to twenty per second while
 * tasks change.
 */
export const CHANGE_STREAMS_MAX = 100
/** The share of the open streams that one key may have. */
export const STREAMS_OF_KEY_SHARE = 1 / 2
/** Changed tasks that a stream has not sent yet, at most 4 MB. A slower client loses its stream. */
export const UNSENT_CHANGES_MAX = 100_000
/** Tasks or batches that a stream reads at a time. */
export const CHANGES_READ = 1_000
/** Least milliseconds between two reads of one stream. */
export const CHANGES_PAUSE_MS = 50
/** Milliseconds between two reads of the progress of a running batch. */
export const PROGRESS_PAUSE_MS = 500
/** Chats that are answered at the same time. Each holds a connection to its provider. */
export const CHATS_MAX = 100
/** Pairs of a workspace and a model that have their own metrics. Tokens of others are counted together. */
export const CHAT_SERIES_MAX = 1_000
/** Milliseconds without a change after which a comment is sent, to show clients and proxies that the stream lives. */
export const HEARTBEAT_MS = 15_000
/** Milliseconds after which a client reconnects when its stream ends. Source: the API sends the same. */
export const RECONNECT_MS = 10_000

/** The share of the process memory that each memory limit above may take, if that is less than the limit. */
export const MEMORY_SHARE = 0.125

/** Indexes whose waiting tasks `/metrics` shows: the indexes with most. Bounds the number of series. */
export const WAITING_INDEXES_MAX = 50

/** Batches whose steps and documents `/metrics` shows. */
export const REPORTED_BATCHES_MAX = 10
