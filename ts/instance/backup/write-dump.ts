/** Writes an instance to a dump. */
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { documentPages, makeDirectory, syncDirectory } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import { type IndexSettings, parsedSettings } from '../../settings/index.js'
import type { Rule } from '../../tasks/index.js'
import {
  type DumpedBatch,
  type DumpedTask,
  type DumpSource,
  type FrozenDocuments,
  type FrozenInstance,
  isDiskFull,
  noSpace,
  type WriteDump,
} from '../../tasks/index.js'
import { CHATS_STORED_AS, type StoredChatWorkspace } from '../chat-workspaces.js'
import type { ArchiveWriter } from './archive-writer.js'
import { DUMP_VERSION } from './dump-version.js'
import { learnedDimensions, settingsAsSet } from './embedder-facts.js'
import { fragmentEmbedders, withoutRegeneration } from './fragments.js'
import {
  chatWorkspaceForm,
  featuresForm,
  indexMetadataForm,
  lengthsForm,
  NO_VERSION,
  networkForm,
  type StoredFeatures,
  type StoredNetwork,
  webhooksForm,
} from './instance-forms.js'
import { keyForm } from './key-lines.js'
import { RULES_INDEX, ruleForm } from './rules.js'
import { batchLine, taskLine } from './task-lines.js'

interface DumpSetup {
  /** The directory of dumps, created if it does not exist. */
  readonly directory: string
  /** `major.minor.patch` of this build. */
  readonly version: string
  readonly instanceUid: string
}

/** The network of an instance before it is configured. */
const noNetwork: StoredNetwork = {
  self: null,
  remotes: {},
  shards: {},
  leader: null,
  version: NO_VERSION,
}

/**
 * Writes dumps into a directory as `{uid}.dump`. The names of unfinished files begin with a dot and the uid of the
 * instance. The next dump removes the remains of a killed process.
 */
export function dumperTo(setup: DumpSetup): WriteDump {
  const directory = resolve(setup.directory)
  const prefix = `.siftd-${setup.instanceUid}-`
  const removeLeftovers = async (): Promise<void> => {
    for (const name of await readdir(directory))
      if (name.startsWith(prefix)) await rm(join(directory, name), { recursive: true, force: true })
  }
  return async (source) => {
    const uid = dumpUid(source.startedAt)
    const paths = {
      archive: join(directory, `${prefix}${uid}.archive`),
      entry: join(directory, `${prefix}${uid}.entry`),
    }
    // The copy of the task store has the mode of the store, so a private directory keeps other users from reading it.
    const staged = join(directory, `${prefix}${uid}.files`)
    try {
      await makeDirectory(directory, 0o700)
      await removeLeftovers()
      await mkdir(staged, { mode: 0o700 })
      const { ArchiveWriter } = await import('./archive-writer.js')
      const archive = new ArchiveWriter(paths, source.signal)
      try {
        const instance = await source.freeze(join(staged, 'tasks.db'))
        try {
          await fill(archive, source, instance, setup)
        } finally {
          await instance.release()
        }
        source.step('compress the dump', { finished: STEPS.length - 1, total: STEPS.length })
        await archive.end()
      } catch (error) {
        await archive.abandon()
        throw error
      }
      await rename(paths.archive, join(directory, `${uid}.dump`))
      await removeLeftovers()
      await syncDirectory(directory)
      return uid
    } catch (error) {
      await removeLeftovers().catch(() => undefined)
      throw failure(error, directory)
    }
  }
}

/** The uid of a dump: `YYYYMMDD-HHMMSSmmm` in UTC. */
function dumpUid(at: Date): string {
  const [date = '', time = ''] = at
    .toISOString()
    .replace(/[-:.Z]/g, '')
    .split('T')
  return `${date}-${time}`
}

/** The steps in order, with their names in the API. */
const STEPS = [
  'start the dump creation',
  'dump the api keys',
  'dump the tasks',
  'dump the batches',
  'dump the indexes',
  'dump the experimental features',
  'dump the chat completion settings',
  'dump the webhooks',
  'compress the dump',
] as const

