/** Compares edited settings with those of the server. */
import type { Json, Settings } from '../api/types.ts'
import { own } from '../parts/own.ts'

/** Settings that only siftd has. The server leaves them out while they have these values. */
const ownDefaults: Settings = {
  attributeWeights: {},
  compounds: [],
  matchingStrategy: 'last',
  pinyin: false,
  stemming: [],
  stopWordLists: [],
  rerankers: {},
}

/** Settings whose PATCH is merged by key. Keys that are left out would stay. */
const merged = new Set(['typoTolerance', 'faceting', 'pagination', 'embedders', 'rerankers', 'chat'])
/** Settings that are merged by key at the second level as well. */
const mergedTwice = new Set(['faceting', 'embedders', 'rerankers'])

export const completed = (settings: Settings): Settings => ({ ...ownDefaults, ...settings })

type JsonObject = { readonly [key: string]: Json }

/** Returns the changes from `before` to `after` as the body of a PATCH. Settings missing in `after` stay. */
export function patchOf(before: Settings, after: Settings): Record<string, Json> {
  const changed = Object.entries(after).filter(([name, value]) => !isSame(own(before, name), value))
  return Object.fromEntries(
    changed.map(([name, value]) => [
      name,
      merged.has(name) ? mergePatch(own(before, name), value, mergedTwice.has(name) ? 2 : 1) : value,
    ]),
  )
}

/** Leaves out unchanged keys, so that a masked secret is never sent back, and resets missing ones with null. */
function mergePatch(before: Json | undefined, after: Json, levels: number): Json {
  if (levels === 0 || !isObject(before) || !isObject(after)) return after
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name))
  const changed = Object.entries(after).filter(([name, value]) => !isSame(own(before, name), value))
  return Object.fromEntries([
    ...gone.map((name) => [name, null] as const),
    ...changed.map(([name, value]) => [name, mergePatch(own(before, name), value, levels - 1)] as const),
  ])
}

const isSame = (a: Json | undefined, b: Json): boolean => JSON.stringify(a) === JSON.stringify(b)

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the texts of a list. Other values, such as objects with patterns, are left out. */
export const textsOf = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : []
