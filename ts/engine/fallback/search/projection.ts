/** Selects fields of documents by path. Source: search §15, settings §4.1. */
import { covers } from '../fields/patterns.js'
import type { Json, JsonObject } from '../store/json.js'

/**
 * Returns the parts of `document` that `paths` select, in document order. A path selects everything below it. A nested
 * path keeps only its own branch, also within arrays of objects. A field name with a dot is not a path: `a` does not
 * select a field named `a.b`.
 */
export function selectPaths(document: JsonObject, paths: readonly string[], prefix = ''): JsonObject {
  const selected: JsonObject = new Map()
  for (const [name, value] of document) {
    const path = prefix + name
    if (paths.includes(path)) selected.set(name, value)
    else if (paths.some((wanted) => covers(path, wanted))) {
      const branch = selectBranch(value, paths, `${path}.`)
      if (branch !== undefined) selected.set(name, branch)
    }
  }
  return selected
}

/** Paths that select the intersection of both lists. */
export const commonPaths = (some: readonly string[], others: readonly string[]): readonly string[] =>
  some.flatMap((a) =>
    others.flatMap((b) => {
      if (covers(b, a)) return [a]
      return covers(a, b) ? [b] : []
    }),
  )

function selectBranch(value: Json, paths: readonly string[], prefix: string): Json | undefined {
  if (value instanceof Map) {
    const object = selectPaths(value, paths, prefix)
    return object.size === 0 && value.size > 0 ? undefined : object
  }
  if (!Array.isArray(value)) return undefined
  const items = value.map((item) => selectBranch(item, paths, prefix)).filter((item) => item !== undefined)
  return items.length === 0 && value.length > 0 ? undefined : items
}
