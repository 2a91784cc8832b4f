/** Whether arrays and objects in a value are nested more than `levels` deep. */
export function isNestedBeyond(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels <= 0 || Object.values(value).some((inner) => isNestedBeyond(inner, levels - 1))
}

/**
 * Levels of a filter's value that the engines are given: they name what is wrong below the second one, but read no JSON of 128
 * levels.
 */
export const FILTER_LEVELS_MAX = 16
