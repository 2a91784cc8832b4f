/**
 * Objects with invalid JSON and valid checksums. Rules:
 * 1. A follower keeps serving, logs once which record or checkpoint is invalid and why, and continues once it is
 *    repaired.
 * 2. A start from the bucket ends with a single such line and leaves no copy that looks complete.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { copyState } from '../../ts/instance/index.js'
import { LaunchError } from '../../ts/launch/index.js'
import { restoreMoment } from '../../ts/replication/follow/copy-directory.js'
import {
  type CopyTarget,
  checkpointKey,
  DamagedBodyError,
  Follower,
  type InstanceCopy,
  Log,
  LogState,
  openCopy,
  Reachability,
  recordKey,
  resumeCopy,
} from '../../ts/replication/index.js'
import { type Body, decodeBody, encodeBody } from '../../ts/replication/log/body.js'
import { asLaunchError, type OpenedBucket, originOf } from '../../ts/replication/open-bucket.js'
import { replicaSchema } from '../../ts/tasks/index.js'
import { fallback } from '../support/engines.js'
import { memoryStore } from '../support/memory-store.js'
import { add, ended, quiet, temporaryDirectory } from '../tasks/test-queue.js'
import { instance, makeCheckpoint, shipAll, shipping } from './instance-world.js'
import { type Spoilt, spoiltCases, spoiltObject } from './spoilt-json.js'

const never = new AbortController().signal
const repeating = { wait: async () => undefined, onRetry: () => undefined }

/** A log with a checkpoint, then a record of changes and the fence of a second writer. */
async function spoiltWorld(t: ExecutionContext) {
  const directory = await temporaryDirectory(t)
  const source = await instance(t, fallback, join(directory, 'source'))
  const { tasks } = source.opened
  const memory = memoryStore()
  const sent = await shipping(source, memory)
  source.opened.start()
  const write = async (id: number) => {
    await ended(tasks, (await add(tasks, 'a', [{ id, t: 'word' }])).taskUid)
    await source.opened.instance.putValue('end', id)
  }
  await write(1)
  await makeCheckpoint(sent)
  await shipAll(source, sent)
  await write(2)
  const changes = sent.writer.next
  await shipAll(source, sent)
  const [base] = await sent.log.checkpoints(never)
  const fence = (await shipping(source, memory)).writer.epoch
  const reads = new Map<string, number>()
  const store = {
    ...memory,
    get: (key: string, options: Parameters<typeof memory.get>[1]) => {
      reads.set(key, (reads.get(key) ?? 0) + 1)
      return memory.get(key, options)
    },
  }
  const keyOf = (of: Spoilt): string =>
    of === 'base' ? checkpointKey(base!) : recordKey(of === 'fence' ? fence : changes)
  const setup = (copied: string) => ({
    ...{ log: new Log({ store, ...repeating }), store, repeating, directory: copied },
    ...{ until: null, progress: () => undefined },
  })
  const named = { base: base!, fence, changes }
  return { directory, objects: memory.objects, store, reads, keyOf, setup, named, log: sent.log }
}

type SpoiltWorld = Awaited<ReturnType<typeof spoiltWorld>>

/** Pattern of the record or checkpoint that a message must name. */
const nameOf = ({ named }: SpoiltWorld, of: Spoilt): RegExp =>
  of === 'base'
    ? new RegExp(`the checkpoint at log record ${named.base} cannot be read: `)
    : new RegExp(`log record ${of === 'fence' ? named.fence : named.changes}\\b`)

test('a start from a bucket with invalid JSON ends with one line and leaves no complete copy', async (t) => {
  t.timeout(600_000)
  const world = await spoiltWorld(t)
  const bucket: OpenedBucket = {
    ...{ store: world.store, log: new Log({ store: world.store, ...repeating }), repeating },
    ...{ requireFit: async () => undefined, onFailure: () => undefined, reachability: new Reachability() },
  }
  const start = async (directory: string): Promise<void> => {
    const origin = (await originOf(bucket, never))!
    const request = {
      ...{ bucket, origin, directory, version: '0.0.0', signal: never, log: quiet },
      progress: () => undefined,
    }
    await restoreMoment(request, { seq: world.named.fence })
  }
  for (const spoilt of spoiltCases) {
    const key = world.keyOf(spoilt.of)
    const whole = world.objects.get(key)!
    world.objects.set(key, spoiltObject(spoilt, whole))
    const directory = join(world.directory, `started-${spoilt.of}`)
    const label = `${spoilt.of}, ${spoilt.what}`
    const told = asLaunchError(await t.throwsAsync(start(directory), undefined, label))
    if (!(told instanceof LaunchError)) return t.fail(`${label}: ${(told as Error).stack}`)
    t.is(told.exitCode, 1, label)
    t.regex(told.message, nameOf(world, spoilt.of), label)
    t.regex(told.message, spoilt.told, label)
    t.false(told.message.includes('\n'), label)
    t.is(await copyState(directory), 'copying', label)
    world.objects.set(key, whole)
  }
  t.is(({} as { readonly polluted?: unknown }).polluted, undefined)
  const mended = join(world.directory, 'started-body')
  await start(mended)
  t.is(await copyState(mended), 'whole')
})

