import { statfs } from 'node:fs/promises'
import test from 'ava'
import type { Engine } from '../../ts/engine/index.js'
import { type Traits, traitsOf } from '../../ts/instance/index.js'
import {
  openUsage,
  type SearchEvent,
  searchEvents,
  type UsageEvent,
  usageEvents,
} from '../../ts/telemetry/index.js'
import type { CollectedEvent } from '../support/collector.js'
import { drives, launches } from './drives.js'
import { metricNames } from './names.js'
import { instanceUid, reportedServer, runOf } from './world.js'

const DAY_MS = 86_400_000

test('every documented metric is reported with the expected value, and no data of users is reported', async (t) => {
  const sent: CollectedEvent[] = []
  const { server, reporter } = await reportedServer(
    t,
    async (batch) => {
      sent.push(...(JSON.parse(batch) as { readonly batch: readonly CollectedEvent[] }).batch)
    },
    { wrapEngine: withSlowSearches, snapshots: { directory: 'unused', keptMax: 1 } },
  )
  const driven = new Set<string>()
  const check = (at: string, name: string, tree: unknown, expected: unknown, neutral: unknown): void => {
    const value = figureIn(tree, name)
    const where = `${at}: ${name}`
    if (expected instanceof RegExp) t.regex(String(value), expected, where)
    else t.deepEqual(value, expected, where)
    t.notDeepEqual(value, neutral, `${where} is not neutral`)
    driven.add(name)
  }

  await reporter.report()
  const untouched = sent[0]?.traits
  t.is(sent[1]?.event, 'Launched')
  for (const { of, run, events } of drives) {
    sent.length = 0
    await run(server, t)
    await reporter.report()
    t.notRegex(JSON.stringify(sent), /alpha|title|genre|films|books|example|here|127\.0\.0\.1/, of)
    for (const event of sent) t.like(event, { userId: instanceUid, context: { app: { version: '9.8.7' } } })
    for (const [event, figures] of Object.entries(events)) {
      const properties = sent.find((each) => each.event === event)?.properties
      for (const [name, value] of Object.entries(figures))
        check(event, name, properties, value, neutralFigure(event, name))
    }
  }
  check('every event', 'context.app.version', sent[0], '9.8.7', undefined)

  for (const { traits, ...launched } of launches) {
    const instance = { ...server.parts, run: runOf(launched) }
    const shown = await traitsOf(instance, Date.now() - 3 * DAY_MS)
    for (const [name, value] of Object.entries(traits)) {
      const isOfMachine = name.startsWith('system.')
      check('identify', name, shown, value, isOfMachine ? null : figureIn(untouched, name))
    }
  }
  const { databaseSize } = (await server.get('/stats')).body
  const run = runOf({})
  const shown: Traits = await traitsOf({ ...server.parts, run }, Date.now())
  check('identify', 'stats.database_size', shown, databaseSize, 0)
  const { blocks, bsize } = await statfs(server.parts.directory)
  t.true((figureIn(shown, 'system.disk_size') as number) >= blocks * bsize)
  // No build uses a GPU.
  t.is(figureIn(shown, 'infos.gpu_enabled'), false)
  for (const name of ['system.disk_size', 'infos.gpu_enabled']) driven.add(name)

  const names = Object.values(metricNames).flat()
  t.is(names.length, 175)
  t.deepEqual(
    names.filter((name) => !driven.has(name)),
    [],
  )
})

/** An engine that reports searches for `slow` as cut off by the time limit. */
function withSlowSearches(engine: Engine): Engine {
  return new Proxy(engine, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (name !== 'search') return value.bind(target)
      return async (...given: Parameters<Engine['search']>) => {
        const answer = await target.search(...given)
        const degraded = Buffer.from(given[1]).includes('slow')
        return { ...answer, facts: { ...answer.facts, degraded } }
      }
    },
  })
}

/** Returns the figure with a dotted name. */
const figureIn = (tree: unknown, name: string): unknown =>
  name
    .split('.')
    .reduce((node, part) => (node as Readonly<Record<string, unknown>> | undefined)?.[part], tree)

/** Returns the figure of an event without observations. */
function neutralFigure(published: string, name: string): unknown {
  const usage = openUsage()
  const keyOf = (events: Readonly<Record<string, { readonly name: string }>>) =>
    Object.keys(events).find((key) => events[key]?.name === published)
  const search = keyOf(searchEvents) as SearchEvent | undefined
  if (search === undefined) usage.observe(keyOf(usageEvents) as UsageEvent, {})
  else usage.searches(search)
  return usage.report()[0]?.figures[name]
}
