/**
 * The history in a dump of another writer is shown as that writer shows it, and survives repeated dumps and imports.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { startServer, type TestServer } from '../support/server.js'
import { archiveOf, entriesOf, indexAt, type Line, linesOf, metadata, tempDir } from './archives.js'
import { place } from './import.js'

const at = (second: number): string => `2030-01-01T00:00:${String(10 + second).padStart(2, '0')}.5Z`

const legacy = {
  message: 'the dump is under way',
  code: 'dump_already_processing',
  type: 'invalid_request',
  link: 'https://docs.test/errors#dump_already_processing',
}
const unheardOf = {
  message: 'the moon is in the way',
  code: 'moon_in_the_way',
  type: 'celestial',
  link: 'https://docs.test/errors#moon_in_the_way',
}

/** A member of a history: its line from the other writer, and the details in the API. */
interface Past {
  readonly line: Line
  readonly details?: Line
}

const history: Readonly<Record<string, Past>> = {
  'an upgrade': {
    line: {
      type: { upgradeDatabase: { from: [1, 49, 0] } },
      details: { UpgradeDatabase: { from: [1, 49, 0], to: [1, 53, 0] } },
    },
    details: { upgradeFrom: 'v1.49.0', upgradeTo: 'v1.53.0' },
  },
  'a failed upgrade': {
    line: {
      status: 'failed',
      error: unheardOf,
      type: { upgradeDatabase: { from: [1, 12, 8] } },
      details: { UpgradeDatabase: { from: [1, 12, 8], to: [1, 13, 0] } },
    },
    details: { upgradeFrom: 'v1.12.8', upgradeTo: 'v1.13.0' },
  },
  'a change of the network': {
    line: {
      type: { networkTopologyChange: { state: 'finished', in: { remotes: {} }, out: null } },
      details: { NetworkTopologyChange: { moved_documents: 7, message: 'all moved' } },
    },
    details: { movedDocuments: 7, message: 'all moved' },
  },
  'a canceled change of the network': {
    line: {
      status: 'canceled',
      canceledBy: 0,
      type: { networkTopologyChange: { state: 'waiting', unread: [{ 'a key': null }, 1.5, ''] } },
      details: { NetworkTopologyChange: { moved_documents: 0, message: '' } },
    },
    details: { movedDocuments: 0, message: '' },
  },
  'a change of the network without an object': {
    line: {
      type: { networkTopologyChange: {} },
      details: { NetworkTopologyChange: { moved_documents: 0, message: '' } },
    },
    details: { movedDocuments: 0, message: '' },
  },
  'a change of a rule': {
    line: { type: { dsrUpdate: { secret: { of: ['another', 'service'] } } }, indexUid: '.meili_dsr' },
  },
  'a change of a rule with details of its own form': {
    line: {
      type: { dsrUpdate: { createOrUpdate: { uid: 'winter', some_member: { isActive: true } } } },
      indexUid: '.meili_dsr',
      details: { DsrUpdate: { createOrUpdate: { uid: 'winter', some_member: { isActive: true } } } },
    },
    details: { createOrUpdate: { uid: 'winter', some_member: { isActive: true } } },
  },
  'a dump that failed by a legacy code': {
    line: {
      status: 'failed',
      error: legacy,
      type: { dumpCreation: { keys: [], instance_uid: null } },
      details: { Dump: { dump_uid: null } },
    },
    details: { dumpUid: null },
  },
  'a dump with unknown details': {
    line: {
      type: { dumpCreation: { keys: [], instance_uid: null } },
      details: { Dump: { dump_uid: '20300101-000000000', moon_phase: [1] } },
    },
    details: { dumpUid: '20300101-000000000', moonPhase: [1] },
  },
  'an upgrade without versions': { line: { type: { upgradeDatabase: { from: [1, 49, 0] } } } },
}

