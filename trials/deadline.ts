/** Returns a function that returns true until `minutes` have passed. Undefined means no limit. */
export function withinMinutes(minutes: string | undefined): () => boolean {
  if (minutes === undefined) return () => true
  const limit = Number(minutes)
  if (!(limit > 0)) throw new Error(`--minutes ${minutes}: must be a number above 0`)
  const end = Date.now() + limit * 60_000
  return () => Date.now() < end
}

/** Yields the values of `all` while `shouldContinue` returns true. */
export function* takeWhile<T>(all: Iterable<T>, shouldContinue: () => boolean): Generator<T> {
  for (const one of all) {
    if (!shouldContinue()) return
    yield one
  }
}
