/** Returns the value of `--http-threads`. Undefined means the default of the server. */
export function threadsOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  const threads = Number(given)
  if (!Number.isInteger(threads) || threads < 1)
    throw new Error(`--http-threads ${given}: must be a whole number above 0`)
  return threads
}
