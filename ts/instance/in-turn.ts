/** Runs functions one after the other, in the order of the calls, so that each sees what the one before it stored. */
export type InTurn = <T>(run: () => Promise<T>) => Promise<T>

export function inTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return (run) => {
    const next = last.then(run, run)
    last = next.catch(() => {})
    return next
  }
}
