/**
 * The protocol by which writers take turns over a bucket, as a model that is searched exhaustively.
 *
 * The bucket holds a log of numbered slots, each filled by a create that succeeds once. A writer scans to the end of the
 * log, takes the next slot with a fence, and then fills slots with data of its own. Requests are applied at any later
 * moment or never answered; writers stall anywhere and start again; entries that a base covers are collected.
 */

/** What is searched: how many writers, and how often each may do what. */
export interface Bounds {
  readonly writers: number
  /** Entries of data that a writer appends. */
  readonly entries: number
  /** Answers that a writer may lose. */
  readonly lostAnswers: number
  /** Starts of a writer after it was fenced. */
  readonly restarts: number
  /** Slots of the log. */
  readonly slots: number
}

/** What the protocol demands. Without any of them an acknowledged entry is lost. */
export interface Rules {
  /** Fences are never collected as garbage. */
  readonly keepsFences: boolean
  /** A fence counts only if no base at or beyond it was there when it was looked for afterwards. */
  readonly checksBase: boolean
}

export interface Verdict {
  readonly states: number
  /** The first violation that was found. */
  readonly violation: string | null
}

/** `F<writer>` for a fence, `D<writer>.<number>` for data; empty for a slot that is free. */
type Entry = string

type Phase =
  | 'idle'
  | 'scanning'
  /** Has found a free slot, to be taken with a fence. */
  | 'fencing'
  | 'awaitingFence'
  /** Does not know whether its fence was written, and reads the slot. */
  | 'readingFence'
  /** Its fence is in the log; the newest base is looked for. */
  | 'checking'
  | 'active'
  | 'awaitingData'
  | 'readingData'
  /** Has seen that another writer took its slot, and acknowledges nothing more. */
  | 'fenced'

interface Writer {
  readonly phase: Phase
  readonly slot: number
  readonly appended: number
  readonly lost: number
  readonly restarts: number
}

/** A create under way. */
interface Request {
  readonly writer: number
  readonly slot: number
  readonly entry: Entry
  readonly outcome: 'pending' | 'created' | 'refused'
}

interface State {
  /** By slot, from 1; what is there now. */
  readonly log: readonly Entry[]
  /** By slot; what a reader of the whole log would have seen. */
  readonly history: readonly Entry[]
  /** The last slot that the newest base covers. */
  readonly base: number
  /** `<slot>=<entry>`, for what clients were told is safe. */
  readonly acknowledged: readonly string[]
  readonly requests: readonly Request[]
  readonly writers: readonly Writer[]
}

/** Searches every state that can be reached. */
export function search(bounds: Bounds, rules: Rules): Verdict {
  const empty: readonly Entry[] = Array(bounds.slots + 1).fill('')
  const writer: Writer = { phase: 'idle', slot: 0, appended: 0, lost: 0, restarts: 0 }
  const first: State = {
    log: empty,
    history: empty,
    base: 0,
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
  for (const [slot, entry] of state.log.entries()) {
    const isGarbage = entry !== '' && slot <= state.base && (entry.startsWith('D') || !rules.keepsFences)
    if (isGarbage) yield { ...state, log: state.log.with(slot, '') }
  }
  for (const i of state.writers.keys()) yield* stepsOfWriter(state, i, bounds, rules)
}

/** The bucket carries out a create. */
function applied(state: State, request: Request): State {
  const { slot, entry } = request
  const others = state.requests.filter((one) => one !== request)
  if (state.log[slot] !== '') return { ...state, requests: [...others, { ...request, outcome: 'refused' }] }
  // Readers begin behind the base, so that an entry that is created again before it is never read.
  const isRead = slot > state.base && state.history[slot] === ''
  return {
    ...state,
    log: state.log.with(slot, entry),
    history: isRead ? state.history.with(slot, entry) : state.history,
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
  const entry = isFence ? `F${i}` : `D${i}.${appended}`
  const sent = (): State =>
    become(
      { phase: isFence ? 'awaitingFence' : 'awaitingData' },
      { requests: [...state.requests, { writer: i, slot, entry, outcome: 'pending' }] },
    )
  const written = (requests: readonly Request[]): State =>
    isFence
      ? become({ phase: 'checking' }, { requests })
      : become(
          { phase: 'active', slot: slot + 1, appended: appended + 1 },
          { requests, acknowledged: [...new Set([...state.acknowledged, `${slot}=${entry}`])] },
        )
  switch (phase) {
    case 'idle':
      yield become({ phase: 'scanning', slot: state.base + 1 })
      break
    case 'scanning':
      if (slot <= bounds.slots)
        yield become(state.log[slot] === '' ? { phase: 'fencing' } : { slot: slot + 1 })
      break
    case 'fencing':
      yield sent()
      break
    case 'active':
      if (slot <= bounds.slots && appended < bounds.entries) yield sent()
      if (slot - 1 > state.base) yield { ...state, base: slot - 1 }
      break
    case 'awaitingFence':
    case 'awaitingData': {
      const reading = isFence ? 'readingFence' : 'readingData'
      for (const request of state.requests) {
        const isItsOwn = request.writer === i && request.slot === slot && request.entry === entry
        if (!isItsOwn || request.outcome === 'pending') continue
        const requests = state.requests.filter((one) => one !== request)
        yield request.outcome === 'created' ? written(requests) : become({ phase: reading }, { requests })
      }
      if (lost < bounds.lostAnswers) yield become({ phase: reading, lost: lost + 1 })
      break
    }
    case 'readingFence':
    case 'readingData':
      if (state.log[slot] === entry) yield written(state.requests)
      else if (state.log[slot] === '') yield sent()
      else {
        if (isFence && restarts < bounds.restarts)
          yield become({ phase: 'idle', slot: 0, restarts: restarts + 1 })
        yield become({ phase: 'fenced' })
      }
      break
    case 'checking':
      if (!rules.checksBase || state.base < slot) yield become({ phase: 'active', slot: slot + 1 })
      else {
        if (restarts < bounds.restarts) yield become({ phase: 'idle', slot: 0, restarts: restarts + 1 })
        yield become({ phase: 'fenced' })
      }
      break
    case 'fenced':
  }
}

function violationOf({ history, acknowledged }: State): string | null {
  for (const told of acknowledged) {
    const [slot, entry] = told.split('=')
    if (history[Number(slot)] !== entry) return `the acknowledged entry ${told} is not in the log`
  }
  let owner = ''
  let isEnded = false
  for (const [slot, entry] of history.entries()) {
    if (slot === 0) continue
    if (entry === '') {
      isEnded = true
      continue
    }
    if (isEnded) return `the log has a gap before slot ${slot}`
    if (entry.startsWith('F')) owner = entry.slice(1)
    else if (entry.slice(1).split('.')[0] !== owner)
      return `the entry ${entry} stands at slot ${slot}, behind the fence of writer ${owner}`
  }
  return null
}

/** The same text for states that differ in the order of their requests alone. */
function keyOf({ log, history, base, acknowledged, requests, writers }: State): string {
  const parts = [
    log.join(),
    history.join(),
    base,
    [...acknowledged].sort().join(),
    requests
      .map(({ writer, slot, entry, outcome }) => `${writer}${slot}${entry}${outcome[0]}`)
      .sort()
      .join(),
    writers.map((one) => `${one.phase}${one.slot}.${one.appended}.${one.lost}.${one.restarts}`).join(),
  ]
  return parts.join('|')
}
