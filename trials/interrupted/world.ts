/** Builds the instance that the operations dump, copy, import, upgrade and compact, and reads its answers. */
import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ServerProcess, type Started } from '../../__test__/support/server-process.js'
import { settled } from '../faults/load.js'

/** Timeout for a start or a task on a busy machine. */
export const WAIT_MS_MAX = 180_000

const DOCUMENTS = 900
const WITH_VECTORS = 120

export interface World {
  readonly engine: string
  /** Data directory of a stopped server. */
  readonly data: string
  /** Dump and snapshot of it. */
  readonly dump: string
  readonly snapshot: string
  /** Its answers, which must stay the same after every interruption. */
  readonly answers: string
}

const things = Array.from({ length: DOCUMENTS }, (_, id) => ({
  id,
  title: `thing ${id % 97} of ${id}`,
  text: Array.from({ length: 24 }, (_, word) => ((id * 31 + word * 17 + 7) % 9_973).toString(36)).join(' '),
  kind: `kind ${id % 11}`,
  size: (id * 7) % 101,
  _vectors: { own: id < WITH_VECTORS ? [id % 13, id % 7, 1, (id % 5) / 3] : null },
}))

const settings = {
  filterableAttributes: ['kind', 'size'],
  sortableAttributes: ['size'],
  embedders: { own: { source: 'userProvided', dimensions: 4 } },
}

/** All requests to the instance: method, path, body. */
const questions: readonly (readonly [string, string, object?])[] = [
  ['GET', '/indexes'],
  ['GET', '/keys'],
  ['GET', '/webhooks'],
  ['GET', '/indexes/things/settings'],
  ['GET', `/indexes/things/documents?limit=${DOCUMENTS}&retrieveVectors=true`],
  ['GET', '/indexes/others/documents?limit=100'],
  ['POST', '/indexes/things/search', { q: 'thing 5', facets: ['kind', 'size'], limit: 50 }],
  ['POST', '/indexes/things/search', { filter: 'size > 50 AND kind = "kind 3"', sort: ['size:desc'] }],
  ['POST', '/indexes/things/search', { vector: [3, 2, 1, 0], hybrid: { embedder: 'own' }, limit: 10 }],
]

/** Fields that differ between two answers. */
const volatileFields = new Set(['processingTimeMs', 'updatedAt', 'requestUid'])

/** @throws if a server does not listen */
export function listening(started: Started): ServerProcess {
  if (started.kind === 'listening') return started.server
  throw new Error(`the server did not start: ${started.kind}: ${started.errors.slice(0, 1_500)}`)
}

/** Reads the answers of the instance, without volatile fields. */
export async function answersOf(server: ServerProcess): Promise<string> {
  const answers: unknown[] = []
  for (const [method, path, body] of questions) {
    const { status, body: answer } = await server.call(method, path, body)
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`)
    answers.push(answer)
  }
  return JSON.stringify(answers, (key, value) => (volatileFields.has(key) ? undefined : value))
}

/** Builds the instance in several commits, and an archive of each kind. */
export async function makeWorld(engine: string, directory: string): Promise<World> {
  const data = join(directory, 'data.ms')
  const archives = join(directory, 'archives')
  const args = ['--dump-dir', archives, '--snapshot-dir', archives]
  const start = async (directory: string): Promise<ServerProcess> =>
    listening(await ServerProcess.start({ data: directory, engine, args, startMsMax: WAIT_MS_MAX }))
  const server = await start(data)
  const ask = async (method: string, path: string, body?: unknown): Promise<void> => {
    const answer = await server.call(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    await settled(server)
  }
  await ask('PATCH', '/indexes/things/settings', settings)
  await ask('POST', '/indexes/things/documents', things.slice(0, 500))
  await ask('POST', '/indexes/things/documents', things.slice(400))
  await ask('POST', '/indexes/things/documents/delete-batch', [1, 2, 3, 450])
  await ask('POST', '/indexes/others/documents', things.slice(0, 20))
  await ask('POST', '/webhooks', { url: 'http://127.0.0.1:9/nobody' })
  const { body } = await server.call('GET', '/tasks?statuses=failed')
  if ((body as { total: number }).total > 0) throw new Error(JSON.stringify(body))
  const answers = await answersOf(server)
  await server.stop(WAIT_MS_MAX)

  const copy = join(directory, 'copy.ms')
  await cp(data, copy, { recursive: true })
  const archiving = await start(copy)
  for (const path of ['/dumps', '/snapshots']) await archiving.call('POST', path)
  await settled(archiving)
  await archiving.stop(WAIT_MS_MAX)
  await rm(copy, { recursive: true })
  const names = await readdir(archives)
  const named = (end: string): string => join(archives, names.find((name) => name.endsWith(end)) ?? '')
  return { engine, data, dump: named('.dump'), snapshot: named('.snapshot'), answers }
}
