/** Restores an instance from a dump. */
import { rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { checksumOf, openRestore, RESERVED_RULE_UID, type Restore, type Rule } from '../../tasks/index.js'
import { CHATS_STORED_AS } from '../chat-workspaces.js'
import { ArchiveError } from './archive-error.js'
import { type Unpacked, unpack } from './archive-reader.js'
import { readableOrigin } from './dump-version.js'
import { bytesOf, isKnown, jsonOf, linesOf, requiredJsonOf } from './entries.js'
import { fieldsOf, unexpected } from './fields.js'
import { chatWorkspaceForm, featuresForm, networkForm, webhooksForm } from './instance-forms.js'
import { keyForm } from './key-lines.js'
import { TRANSACTION_ROWS } from './limits.js'
import { batchOf, taskOf } from './read-tasks.js'
import { indexesIn, indexUidIn, restoreIndex } from './restore-index.js'
import type { RestoreRequest } from './restore-request.js'
import { RULES_INDEX, ruleForm } from './rules.js'
import type { Upload } from './task-kinds.js'

/** The part of a dump that is stored neither in the queue nor in the engine. */
interface Restored {
  /** null if the dump has none. */
  readonly instanceUid: string | null
}

/**
 * Fills a data directory from a dump. After an error the directory is incomplete and must be removed.
 * @throws ArchiveError if the archive is not a complete dump, or its version cannot be read
 */
export async function restoreDump(request: RestoreRequest): Promise<Restored> {
  const { archive, directory, version, signal, recognized, progress } = request
  const workspace = join(directory, 'unpacked')
  progress('unpacking', 0, 0)
  const unpacked = await unpack(archive, workspace, isKnown, signal)
  recognized(readableOrigin(await requiredJsonOf(unpacked, 'metadata.json'), version))
  const queue = await openRestore(directory)
  try {
    await restoreKeys(unpacked, queue)
    await restoreSwitches(unpacked, queue)
    await restoreChats(unpacked, queue)
    await restoreIndexes(unpacked, queue, request)
    await restoreRules(unpacked, queue)
    await restoreQueue(unpacked, queue, request)
    await queue.end()
    await restoreWebhooks(unpacked, queue)
  } finally {
    await queue.close()
  }
  const instanceUid = await instanceUidIn(unpacked)
  await rm(workspace, { recursive: true })
  return { instanceUid }
}

async function restoreIndexes(unpacked: Unpacked, queue: Restore, request: RestoreRequest): Promise<void> {
  const known = new Set<string>()
  for (const folder of indexesIn(unpacked)) {
    if (folder === RULES_INDEX) continue
    const uid = await indexUidIn(folder, unpacked)
    if (known.has(uid)) throw new ArchiveError(`indexes/${folder}: the index ${uid} occurs twice`)
    known.add(uid)
    await restoreIndex(folder, unpacked, queue, request)
  }
}

async function instanceUidIn(unpacked: Unpacked): Promise<string | null> {
  const path = 'instance_uid.uuid'
  const uid = (await bytesOf(unpacked, path))?.toString().trim() ?? null
  if (uid === null || isUuid(uid)) return uid
  throw unexpected(uid, path, 'a UUID')
}

const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)

async function restoreKeys(unpacked: Unpacked, queue: Restore): Promise<void> {
  const known = new Set<string>()
  for await (const { value, at } of linesOf(unpacked, 'keys.jsonl')) {
    const key = keyForm.read(value, at)
    if (known.has(key.uid)) throw new ArchiveError(`${at}: the key ${key.uid} occurs twice`)
    known.add(key.uid)
    await queue.key(key)
  }
}

/** Restores experimental features and the network. The new instance has no name in the network yet. */
async function restoreSwitches(unpacked: Unpacked, queue: Restore): Promise<void> {
  const features = await jsonOf(unpacked, 'experimental-features.json')
  await queue.value('experimentalFeatures', {
    ...featuresForm.read(features ?? {}, 'experimental-features.json'),
    legacySearch: null,
  })
  const network = await jsonOf(unpacked, 'network.json')
  if (network === undefined) return
  await queue.value('network', { ...networkForm.read(network, 'network.json'), self: null, leader: null })
}

