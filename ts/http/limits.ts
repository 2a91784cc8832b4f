/** How much may one request hold, and all of them together? */
import { defaultJsonLimits, type JsonLimits } from '../requests/index.js'

/** What a route takes as its JSON body. */
export interface BodyLimits extends JsonLimits {
  /** Bytes once decompressed; the launch option for all bodies may be lower. */
  readonly bytesMax: number
}

const { depthMax } = defaultJsonLimits

/** Names, rules and options: keys, indexes, webhooks, remotes, features, swaps, exports. */
const few: BodyLimits = { bytesMax: 4_000_000, valuesMax: 100_000, depthMax }

/** One search: filters of tens of thousands of values, a vector, an image in `media`. */
const search: BodyLimits = { bytesMax: 20_000_000, valuesMax: 200_000, depthMax }

/** Many searches in one body; 1,000 with a vector of 1,536 numbers each are 30 MB and 100,000 values. */
const searches: BodyLimits = { bytesMax: 50_000_000, valuesMax: 300_000, depthMax }

/** Settings: 100,000 synonyms are 300,000 values and 4 MB. */
const settings: BodyLimits = { bytesMax: 50_000_000, valuesMax: 500_000, depthMax }

/** Ids of documents: a million, and the list itself. */
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
 * Bodies announced to be at most this long, and not compressed, are read without any stream in between and count for
 * nothing among the bodies under way: nearly all searches.
 */
export const SHORT_BYTES_MAX = 16_384

/** Longer bodies are parsed in slices, one slice of one body in each turn of the event loop. */
export const WHOLE_BYTES_MAX = 65_536

/**
 * Bytes of all JSON bodies that have begun to arrive and are not answered yet, values as below included. A body that
 * is alone is taken whatever its size.
 */
export const BODIES_BYTES_MAX = 256_000_000
/** Bytes of memory that one value of a body takes while it is read. Measured: 80 to 120. */
export const VALUE_BYTES = 100

/**
 * Milliseconds without a byte of the body after which its request is given up. As for heads, the time that bytes lie
 * unread on a busy server counts too.
 */
export const BODY_IDLE_MS_MAX = 300_000

/** Shorter answers fit into the buffers of the system, so that it does not matter when they are read. */
export const UNREAD_COUNTED_BYTES_MIN = 65_536
/** Bytes of all answers that are made and not read yet; beyond, the connection of the oldest of them is closed. */
export const UNREAD_BYTES_MAX = 256_000_000
/** Milliseconds without a byte of an answer being read after which its connection is closed. */
export const UNREAD_MS_MAX = 60_000

/** Part of the memory of this process that the bounds above may take each where it is small. */
export const MEMORY_SHARE = 0.125
