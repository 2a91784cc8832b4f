/** Damages a data directory and judges how a server, `siftd verify` and `siftd repair` handle it. */
import { cp, readdir, readFile, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type LogLine, logLines, ServerProcess } from '../../__test__/support/server-process.js'
import type { Repair } from '../../ts/instance/index.js'
import { changedContent, indexOf, repaired, verified } from './commands.js'
import { type Fact, type Facts, factsOf, type Questions } from './facts.js'
import { type Fault, inflict } from './faults.js'
import { START_MS_MAX, STOP_MS_MAX, type World } from './world.js'

/** Outcomes of a fault, from best to worst. */
export const classes = [
  'harmless',
  'rebuilt',
  'reported',
  'refused',
  'without effect',
  'stack trace',
  'hang',
  'not named',
  'spread',
  'not repaired',
  'silently wrong',
] as const

export type Class = (typeof classes)[number]

/**
 * Classes that fail a trial. `not named`: answers change, but `siftd verify` finds nothing. `spread`: damage to one
 * index affects another. `not repaired`: `siftd repair` fails or changes data that it should have kept.
 */
export const failing: ReadonlySet<Class> = new Set<Class>([
  'stack trace',
  'hang',
  'not named',
  'spread',
  'not repaired',
  'silently wrong',
])

export interface Verdict {
  readonly fault: Fault
  /** Description of the damage. */
  readonly done: string
  readonly class: Class
  /** Reasons for the class. */
  readonly reasons: readonly string[]
  /** True if `siftd verify` found the damage; null if it did not run. */
  readonly isNamed: boolean | null
  /** Result of `siftd repair`; null if it did not run. */
  readonly repair: 'restored' | 'set aside' | null
}

/** Answers of undamaged copies of a world. */
export interface Expectations {
  readonly questions: Questions
  /** After the waiting tasks ran. */
  readonly after: Facts
  /** Before the waiting tasks ran. */
  readonly before: Facts
  /** Messages that a start with undamaged data also logs. */
  readonly usualMessages: ReadonlySet<string>
}

/** Damages a copy of a world below `scratch`, starts a server on it, reads all answers, and stops it. */
export async function trial(
  world: World,
  expected: Expectations,
  fault: Fault,
  given: { readonly seed: number; readonly scratch: string; readonly repairs: boolean },
): Promise<Verdict> {
  const { seed, scratch } = given
  const copy = join(scratch, `fault-${fault.number}`)
  await rm(copy, { recursive: true, force: true })
  await cp(world.directories[fault.ending], copy, { recursive: true })
  const done = await inflict(fault, copy, world, seed)
  const unasked = { isNamed: null, repair: null }
  try {
    if (done === null) {
      const reasons = ['this damage does not apply to this file']
      return { fault, done: 'nothing', class: 'without effect', reasons, ...unasked }
    }
    const damaged = await namesBelow(copy)
    const damagedBytes = await bytesOf(join(copy, fault.path))
    const named = await verified(copy)
    if (fault.path !== 'tasks/lock' && (await bytesOf(join(copy, fault.path))) !== damagedBytes)
      return { fault, done, class: 'not named', reasons: ['verify changed the file'], ...unasked }
    const outcome = await run(copy, expected)
    const judged = judge(outcome, expected, fault)
    const verdict = (found: Class, ...reasons: readonly string[]): Verdict => {
      const isNamed = named.isSound === null ? null : !named.isSound
      return { fault, done, class: found, reasons: [...reasons, ...judged.reasons], isNamed, repair: null }
    }
    const lost = await lostData(copy, damaged, fault, judged.class)
    if (lost.length > 0) return verdict('silently wrong', ...lost)
    if (named.isSound === null) return verdict('stack trace', ...named.lines)
    if (failing.has(judged.class)) return verdict(judged.class)
    if (judged.class === 'reported' || judged.class === 'refused') {
      // verify cannot detect a VERSION changed into another valid one. The refused start names the version it found.
      const isVersion = fault.path === 'VERSION' && judged.class === 'refused'
      if (named.isSound && !isVersion) return verdict('not named')
      const spread = await spreadOf(judged, { ...fault, done }, world)
      if (spread.length > 0) return verdict('spread', ...spread)
    }
    const repair = given.repairs ? await repairTrial(world, expected, fault, given) : null
    if (repair !== null && typeof repair === 'object') return verdict('not repaired', ...repair)
    const isRebuilt = judged.class === 'harmless' && (await bytesOf(join(copy, fault.path))) !== damagedBytes
    return { ...verdict(isRebuilt ? 'rebuilt' : judged.class), repair }
  } finally {
    await rm(copy, { recursive: true, force: true })
    await rm(`${copy}.config`, { recursive: true, force: true })
  }
}

