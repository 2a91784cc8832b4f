/**
 * Judges what clients saw of servers that share a bucket. Times are from one monotonic clock of the clients.
 *
 * 1. Epochs of acknowledgements do not fall: once a write was acknowledged by the leader of an epoch, no write that was
 *    sent later is acknowledged in a former epoch.
 * 2. The position of a server never falls.
 * 3. A strong read finds every task that was acknowledged before it began, and every document that a strong read had
 *    shown as added before that.
 */

/** A write that was answered with 202. */
export interface Acknowledgement {
  readonly id: number
  readonly task: number
  /** Epoch of the leader that acknowledged it; null: it was fenced when it answered. */
  readonly epoch: number | null
  readonly sentAt: number
  readonly answeredAt: number
}

/** Position of a server, from `GET /health`. */
export interface Seen {
  readonly server: string
  readonly position: number
  readonly sentAt: number
  readonly answeredAt: number
}

/** A strong read that was answered with 200. */
export interface StrongRead {
  readonly server: string
  readonly kind: 'task' | 'document'
  readonly asked: readonly number[]
  readonly found: readonly number[]
}

/** Returns a line for each write that a former leader acknowledged. */
export function formerEpochs(all: readonly Acknowledgement[]): readonly string[] {
  const known = all.flatMap((write) => (write.epoch === null ? [] : [{ ...write, epoch: write.epoch }]))
  const bySending = known.toSorted((one, other) => one.sentAt - other.sentAt)
  const byAnswer = known.toSorted((one, other) => one.answeredAt - other.answeredAt)
  const problems: string[] = []
  let [next, epoch] = [0, Number.NEGATIVE_INFINITY]
  for (const write of bySending) {
    for (; next < byAnswer.length && byAnswer[next]!.answeredAt < write.sentAt; next++)
      epoch = Math.max(epoch, byAnswer[next]!.epoch)
    if (write.epoch < epoch)
      problems.push(
        `document ${write.id} was acknowledged in epoch ${write.epoch} after epoch ${epoch} began`,
      )
  }
  return problems
}

/** Returns a line for each position that is below one that the same server had shown before. */
export function fallenPositions(all: readonly Seen[]): readonly string[] {
  const problems: string[] = []
  const highest = new Map<string, Seen>()
  for (const one of all.toSorted((a, b) => a.answeredAt - b.answeredAt)) {
    const { server, position } = one
    const before = highest.get(server)
    if (before === undefined || position > before.position) highest.set(server, one)
    else if (position < before.position && before.answeredAt < one.sentAt)
      problems.push(`${server} was at ${position} after it had been at ${before.position}`)
  }
  return problems
}

/** Returns a line for each strong read that lacks something. */
export const incompleteReads = (all: readonly StrongRead[]): readonly string[] =>
  all.flatMap(({ server, kind, asked, found }) => {
    const missing = asked.filter((one) => !found.includes(one))
    return missing.length === 0 ? [] : [`a strong read on ${server} lacks ${kind} ${missing.join(', ')}`]
  })
