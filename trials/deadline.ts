/** Returns a function that tells whether `minutes` have not passed yet. No text means no limit. */
export function withinMinutes(minutes: string | undefined): () => boolean {
  if (minutes === undefined) return () => true
  const limit = Number(minutes)
  if (!(limit > 0)) throw new Error(`--minutes ${minutes}: give a number above 0`)
  const end = Date.now() + limit * 60_000
  return () => Date.now() < end
}

/** The values of `all`, in order, while `goesOn` returns true. */
export function* takeWhile<T>(all: Iterable<T>, goesOn: () => boolean): Generator<T> {
  for (const one of all) {
    if (!goesOn()) return
    yield one
  }
}
