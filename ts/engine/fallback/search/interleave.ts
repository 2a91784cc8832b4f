/**
 * Returns the first `wanted` items: pins at their positions, the rest in between, and remaining pins at the end.
 * @param pins in order of their positions
 */
export function interleaved<T>(
  pins: readonly T[],
  rest: readonly T[],
  wanted: number,
  position: (pin: T) => number,
): T[] {
  const placed: T[] = []
  let [nextPin, next] = [0, 0]
  while (placed.length < wanted) {
    const pin = pins[nextPin]
    const other = rest[next]
    if (pin !== undefined && (other === undefined || position(pin) <= placed.length)) {
      placed.push(pin)
      nextPin++
    } else if (other !== undefined) {
      placed.push(other)
      next++
    } else break
  }
  return placed
}
