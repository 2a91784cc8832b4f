/** Runs what it is given one after the other, in the order asked, so that each sees what the last one stored. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

export function inTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const next = last.then(work, work)
    last = next.catch(() => {})
    return next
  }
}
