/** The ways to copy an instance: dump, snapshot, migration. */
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '../../__test__/support/command.js'
import type { Facts } from './facts.js'
import { type Cleanup, type Instance, masterKey, startInstance, succeeded } from './instance.js'

export interface Copied {
  readonly copy: Instance
  /** Duration of writing the archive or of the migration, in milliseconds. */
  readonly writeMs: number
  /** Duration of the start from the archive, in milliseconds; 0 for a migration. */
  readonly startMs: number
  /** Size of the archive; null for a migration. */
  readonly bytes: number | null
}

export interface Way {
  readonly name: 'dump' | 'snapshot' | 'migrate'
  /** True if the copy may use the other engine. */
  readonly crosses: boolean
  readonly parts: readonly (keyof Facts)[]
  copy(cleanup: Cleanup, source: Instance, engine: string): Promise<Copied>
}

const common = [
  'answers',
  'approximate',
  'documents',
  'settings',
  'rules',
  'keys',
  'webhooks',
  'features',
] as const satisfies readonly (keyof Facts)[]
const withHistory = [...common, 'indexes', 'tasks', 'batches'] as const satisfies readonly (keyof Facts)[]

/** Copies through an archive, then removes it. */
const byArchive = (name: 'dump' | 'snapshot'): Way['copy'] => {
  return async (cleanup, source, engine) => {
    const began = performance.now()
    const { taskUid } = await source.json<{ taskUid: number }>('POST', `/${name}s`)
    await succeeded(source, taskUid)
    const writeMs = performance.now() - began
    const folder = join(source.directory, `${name}s`)
    const archive = join(folder, (await readdir(folder))[0] ?? '')
    const { size: bytes } = await stat(archive)
    const copy = await startInstance(cleanup, engine, [`--import-${name}`, archive])
    await rm(archive)
    return { copy, writeMs, startMs: copy.startMs, bytes }
  }
}

export const ways: readonly Way[] = [
  { name: 'dump', crosses: true, parts: withHistory, copy: byArchive('dump') },
  { name: 'snapshot', crosses: false, parts: withHistory, copy: byArchive('snapshot') },
  {
    name: 'migrate',
    crosses: true,
    parts: common,
    async copy(cleanup, source, engine) {
      const copy = await startInstance(cleanup, engine)
      const began = performance.now()
      const { code, lines, errors } = await runCommand([
        ...['migrate', '--from', source.url, '--from-key', masterKey],
        ...['--to', copy.url, '--to-key', masterKey, '--state', join(copy.directory, 'state.json')],
      ])
      const writeMs = performance.now() - began
      if (code !== 0)
        throw new Error(`the migration exited with ${code}: ${[...lines, ...errors].join('; ')}`)
      return { copy, writeMs, startMs: 0, bytes: null }
    },
  },
]
