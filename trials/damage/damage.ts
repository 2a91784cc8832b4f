/** The damage trial: damages every kind of file in a data directory in every way. */
import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { logLines, ServerProcess } from '../../__test__/support/server-process.js'
import { questionsOf, readFacts } from './facts.js'
import { type Fault, faultOf, type Kinds, kindsOf } from './faults.js'
import { type Expectations, run, trial, type Verdict } from './trial.js'
import { buildWorld, PAUSED, START_MS_MAX, STOP_MS_MAX, type World } from './world.js'

export interface DamageTrial {
  readonly engine: string
  readonly seed: number
  /** Fault numbers, see `faultOf`. */
  readonly numbers: Iterable<number>
  /** Skips faults of files whose path does not begin with this. */
  readonly below?: string
  /** Maximum number of faults. */
  readonly faultsMax?: number
  /** True to also repair each damage, in a separate copy. */
  readonly repairs?: boolean
  /** Servers running at the same time. */
  readonly jobs: number
  /** Directory of the world and its copies. Reuses a world that was built there before. */
  readonly directory: string
  /** Called with each verdict. */
  readonly report?: (verdict: Verdict) => void
}

/** Damages copies of a data directory and judges how a server handles each. */
export async function damageTrial(setup: DamageTrial): Promise<readonly Verdict[]> {
  const { engine, seed, directory } = setup
  const world = await buildWorld(join(directory, `world-${engine}-${seed}`), engine, seed)
  const scratch = join(directory, `copies-${engine}-${seed}`)
  await mkdir(scratch, { recursive: true })
  const expected = await expectationsOf(world, scratch)
  const kinds = await kindsOf(world)
  const waiting = faultsOf(setup, kinds)
  const verdicts: Verdict[] = []
  const job = async () => {
    for (const fault of waiting) {
      const verdict = await trial(world, expected[fault.ending], fault, {
        seed,
        scratch,
        repairs: setup.repairs ?? false,
      })
      verdicts.push(verdict)
      setup.report?.(verdict)
    }
  }
  await Promise.all(Array.from({ length: setup.jobs }, job))
  await rm(scratch, { recursive: true, force: true })
  return verdicts
}

function* faultsOf(
  { numbers, seed, below = '', faultsMax = Number.POSITIVE_INFINITY }: DamageTrial,
  kinds: Kinds,
): Generator<Fault> {
  const paths = [...kinds.killed.values(), ...kinds.stopped.values()].flat()
  if (!paths.some((path) => path.startsWith(below)))
    throw new Error(`no path in the data directory begins with ${below}`)
  let count = 0
  for (const number of numbers) {
    if (count === faultsMax) return
    const fault = faultOf(kinds, number, seed)
    if (!fault.path.startsWith(below)) continue
    count++
    yield fault
  }
}

/** Reads the answers of undamaged copies, for both endings. */
async function expectationsOf(world: World, scratch: string): Promise<Record<Fault['ending'], Expectations>> {
  const of = async (ending: Fault['ending']): Promise<Expectations> => {
    const fresh = async (name: string) => {
      const copy = join(scratch, `undamaged-${ending}-${name}`)
      await rm(copy, { recursive: true, force: true })
      await cp(world.directories[ending], copy, { recursive: true })
      return copy
    }
    const data = await fresh('before')
    const { engine } = world
    const started = await ServerProcess.start({ data, engine, args: PAUSED, startMsMax: START_MS_MAX })
    if (started.kind !== 'listening') throw new Error(`an undamaged directory: ${started.errors}`)
    const questions = await questionsOf(started.server)
    const before = await readFacts(started.server, questions)
    await started.server.stop(STOP_MS_MAX)
    const outcome = await run(await fresh('after'), { questions })
    if (outcome.kind !== 'answered') throw new Error(`an undamaged directory: ${outcome.errors}`)
    const usual = logLines(outcome.errors).map(({ msg }) => msg)
    return { questions, before, after: outcome.facts, usualMessages: new Set(usual) }
  }
  return { killed: await of('killed'), stopped: await of('stopped') }
}