/** A follower with a copy. Records its log lines and the changes it applies. */
function following(
  t: ExecutionContext,
  copy: InstanceCopy | null,
  target: CopyTarget,
  open: () => Promise<InstanceCopy>,
) {
  const told: string[] = []
  const given: string[] = []
  let meet: () => void = () => undefined
  const follower = new Follower({
    ...{ open, copy, intervalMs: 1, newestCheckpoint: async () => null, onTruncated: () => t.fail() },
    prepare: async () => t.fail(),
    target: {
      adopt: (id) => {
        given.push(id)
        return target.adopt(id)
      },
      apply: (changes, position) => {
        given.push(`to ${position}`)
        return target.apply(changes, position)
      },
      drop: (id) => {
        given.push(id)
        return target.drop(id)
      },
    },
    log: {
      info: () => meet(),
      warn: (_, message) => t.fail(message),
      error: (facts) => void told.push(String((facts as { readonly err: Error }).err)),
    },
  })
  t.teardown(() => follower.stop())
  /** Resolves once the log is followed again. */
  const again = () =>
    new Promise<void>((resolve) => {
      meet = resolve
    })
  return { follower, told, given, again }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1))
}

test('a follower keeps serving while a record is invalid and continues once it is repaired', async (t) => {
  t.timeout(600_000)
  const world = await spoiltWorld(t)
  const { objects, named, reads } = world
  const later = [named.changes, named.fence].map(
    (seq) => [recordKey(seq), objects.get(recordKey(seq))!] as const,
  )
  for (const [key] of later) objects.delete(key)
  const directory = join(world.directory, 'followed')
  const { copy, replica, target } = await openCopy(world.setup(directory), never)
  t.teardown(() => replica.close())
  while (!(await copy.advance(target, never)));
  const { follower, told, given, again } = following(t, copy, target, async () => copy)
  follower.start()
  const files = () => readdir(join(directory, 'indexes'), { recursive: true })
  for (const [kinds, [key, whole]] of [
    [['rows', 'body', 'head'], later[0]!],
    [['fence'], later[1]!],
  ] as const) {
    for (const spoilt of spoiltCases.filter(({ of }) => (kinds as readonly Spoilt[]).includes(of))) {
      const label = `${spoilt.of}, ${spoilt.what}`
      const [position, before] = [follower.figures().position, await files()]
      given.length = 0
      told.length = 0
      objects.set(key, spoiltObject(spoilt, whole))
      await until(() => told.length > 0)
      const from = reads.get(key) ?? 0
      // It is read repeatedly and logged once.
      await until(() => (reads.get(key) ?? 0) > from + 2)
      t.is(told.length, 1, label)
      t.regex(told[0]!, /^Damaged(Body|Record)Error: /, label)
      t.regex(told[0]!, nameOf(world, spoilt.of), label)
      t.regex(told[0]!, spoilt.told, label)
      t.is(follower.figures().position, position, label)
      t.deepEqual([given, await files()], [[], before], label)
      const mended = again()
      objects.delete(key)
      await mended
    }
    objects.set(key, whole)
    const seq = Number(key.slice('log/'.length))
    await until(() => follower.figures().position === seq)
  }
  t.true(given.includes(`to ${named.fence}`))
  t.is(({} as { readonly polluted?: unknown }).polluted, undefined)
})

test('a follower logs an invalid checkpoint and opens its copy once it is repaired', async (t) => {
  t.timeout(600_000)
  const world = await spoiltWorld(t)
  const { objects, reads } = world
  const key = world.keyOf('base')
  const whole = objects.get(key)!
  const directory = join(world.directory, 'followed')
  const { copy, replica, target } = await openCopy(world.setup(directory), never)
  t.teardown(() => replica.close())
  while (!(await copy.advance(target, never)));
  for (const spoilt of spoiltCases.filter(({ of }) => of === 'base')) {
    objects.set(key, spoiltObject(spoilt, whole))
    const { follower, told, given, again } = following(t, null, target, () =>
      resumeCopy(world.setup(directory), copy.position, never),
    )
    const from = reads.get(key) ?? 0
    follower.start()
    await until(() => (reads.get(key) ?? 0) > from + 2)
    t.is(told.length, 1, spoilt.what)
    t.regex(told[0]!, /^DamagedCheckpointError: /, spoilt.what)
    t.regex(told[0]!, nameOf(world, 'base'), spoilt.what)
    t.regex(told[0]!, spoilt.told, spoilt.what)
    t.deepEqual(given, [], spoilt.what)
    const mended = again()
    objects.set(key, whole)
    await mended
    t.is(follower.figures().position, copy.position, spoilt.what)
    await follower.stop()
  }
})

test('an invalid record does not discard the open records before it', (t) => {
  const table = (uid: string): string => JSON.stringify({ keys: { rows: [[uid, '{}', 1]], gone: [] } })
  const body = (last: number, isOpen: boolean, rows: string): Body => ({
    ...{ outbox: 'one', last, schema: replicaSchema, isOpen, rows },
    ...{ adopted: [], files: {}, inline: Buffer.alloc(0) },
  })
  const state = new LogState()
  t.is(state.take(1, body(1, true, table('a'))), null)
  t.throws(
    () => state.take(2, decodeBody(2, encodeBody(body(2, false, '{"keys":{"rows":[1],"gone":[]}}')))),
    {
      instanceOf: DamagedBodyError,
      message: /the rows of log record 2: keys\.rows\[0\] is not a list/,
    },
  )
  t.deepEqual(
    state.take(2, body(2, false, table('b')))?.keys?.rows.map(([uid]) => uid),
    ['a', 'b'],
  )
})