/** Returns a line for each index with changed answers although the damaged file belongs to another index. */
async function spreadOf(
  { reported }: Judgement,
  fault: Fault & { readonly done: string },
  { directories }: World,
): Promise<readonly string[]> {
  const own = await indexOf(fault, directories[fault.ending])
  // A shared file, such as the task store, may affect all indexes. Directories may have been exchanged.
  if (own === null || fault.kind.endsWith('/')) return []
  const [, other] = /^exchanged with (.*)$/.exec(fault.done) ?? []
  const alsoDamaged =
    other === undefined ? null : await indexOf({ ...fault, path: other }, directories[fault.ending])
  const others = new Set(reported.filter((index) => index !== null && index !== own && index !== alsoDamaged))
  return [...others].map((index) => `SPREAD to ${index}, although the file belongs to ${own}`)
}

/**
 * Repairs another copy with the same damage and reads the answers of a server on it.
 * @returns the result of the repair, or a line for each problem
 */
async function repairTrial(
  world: World,
  { questions, before, after }: Expectations,
  fault: Fault,
  { seed, scratch }: { readonly seed: number; readonly scratch: string },
): Promise<Verdict['repair'] | readonly string[]> {
  const copy = join(scratch, `repair-${fault.number}`)
  await rm(copy, { recursive: true, force: true })
  try {
    await cp(world.directories[fault.ending], copy, { recursive: true })
    const own = await indexOf(fault, copy)
    await inflict(fault, copy, world, seed)
    const { code, lines } = await repaired(copy)
    if (code === null) return lines
    const outcome = await run(copy, { questions })
    if (outcome.kind !== 'answered')
      return [`the server did not answer after the repair`, outcome.errors, ...lines]
    const losing = lines.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Repair] : []))
    const lost = losing.filter(({ losses }) => losses.length > 0)
    const isStoreLost = lines.some((line) => line.includes('made a new task store'))
    // The damage may have exchanged the directory with that of another index.
    const spared = new Set(lost.flatMap(({ indexUid }) => (indexUid === null ? [] : [indexUid])))
    const isOwn = (index: string): boolean => index === own || fault.kind.endsWith('/')
    const foreign = own === null ? [] : [...spared].filter((index) => !isOwn(index))
    if (foreign.length > 0) return [`undamaged indexes lost data: ${foreign.join()}`, ...lines]
    const changed = changedContent(outcome.facts, [after, before], spared, isStoreLost)
    if (changed.length > 0) return [...changed, ...lines]
    return spared.size > 0 ? 'set aside' : 'restored'
  } finally {
    await rm(copy, { recursive: true, force: true })
    await rm(`${copy}.config`, { recursive: true, force: true })
  }
}

/** How a server behaved on a directory. */
export type Outcome =
  | { readonly kind: 'ended'; readonly code: number | null; readonly errors: string }
  | { readonly kind: 'hung'; readonly when: string; readonly errors: string }
  | { readonly kind: 'answered'; readonly facts: Facts; readonly errors: string; readonly exit: unknown }

/** Starts a server on a directory, reads all answers and stops it. */
export async function run(data: string, { questions }: Pick<Expectations, 'questions'>): Promise<Outcome> {
  // The server must detect from the directory which engine wrote it.
  const started = await ServerProcess.start({ data, engine: 'auto', startMsMax: START_MS_MAX })
  if (started.kind === 'ended') return started
  if (started.kind === 'hung') return { ...started, when: 'while it started' }
  const { server } = started
  let facts: Facts
  try {
    facts = await factsOf(server, questions)
  } catch (error) {
    await server.kill()
    return { kind: 'hung', when: String(error), errors: server.errors }
  }
  const exit = await server.stop(STOP_MS_MAX)
  return { kind: 'answered', facts, errors: server.errors, exit }
}

interface Judgement {
  readonly class: Class
  readonly reasons: readonly string[]
  /** Uids of the indexes whose answers report a damage; null for answers about no index. */
  readonly reported: readonly (string | null)[]
}

function judge(outcome: Outcome, expected: Expectations, fault: Fault): Judgement {
  if (outcome.kind === 'hung') {
    return { class: 'hang', reasons: [outcome.when, ...lastLines(outcome.errors)], reported: [] }
  }
  if (outcome.kind === 'ended') {
    const lines = outcome.errors.split('\n').filter((line) => line !== '' && !line.startsWith('{'))
    const isOneLine = lines.length === 1 && lines[0]!.startsWith('siftd: ') && outcome.code === 1
    return { class: isOneLine ? 'refused' : 'stack trace', reasons: lines, reported: [] }
  }
  if (outcome.exit !== 0) {
    const reason = `shutdown ended with ${outcome.exit}`
    return { class: outcome.exit === 'hung' ? 'hang' : 'silently wrong', reasons: [reason], reported: [] }
  }
  const warnings = logLines(outcome.errors).filter(
    ({ level, msg }) => (level === 'WARN' || level === 'ERROR') && !expected.usualMessages.has(msg),
  )
  const reasons: string[] = []
  let isWrong = false
  const reportedFor: (string | null)[] = []
  for (const difference of differences(expected, outcome.facts)) {
    const { name, index, reported } = difference
    if (reported !== null) {
      reportedFor.push(index)
      reasons.push(`${name}: ${reported}`)
    } else if (warnings.some((line) => names(line, fault, index))) {
      reportedFor.push(index)
      reasons.push(`${name}: differs, and the log gives the reason`)
    } else {
      isWrong = true
      reasons.unshift(`WRONG ${name}: ${difference.shown}`)
    }
  }
  reasons.push(...warnings.map(({ text }) => text.slice(0, 400)))
  const found = isWrong ? 'silently wrong' : reportedFor.length > 0 ? 'reported' : 'harmless'
  return { class: found, reasons, reported: reportedFor }
}