const lines: readonly Line[] = Object.values(history).map(({ line }, uid) => ({
  uid,
  batchUid: uid,
  indexUid: null,
  status: 'succeeded',
  enqueuedAt: at(uid),
  startedAt: at(uid),
  finishedAt: at(uid),
  ...line,
}))
const batches = Object.values(history).map(({ details }, uid) => ({
  uid,
  details: details ?? {},
  stats: { totalNbTasks: 1, status: { succeeded: 1 }, types: { upgradeDatabase: 1 }, indexUids: {} },
  embedderStats: { total: 3, failed: 1, lastError: 'too busy' },
  startedAt: at(uid),
  finishedAt: at(uid),
  enqueuedAt: { earliest: at(uid), oldest: at(uid) },
  stopReason: 'unspecified',
}))

async function foreign(t: ExecutionContext): Promise<string> {
  const archive = join(await tempDir(t), 'foreign.dump')
  const jsonl = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('')
  const entries = [
    { path: 'tasks/queue.jsonl', content: jsonl(lines) },
    { path: 'batches/queue.jsonl', content: jsonl(batches) },
  ]
  await writeFile(archive, archiveOf([metadata, ...indexAt('plants'), ...entries]))
  return archive
}

async function shown(server: TestServer) {
  const from = lines.length - 1
  const [tasks, found] = await Promise.all([
    server.get(`/tasks?from=${from}`),
    server.get(`/batches?from=${from}`),
  ])
  return { tasks: tasks.body.results.toReversed(), batches: found.body.results.toReversed() }
}

test('the history of another writer survives three generations of dumps', async (t) => {
  const dumpDirectory = join(await tempDir(t), 'dumps')
  let archive = await foreign(t)
  let before: { readonly entries: object; readonly shown: object } | null = null
  for (const generation of ['first', 'second', 'third']) {
    const { directory, start } = await place(t)
    await start(archive)
    const server = await startServer(t, { directory, dumpDirectory })
    const answers = await shown(server)
    for (const [uid, [name, { line, details }]] of Object.entries(history).entries()) {
      t.deepEqual(answers.tasks[uid]?.details, details as never, `${name}, ${generation}`)
      t.deepEqual(answers.tasks[uid]?.error, (line.error ?? null) as never, `${name}, ${generation}`)
      t.like(answers.tasks[uid], { uid, status: lines[uid]?.status }, `${name}, ${generation}`)
      t.deepEqual(answers.batches[uid]?.details, (details ?? {}) as never, `${name}, ${generation}`)
      t.like(answers.batches[uid], {
        stats: { embedderRequests: { total: 3, failed: 1, lastError: 'too busy' } },
      })
    }
    const task = await server.settle(t, server.post('/dumps'))
    t.is(task.status, 'succeeded', JSON.stringify(task))
    archive = join(dumpDirectory, `${task.details.dumpUid}.dump`)
    const entries = await entriesOf(t, archive)
    const dumped = {
      tasks: linesOf(entries, 'tasks/queue.jsonl').slice(0, lines.length),
      batches: linesOf(entries, 'batches/queue.jsonl').slice(0, lines.length),
    }
    for (const [uid, line] of lines.entries()) {
      const { type, ...rest } = line
      t.like(dumped.tasks[uid], rest, `${uid}, ${generation}`)
      // An upgrade without versions in its details does not know its old version.
      if (uid !== lines.length - 1) t.deepEqual(dumped.tasks[uid]?.type, type, `${uid}, ${generation}`)
    }
    t.deepEqual(dumped.batches, batches)
    if (before !== null) t.deepEqual({ entries: dumped, shown: answers }, before)
    before = { entries: dumped, shown: answers }
  }
})

test('a finished task with a private object can be deleted, and is not canceled', async (t) => {
  const { directory, start } = await place(t)
  await start(await foreign(t))
  const server = await startServer(t, { directory })
  const canceling = await server.settle(t, server.post('/tasks/cancel?statuses=succeeded,canceled,enqueued'))
  t.is(canceling.status, 'succeeded')
  t.is(canceling.details.canceledTasks, 0)
  const kept = (await server.get('/tasks?types=networkTopologyChange')).body
  t.deepEqual(
    kept.results.map(({ status }: { status: string }) => status),
    ['succeeded', 'canceled', 'succeeded'],
  )
  const deleting = await server.settle(t, server.delete('/tasks?types=networkTopologyChange'))
  t.is(deleting.details.deletedTasks, 3)
  t.is((await server.get('/tasks?types=networkTopologyChange')).body.total, 0)
})
