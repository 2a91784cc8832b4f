/** A temporary copy of an index in this process, so that settings are tried without a change to the original. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { counted } from '../../../parse/index.js'
import { settingRoutes } from '../../../settings/index.js'
import { acceptedTask, finishedTask, openPeer, PageReader, type Peer } from '../../../transfer/index.js'
import type { CommandOutput } from '../../command/index.js'
import { openAtRest } from '../at-rest.js'
import type { JsonObject } from '../json-argument.js'
import { pathOf } from '../task-output.js'
import { SEARCH_MS } from './limits.js'

export interface Original {
  readonly peer: Peer
  readonly index: string
  readonly primaryKey: string
  /** Its settings, as in API answers. */
  readonly settings: JsonObject
}

/** A copy, whose settings may change. */
export interface Copy {
  readonly peer: Peer
  readonly index: string
  /** Merges settings and waits until they are in effect. */
  change(settings: JsonObject): Promise<void>
}

/**
 * Calls `use` with a copy of an index. The copy is removed at the end, also after a failure or an interruption.
 * @param signal interrupts the copying and calls to the copy
 */
export async function withCopy<T>(
  original: Original,
  { output, signal }: { readonly output: CommandOutput; readonly signal: AbortSignal },
  use: (copy: Copy) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'siftd-judge-'))
  try {
    const instance = await openAtRest(join(folder, 'data'), { processesTasks: true, isNew: true })
    try {
      const address = { flag: 'db-path', url: 'http://copy.invalid', key: null, shownAs: 'the copy' } as const
      const peer = openPeer(instance, address, { attemptsMax: 1, signal })
      const copy = copyIn(peer)
      await copy.change(copiedSettings(original.settings))
      await copyDocuments(original, peer, output)
      return await use(copy)
    } finally {
      await instance.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const COPY = 'copy'

const copyIn = (peer: Peer): Copy => ({
  peer,
  index: COPY,
  async change(settings) {
    const task = await peer.json<{ taskUid: number }>('PATCH', `${pathOf(COPY)}/settings`, {
      body: settings,
      shape: acceptedTask,
    })
    await finishedTask(peer, task, 'changing settings of the copy', 'correct the settings')
  },
})

/**
 * Returns all settings for a copy; null resets those that answers leave out. Foreign keys, chats, and embedders that
 * call providers are left out, because other indexes and keys are not copied. All fields are displayed. The time limit
 * of searches is long, so that figures do not depend on the load of the machine.
 */
export function copiedSettings(settings: JsonObject): JsonObject {
  const all = Object.fromEntries(settingRoutes.map(({ name }) => [name, settings[name] ?? null]))
  const { foreignKeys, chat, displayedAttributes, embedders, ...others } = all
  return { ...others, embedders: ownEmbedders(embedders), searchCutoffMs: SEARCH_MS }
}

/** Embedders whose vectors are in the documents. */
const ownEmbedders = (embedders: unknown): JsonObject =>
  Object.fromEntries(
    Object.entries((embedders ?? {}) as Readonly<Record<string, JsonObject | null>>).filter(
      ([, embedder]) => embedder?.source === 'userProvided',
    ),
  )

async function copyDocuments(
  { peer: from, index, primaryKey, settings }: Original,
  to: Peer,
  output: CommandOutput,
): Promise<void> {
  const hasVectors = Object.keys(ownEmbedders(settings.embedders)).length > 0
  const reader = new PageReader(from, index, hasVectors ? { retrieveVectors: true } : {})
  const path = `${pathOf(COPY)}/documents?primaryKey=${encodeURIComponent(primaryKey)}`
  for (let count = 0; ; ) {
    const { lines, total } = await reader.read(count)
    if (lines.length === 0) return
    const task = await to.json<{ taskUid: number }>('POST', path, {
      body: lines.join('\n'),
      shape: acceptedTask,
    })
    await finishedTask(to, task, 'copying documents', 'judge the index without --settings and --tune')
    count += lines.length
    output.progress('copying', count, total, counted(count, 'document'))
    if (count >= total) return
  }
}
