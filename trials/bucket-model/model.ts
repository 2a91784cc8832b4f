/**
 * Model of the protocol by which writers take turns on a bucket. `search` visits every reachable state.
 *
 * The bucket holds a log of numbered slots, each filled by a create that succeeds once. A writer scans to the end of
 * the log, writes a fence to the next slot, and then appends its data. The bucket may apply a request at any later
 * moment or never answer it. Writers may stall anywhere and restart. Records covered by a checkpoint are garbage
 * collected.
 */

/** Bounds of the search. */
export interface Bounds {
  readonly writers: number
  /** Data records that each writer appends. */
  readonly records: number
  /** Answers that each writer may lose. */
  readonly lostAnswers: number
  /** Restarts of each writer after it was fenced. */
  readonly restarts: number
  /** Slots of the log. */
  readonly slots: number
}

/** Precautions of the protocol. Without either, an acknowledged record can be lost. */
export interface Rules {
  /** Fences are never collected as garbage. */
  readonly keepsFences: boolean
  /** After writing a fence, the writer checks that no checkpoint covers the fence's slot. */
  readonly checksCheckpoint: boolean
}

export interface Verdict {
  readonly states: number
  /** The first violation that was found. */
  readonly violation: string | null
}

/** `F<writer>` for a fence, `D<writer>.<number>` for data, empty for a free slot. */
type LogRecord = string

type Phase =
  | 'idle'
  | 'scanning'
  /** Found a free slot and is about to write its fence there. */
  | 'fencing'
  | 'awaitingFence'
  /** Reads the slot because the answer to its fence was lost or a refusal. */
  | 'readingFence'
  /** Its fence is in the log. Reads the newest checkpoint. */
  | 'checking'
  | 'active'
  | 'awaitingData'
  | 'readingData'
  /** Saw that another writer took its slot. Acknowledges nothing more. */
  | 'fenced'

interface Writer {
  readonly phase: Phase
  readonly slot: number
  readonly appended: number
  readonly lost: number
  readonly restarts: number
}

/** A create request in flight. */
interface Request {
  readonly writer: number
  readonly slot: number
  readonly record: LogRecord
  readonly outcome: 'pending' | 'created' | 'refused'
}

interface State {
  /** Current content by slot, from 1. */
  readonly log: readonly LogRecord[]
  /** Content by slot that a reader of the complete log would have seen. */
  readonly history: readonly LogRecord[]
  /** The last slot that the newest checkpoint covers. */
  readonly checkpoint: number
  /** `<slot>=<record>` for each acknowledged record. */
  readonly acknowledged: readonly string[]
  readonly requests: readonly Request[]
  readonly writers: readonly Writer[]
}

/** Visits every reachable state. Stops at the first violation. */
export function search(bounds: Bounds, rules: Rules): Verdict {
  const empty: readonly LogRecord[] = Array(bounds.slots + 1).fill('')
  const writer: Writer = { phase: 'idle', slot: 0, appended: 0, lost: 0, restarts: 0 }
  const first: State = {
    log: empty,
    history: empty,
    checkpoint: 0,
    acknowledged: [],
    requests: [],
    writers: Array(bounds.writers).fill(writer),
  }
  const seen = new Set([keyOf(first)])
  let level = [first]
  while (level.length > 0) {
    const next: State[] = []
    for (const state of level) {
      const violation = violationOf(state)
      if (violation !== null) return { states: seen.size, violation }
      for (const following of stepsOf(state, bounds, rules)) {
        const key = keyOf(following)
        if (seen.has(key)) continue
        seen.add(key)
        next.push(following)
      }
    }
    level = next
  }
  return { states: seen.size, violation: null }
}

function* stepsOf(state: State, bounds: Bounds, rules: Rules): Generator<State> {
  for (const request of state.requests) if (request.outcome === 'pending') yield applied(state, request)
  for (const [slot, record] of state.log.entries()) {
    const isGarbage =
      record !== '' && slot <= state.checkpoint && (record.startsWith('D') || !rules.keepsFences)
    if (isGarbage) yield { ...state, log: state.log.with(slot, '') }
  }
  for (const i of state.writers.keys()) yield* stepsOfWriter(state, i, bounds, rules)
}

/** The bucket carries out a create request. */
function applied(state: State, request: Request): State {
  const { slot, record } = request
  const others = state.requests.filter((one) => one !== request)
  if (state.log[slot] !== '') return { ...state, requests: [...others, { ...request, outcome: 'refused' }] }
  // Readers start after the checkpoint, so a record created again in a covered slot is never read.
  const isRead = slot > state.checkpoint && state.history[slot] === ''
  return {
    ...state,
    log: state.log.with(slot, record),
    history: isRead ? state.history.with(slot, record) : state.history,
    requests: [...others, { ...request, outcome: 'created' }],
  }
}