async function fill(
  archive: ArchiveWriter,
  source: DumpSource,
  instance: FrozenInstance,
  setup: DumpSetup,
): Promise<void> {
  const enter = (name: (typeof STEPS)[number]): void =>
    source.step(name, { finished: STEPS.indexOf(name), total: STEPS.length })

  enter('start the dump creation')
  const dumpDate = source.startedAt.toISOString()
  await archive.add(
    'metadata.json',
    json({ dumpVersion: `V${DUMP_VERSION}`, dbVersion: setup.version, dumpDate }),
  )
  await archive.add('instance_uid.uuid', setup.instanceUid)

  enter('dump the api keys')
  const keys = await instance.keys()
  await archive.add('keys.jsonl', keys.map((key) => `${json(keyForm.write(key))}\n`).join(''))

  enter('dump the tasks')
  await archive.addLong('tasks/queue.jsonl', taskLines(source, instance))
  for await (const { task, content } of instance.tasks()) {
    if (content?.kind !== 'documents') continue
    await archive.addLong(`tasks/update_files/${task.uid}.jsonl`, instance.documents(content))
  }
  enter('dump the batches')
  await archive.addLong('batches/queue.jsonl', batchLines(instance.batches()))

  enter('dump the indexes')
  const { indexes, rules } = instance
  for (const [position, index] of indexes.entries()) {
    source.count('index', position, indexes.length)
    await addIndex(archive, source, index)
  }
  if (rules.length > 0) await addRules(archive, rules, source.startedAt)

  enter('dump the experimental features')
  const features = ((await instance.value('experimentalFeatures')) ?? {}) as StoredFeatures
  await archive.add('experimental-features.json', json(featuresForm.write(features)))
  const network = ((await instance.value('network')) ?? noNetwork) as StoredNetwork
  await archive.add('network.json', json(networkForm.write(network)))

  enter('dump the chat completion settings')
  for (const name of await instance.valueNames(CHATS_STORED_AS)) {
    const workspace = (await instance.value(name)) as StoredChatWorkspace
    const path = `chat-completions-settings/${name.slice(CHATS_STORED_AS.length)}.json`
    await archive.add(path, json(chatWorkspaceForm.write(workspace)))
  }

  enter('dump the webhooks')
  const hooks = (await instance.webhooks()).map(({ uuid, url, headers }) => [uuid, { url, headers }] as const)
  await archive.add('webhooks.json', json(webhooksForm.write({ webhooks: Object.fromEntries(hooks) })))
}

const json = (value: unknown): string => JSON.stringify(value)

async function* taskLines(source: DumpSource, instance: FrozenInstance): AsyncGenerator<string> {
  let finished = 0
  for await (const dumped of instance.tasks() as AsyncIterable<DumpedTask>) {
    yield `${json(taskLine(dumped))}\n`
    source.count('task', ++finished, instance.taskCount)
  }
}

async function* batchLines(batches: AsyncIterable<DumpedBatch>): AsyncGenerator<string> {
  for await (const batch of batches) yield `${json(batchLine(batch))}\n`
}

async function addIndex(archive: ArchiveWriter, source: DumpSource, index: FrozenDocuments): Promise<void> {
  const { uid, primaryKey, createdAt, updatedAt } = index.entry
  const folder = `indexes/${uid}`
  const content = await readIndex()
  if (content === null) return
  const { settings, addDocuments } = content
  await archive.add(
    `${folder}/metadata.json`,
    json(indexMetadataForm.write({ uid, primaryKey, createdAt, updatedAt })),
  )
  // Secrets are in clear, because the other instance needs them to call its embedders.
  await archive.add(`${folder}/settings.json`, json(settingsAsSet(settings)))
  const lengths = learnedDimensions(settings)
  if (Object.keys(lengths).length > 0)
    await archive.add(`${folder}/embedders.json`, json(lengthsForm.write(lengths)))
  await addDocuments()

  /**
   * Reads the complete index before any of its entries is written; null if it is damaged, so that the dump omits it.
   */
  function readIndex() {
    return index.unlessDamaged(async () => {
      const settings = parsedSettings(await index.settings())
      const addDocuments = await archive.stage(`${folder}/documents.jsonl`, documents(settings))
      return { settings, addDocuments }
    })
  }

  async function* documents(settings: IndexSettings): AsyncGenerator<Buffer> {
    const fragments = fragmentEmbedders(settings)
    let finished = 0
    for await (const page of documentPages((request) => index.list(request), uid)) {
      if (source.signal.aborted) return
      yield fragments.size === 0 ? page.lines : withoutRegeneration(page.lines, fragments)
      finished += page.documents
      source.count('document', finished, page.total)
    }
  }
}

async function addRules(archive: ArchiveWriter, rules: readonly Rule[], startedAt: Date): Promise<void> {
  const folder = `indexes/${RULES_INDEX}`
  const at = startedAt.toISOString()
  const metadata = { uid: RULES_INDEX, primaryKey: 'uid', createdAt: at, updatedAt: at }
  await archive.add(`${folder}/metadata.json`, json(indexMetadataForm.write(metadata)))
  await archive.add(`${folder}/settings.json`, json({}))
  await archive.addLong(`${folder}/documents.jsonl`, lines(rules))
}

async function* lines(rules: readonly Rule[]): AsyncGenerator<string> {
  for (const rule of rules) yield `${json(ruleForm.write(rule))}\n`
}

/** Adds the directory to an error of the file system; returns other errors unchanged. */
function failure(error: unknown, directory: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (error instanceof ApiError || code === undefined || syscall === undefined) return error
  if (isDiskFull(error)) return noSpace(`a dump in ${directory}`)
  return new ApiError(
    'io_error',
    `the dump could not be written to ${directory}: ${(error as Error).message}`,
  )
}
