/** Returns true if arrays and objects in a value are nested more than `levels` deep. */
export function isNestedBeyond(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels <= 0 || Object.values(value).some((inner) => isNestedBeyond(inner, levels - 1))
}

/**
 * Most levels of a filter passed to the engines. They report mistakes below the second level, but cannot read JSON of
 * 128 levels.
 */
export const FILTER_LEVELS_MAX = 16
