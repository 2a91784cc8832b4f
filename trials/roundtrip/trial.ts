/** Fills an instance, copies it in every way to every engine, and compares each copy with it. */
import { rm } from 'node:fs/promises'
import { type Verdict, verdicts } from './compare.js'
import type { Corpus } from './corpus.js'
import { type Facts, factsOf } from './facts.js'
import { type Amounts, fill } from './fill.js'
import { type Cleanup, type Instance, startInstance } from './instance.js'
import { type Copied, ways } from './ways.js'

export interface CopyReport extends Omit<Copied, 'copy'> {
  readonly way: string
  readonly from: string
  readonly to: string
  readonly verdicts: readonly Verdict[]
}

export interface RoundtripPlan {
  readonly source: string
  /** Engines of the copies. */
  readonly engines: readonly string[]
  readonly corpus: Corpus
  readonly amounts: Amounts
  /** Called with a line of progress. */
  say(line: string): void
  /** Called after each copy. */
  copied?(report: CopyReport): void
}

export async function roundtrip(cleanup: Cleanup, plan: RoundtripPlan): Promise<readonly CopyReport[]> {
  const { source: from, engines, corpus, amounts, say } = plan
  const source = await startInstance(cleanup, from)
  const began = performance.now()
  await fill(source, corpus, amounts)
  say(`${from}: filled in ${((performance.now() - began) / 1000).toFixed(1)} s`)
  const reports: CopyReport[] = []
  for (const way of ways)
    for (const engine of engines.filter((one) => way.crosses || one === from)) {
      const before = await factsOf(source, corpus.searches)
      const { copy, ...taken } = await way.copy(cleanup, source, engine)
      const after = comparable(await factsOf(copy, corpus.searches), before)
      const report = {
        ...{ way: way.name, from, to: engine, ...taken },
        verdicts: verdicts(before, after, way.parts),
      }
      plan.copied?.(report)
      reports.push(report)
      await removed(copy)
    }
  await removed(source)
  return reports
}

/**
 * Removes facts that only the copy has: a dump contains its own dump task as the newest task, and the target of a
 * migration has the default keys of a new instance.
 */
function comparable(copy: Facts, source: Facts): Facts {
  const newest = copy.tasks.at(-1) ?? ''
  const isDump = copy.tasks.length === source.tasks.length + 1 && newest.includes('"type":"dumpCreation"')
  const uids = new Set(source.keys.map(uidOf))
  return {
    ...copy,
    keys: copy.keys.filter((key) => uids.has(uidOf(key))),
    ...(isDump && { tasks: copy.tasks.slice(0, -1), batches: copy.batches.slice(0, -1) }),
  }
}

const uidOf = (key: string): string => (JSON.parse(key) as { readonly uid: string }).uid

async function removed(instance: Instance): Promise<void> {
  await instance.kill()
  await rm(instance.directory, { recursive: true, force: true, maxRetries: 5 })
}
