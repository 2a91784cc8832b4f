/** Great-circle distance between points. Source: search §9. */

export const EARTH_METRES = 6_371_000
export const radians = (degrees: number): number => (degrees * Math.PI) / 180
const haversine = (angle: number): number => (1 - Math.cos(angle)) / 2

/** Metres along a great circle, rounded to millimetres. */
export function metresBetween(a: readonly [number, number], b: readonly [number, number]): number {
  const [latA, latB] = [radians(a[0]), radians(b[0])]
  const chord =
    haversine(latB - latA) + Math.cos(latA) * Math.cos(latB) * haversine(radians(b[1]) - radians(a[1]))
  return Math.round(2 * EARTH_METRES * Math.asin(Math.sqrt(chord)) * 1000) / 1000
}