function* stepsOfWriter(state: State, i: number, bounds: Bounds, rules: Rules): Generator<State> {
  const writer = state.writers[i] as Writer
  const { phase, slot, appended, lost, restarts } = writer
  const become = (change: Partial<Writer>, rest: Partial<State> = {}): State => ({
    ...state,
    ...rest,
    writers: state.writers.with(i, { ...writer, ...change }),
  })
  const isFence = phase === 'fencing' || phase === 'awaitingFence' || phase === 'readingFence'
  const record = isFence ? `F${i}` : `D${i}.${appended}`
  const sent = (): State =>
    become(
      { phase: isFence ? 'awaitingFence' : 'awaitingData' },
      { requests: [...state.requests, { writer: i, slot, record, outcome: 'pending' }] },
    )
  const written = (requests: readonly Request[]): State =>
    isFence
      ? become({ phase: 'checking' }, { requests })
      : become(
          { phase: 'active', slot: slot + 1, appended: appended + 1 },
          { requests, acknowledged: [...new Set([...state.acknowledged, `${slot}=${record}`])] },
        )
  switch (phase) {
    case 'idle':
      yield become({ phase: 'scanning', slot: state.checkpoint + 1 })
      break
    case 'scanning':
      if (slot <= bounds.slots)
        yield become(state.log[slot] === '' ? { phase: 'fencing' } : { slot: slot + 1 })
      break
    case 'fencing':
      yield sent()
      break
    case 'active':
      if (slot <= bounds.slots && appended < bounds.records) yield sent()
      if (slot - 1 > state.checkpoint) yield { ...state, checkpoint: slot - 1 }
      break
    case 'awaitingFence':
    case 'awaitingData': {
      const reading = isFence ? 'readingFence' : 'readingData'
      for (const request of state.requests) {
        const isItsOwn = request.writer === i && request.slot === slot && request.record === record
        if (!isItsOwn || request.outcome === 'pending') continue
        const requests = state.requests.filter((one) => one !== request)
        yield request.outcome === 'created' ? written(requests) : become({ phase: reading }, { requests })
      }
      if (lost < bounds.lostAnswers) yield become({ phase: reading, lost: lost + 1 })
      break
    }
    case 'readingFence':
    case 'readingData':
      if (state.log[slot] === record) yield written(state.requests)
      else if (state.log[slot] === '') yield sent()
      else {
        if (isFence && restarts < bounds.restarts)
          yield become({ phase: 'idle', slot: 0, restarts: restarts + 1 })
        yield become({ phase: 'fenced' })
      }
      break
    case 'checking':
      if (!rules.checksCheckpoint || state.checkpoint < slot)
        yield become({ phase: 'active', slot: slot + 1 })
      else {
        if (restarts < bounds.restarts) yield become({ phase: 'idle', slot: 0, restarts: restarts + 1 })
        yield become({ phase: 'fenced' })
      }
      break
    case 'fenced':
  }
}

function violationOf({ history, acknowledged }: State): string | null {
  for (const pair of acknowledged) {
    const [slot, record] = pair.split('=')
    if (history[Number(slot)] !== record) return `the acknowledged record ${pair} is not in the log`
  }
  let owner = ''
  let isEnded = false
  for (const [slot, record] of history.entries()) {
    if (slot === 0) continue
    if (record === '') {
      isEnded = true
      continue
    }
    if (isEnded) return `the log has a gap before slot ${slot}`
    if (record.startsWith('F')) owner = record.slice(1)
    else if (record.slice(1).split('.')[0] !== owner)
      return `record ${record} is in slot ${slot}, after the fence of writer ${owner}`
  }
  return null
}

/** Key of a state. States that differ only in the order of their requests have the same key. */
function keyOf({ log, history, checkpoint, acknowledged, requests, writers }: State): string {
  const parts = [
    log.join(),
    history.join(),
    checkpoint,
    [...acknowledged].sort().join(),
    requests
      .map(({ writer, slot, record, outcome }) => `${writer}${slot}${record}${outcome[0]}`)
      .sort()
      .join(),
    writers.map((one) => `${one.phase}${one.slot}.${one.appended}.${one.lost}.${one.restarts}`).join(),
  ]
  return parts.join('|')
}