async function restoreChats(unpacked: Unpacked, queue: Restore): Promise<void> {
  for (const path of unpacked.keys()) {
    const uid = /^chat-completions-settings\/(.+)\.json$/.exec(path)?.[1]
    if (uid === undefined) continue
    const workspace = chatWorkspaceForm.read(await requiredJsonOf(unpacked, path), path)
    await queue.value(`${CHATS_STORED_AS}${uid}`, workspace)
  }
}

async function restoreWebhooks(unpacked: Unpacked, queue: Restore): Promise<void> {
  const at = 'webhooks.json'
  const entry = await jsonOf(unpacked, at)
  if (entry === undefined) return
  for (const [uuid, webhook] of Object.entries(webhooksForm.read(entry, at).webhooks)) {
    if (!isUuid(uuid)) throw unexpected(uuid, `${at}.webhooks`, 'UUIDs')
    await queue.webhook({ uuid, ...webhook })
  }
}

async function restoreRules(unpacked: Unpacked, queue: Restore): Promise<void> {
  const rules = new Map<string, Rule>()
  for await (const { value, at } of linesOf(unpacked, `indexes/${RULES_INDEX}/documents.jsonl`)) {
    // The API adds a document of its own to the rules.
    const { uid, id } = fieldsOf(value, at)
    if (uid === RESERVED_RULE_UID || id === RESERVED_RULE_UID) continue
    const rule = ruleForm.read(value, at)
    rules.set(rule.uid, rule)
  }
  await queue.rules(Object.fromEntries(rules))
}

/** Restores all tasks, then all batches. */
async function restoreQueue(
  unpacked: Unpacked,
  queue: Restore,
  { signal, progress }: RestoreRequest,
): Promise<void> {
  let finished = 0
  const checkTask = rising()
  const upload = (uid: number): Promise<Upload> => uploadOf(uid, unpacked, queue)
  for await (const lines of inPages(linesOf(unpacked, 'tasks/queue.jsonl'))) {
    const tasks = []
    for (const { value, at } of lines) {
      const dumped = await taskOf(value, at, upload)
      checkTask(dumped.task.uid, at)
      tasks.push(dumped)
    }
    signal.throwIfAborted()
    await queue.tasks(tasks)
    finished += tasks.length
    progress('importing tasks', finished, 0)
  }
  const checkBatch = rising()
  for await (const lines of inPages(linesOf(unpacked, 'batches/queue.jsonl'))) {
    const batches = lines.map(({ value, at }) => {
      const dumped = batchOf(value, at)
      checkBatch(dumped.batch.uid, at)
      return dumped
    })
    signal.throwIfAborted()
    await queue.batches(batches)
  }
}

/** Checks that uids rise from line to line. */
function rising(): (uid: number, at: string) => void {
  let last = -1
  return (uid, at) => {
    if (uid <= last)
      throw new ArchiveError(`${at}: the uid ${uid} is not greater than the previous one, ${last}`)
    last = uid
  }
}

/** Moves the documents of a waiting task into the spool of the new instance. */
async function uploadOf(uid: number, unpacked: Unpacked, queue: Restore): Promise<Upload> {
  const path = `tasks/update_files/${uid}.jsonl`
  const file = unpacked.get(path)
  if (file === undefined) throw new ArchiveError(`it has no ${path}, which the waiting task ${uid} needs`)
  const { size } = await stat(file)
  // An upload without documents is empty, but an empty NDJSON file would be refused.
  if (size === 0) return { payload: { format: 'json', text: '[]' }, bytes: 2 }
  const slot = queue.spool('ndjson')
  await rename(file, slot.path)
  await slot.sync()
  const checksum = await checksumOf(slot.path)
  return { payload: { format: 'ndjson', path: slot.path, checksum }, bytes: size }
}

async function* inPages<T>(items: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  let page: T[] = []
  for await (const item of items) {
    page.push(item)
    if (page.length < TRANSACTION_ROWS) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}
