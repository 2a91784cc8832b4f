/** Runs functions one after another, in the order of the calls. Each sees the results stored by the previous one. */
export type InTurn = <T>(run: () => Promise<T>) => Promise<T>

export function inTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return (run) => {
    const next = last.then(run, run)
    last = next.catch(() => {})
    return next
  }
}