/** Returns true if a log line names the damaged file, its index, or the task store that it belongs to. */
function names({ text }: LogLine, { path }: Fault, index: string | null): boolean {
  const [top, id] = path.split('/')
  if (text.includes(path) || (index !== null && text.includes(`"${index}"`))) return true
  if (top === 'tasks') return /tasks\.db|task store/.test(text)
  return top === 'indexes' && id !== undefined && text.includes(id)
}

interface Difference {
  readonly name: string
  readonly index: string | null
  /** Error code that reports the difference; null if there is none. */
  readonly reported: string | null
  readonly shown: string
}

function differences({ before, after }: Expectations, found: Facts): readonly Difference[] {
  const failed = new Set(
    [...found].flatMap(([name, { code, index }]) =>
      name.startsWith('task ') && code !== null && after.get(name)?.code === null ? [index] : [],
    ),
  )
  const all: Difference[] = []
  for (const name of new Set([...after.keys(), ...found.keys()])) {
    const wanted = after.get(name)
    const fact = found.get(name)
    const index = fact?.index ?? wanted?.index ?? null
    if (isSame(wanted, fact)) continue
    // If the index's task failed, the index must be as it was before that task.
    if (failed.has(index) && isSame(before.get(name), fact)) continue
    const reported = fact !== undefined && fact.code !== null && fact.code !== wanted?.code ? fact.code : null
    all.push({ name, index, reported, shown: contrast(wanted, fact) })
  }
  // A fact about an index may be missing if other facts about it have an error code.
  const broken = new Set(
    all.flatMap(({ reported, index }) => (reported === null || index === null ? [] : [index])),
  )
  return all.map((difference) =>
    broken.has(difference.index ?? '') && found.get(difference.name) === undefined
      ? { ...difference, reported: 'missing, other routes give the reason' }
      : difference,
  )
}

const isSame = (wanted: Fact | undefined, found: Fact | undefined): boolean =>
  wanted?.status === found?.status && wanted?.code === found?.code && wanted?.value === found?.value

/** Shows both values around their first difference. */
function contrast(wanted: Fact | undefined, found: Fact | undefined): string {
  const [left, right] = [wanted, found].map((fact) =>
    fact === undefined ? 'nothing' : `${fact.status} ${fact.code ?? ''} ${fact.value}`,
  )
  const length = Math.max(left!.length, right!.length)
  let at = 0
  while (at < length && left![at] === right![at]) at++
  const cut = (text: string) => text.slice(Math.max(0, at - 40), at + 120)
  return `expected ${cut(left!)} | found ${cut(right!)}`
}

/** Returns a line for each removed path that the server should have kept. */
async function lostData(
  copy: string,
  damaged: ReadonlySet<string>,
  { path }: Fault,
  judged: Class,
): Promise<string[]> {
  const left = await namesBelow(copy)
  const setAside = [...left].filter((name) => name.startsWith('lost/'))
  const gone = [...damaged].filter(
    (name) => !left.has(name) && !setAside.some((other) => other.includes(basename(name))),
  )
  const [top, id] = path.split('/')
  const isData = (name: string) => {
    // A refused start changes nothing. Closing a database may still checkpoint and remove its write-ahead log.
    if (judged === 'refused') return !/(\.db-(wal|shm)|\/lock)$/.test(name)
    // A repair may need the files of the damaged index.
    if (judged === 'reported' && top === 'indexes' && id !== undefined && name.startsWith(`indexes/${id}/`)) {
      return !name.endsWith('/lock')
    }
    return /^indexes\/[0-9a-f-]+$/.test(name)
  }
  return gone.filter(isData).map((name) => `LOST ${name} was deleted`)
}

async function namesBelow(directory: string): Promise<ReadonlySet<string>> {
  return new Set(await readdir(directory, { recursive: true }))
}

/** Returns the bytes of a file, or null if it does not exist. */
async function bytesOf(path: string): Promise<string | null> {
  return readFile(path, 'latin1').catch(() => null)
}

const lastLines = (errors: string): readonly string[] => errors.trimEnd().split('\n').slice(-3)
