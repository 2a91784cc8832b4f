import { counted } from '../../parse/index.js'
import { acceptedTask, finishedTask, type Peer, PeerError } from '../peer/index.js'
import { copyDocuments } from './documents.js'
import {
  copyFeatures,
  copyKeys,
  copyWebhooks,
  livingKeys,
  missingFeatures,
  replacedKeys,
} from './instance-parts.js'
import {
  countsOf,
  type IndexFacts,
  type Inventory,
  indexShape,
  inventoryOf,
  type Selection,
  settingsOf,
} from './inventory.js'
import { copyRules } from './rules.js'
import { copySettings } from './settings.js'

/** Copy progress of the documents of an index. */
export interface IndexState {
  /** Creation dates of the index on both sides. A recreated index is copied from its start. */
  readonly sourceCreatedAt: string
  readonly targetCreatedAt: string
  /** Number of documents of the source, in its order, that the target has indexed. */
  readonly documents: number
}

/** Where a migration reports what it does. */
export interface MigrationOutput {
  line(text: string): void
  progress(doing: string, finished: number, total: number): void
}

/** Keeps the copy progress of each index, so that an interrupted migration can continue. */
export interface MigrationState {
  of(indexUid: string): IndexState | null
  set(indexUid: string, state: IndexState): Promise<void>
}

export interface Migration {
  readonly from: Peer
  readonly to: Peer
  readonly selection: Selection
  readonly output: MigrationOutput
  /** Value of the key for the target; null: none. */
  readonly targetKey: string | null
}

/**
 * Reads the inventories of both instances.
 * @throws PeerError if an instance cannot be read, or the selection cannot be copied
 */
export async function surveyed({ from, to, selection }: Migration): Promise<{
  readonly source: Inventory
  readonly target: Inventory
}> {
  await from.greet()
  const source = await inventoryOf(from, selection)
  await to.greet()
  const target = await inventoryOf(to, selection)
  const missing = selection.indexes?.find((uid) => !source.indexes.some((index) => index.uid === uid))
  if (missing !== undefined) throw new PeerError(`--index: the source has no index \`${missing}\``)
  if (target.keys === null && livingKeys(source.keys, Date.now()).length > 0)
    throw new PeerError(
      `--to ${to.origin}: has no master key and therefore no keys: start it with a master key, or add --skip keys`,
    )
  return { source, target }
}

/** Prints what would be copied. */
export async function describe(
  { from, output }: Migration,
  source: Inventory,
  target: Inventory,
): Promise<void> {
  const { off } = missingFeatures(source.features, target.features)
  if (off.length > 0) output.line(`would enable: ${off.join(', ')}`)
  for (const { uid, primaryKey } of source.indexes) {
    const exists = target.indexes.some((index) => index.uid === uid)
    const { numberOfDocuments, numberOfEmbeddings = 0 } = await countsOf(from, uid)
    const what = `${counted(numberOfDocuments, 'document')}, ${counted(numberOfEmbeddings, 'embedding')}, primary key ${primaryKey ?? 'not set'}`
    output.line(`would copy index \`${uid}\`${exists ? ' into the existing index' : ''}: ${what}`)
  }
  output.line(`would copy ${counted(source.rules?.length ?? 0, 'dynamic search rule')}`)
  output.line(`would copy ${counted(livingKeys(source.keys, Date.now()).length, 'key')}`)
  output.line(`would copy ${counted(source.webhooks.length, 'webhook')}`)
}

/**
 * Copies everything.
 *
 * Settings are copied before documents, so that each document is indexed once: a later change of settings would index
 * all documents again. All settings are copied before the first document, since they may be refused and take seconds,
 * while documents may take hours. Webhooks are copied last, so that they are not called for the copied tasks.
 * @returns notes for the user, one per line
 */
export async function copyAll(
  migration: Migration,
  source: Inventory,
  target: Inventory,
  state: MigrationState,
): Promise<readonly string[]> {
  const { to, output } = migration
  const remarks: string[] = []
  const features = await copyFeatures(to, source, target)
  remarks.push(...features.remarks)
  if (features.copied.length > 0) output.line(`enabled: ${features.copied.join(', ')}`)
  // Settings may name other indexes.
  for (const index of source.indexes) await makeIndex(migration, index, target)
  for (const { uid } of source.indexes) remarks.push(...(await settingsCopied(migration, uid)))
  for (const index of source.indexes) remarks.push(...(await documentsCopied(migration, index, state)))
  const rules = await copyRules(to, source.rules)
  const keys = await copyKeys(to, source, target)
  // A target with a master key has made its own default keys at its first start.
  const isComplete = migration.selection.indexes === null && keys.copied.length > 0
  const replaced = isComplete ? replacedKeys(source, target, migration.targetKey) : []
  for (const { uid } of replaced) await to.bytes('DELETE', `/keys/${uid}`)
  const webhooks = await copyWebhooks(to, source, target)
  if (rules.copied.length > 0) output.line(`dynamic search rules: ${rules.copied.length} written`)
  if (keys.copied.length > 0) output.line(`keys: ${keys.copied.length} created`)
  if (replaced.length > 0)
    output.line(`keys: ${replaced.length} removed that the target had made, since the source has the same`)
  if (webhooks.copied.length > 0) output.line(`webhooks: ${webhooks.copied.length} created`)
  return [...remarks, ...rules.remarks, ...keys.remarks, ...webhooks.remarks]
}

async function makeIndex(
  { to, output }: Migration,
  { uid, primaryKey }: IndexFacts,
  target: Inventory,
): Promise<void> {
  const there = target.indexes.find((index) => index.uid === uid)
  const doing = `index \`${uid}\`: giving it the primary key \`${primaryKey}\``
  if (there === undefined) {
    const task = await to.json<{ taskUid: number }>('POST', '/indexes', {
      body: { uid, primaryKey },
      shape: acceptedTask,
    })
    await finishedTask(to, task, `index \`${uid}\`: creating it`, 'start again')
    output.line(`index \`${uid}\`: created`)
  } else if (primaryKey !== null && there.primaryKey !== primaryKey) {
    const path = `/indexes/${encodeURIComponent(uid)}`
    const task = await to.json<{ taskUid: number }>('PATCH', path, {
      body: { primaryKey },
      shape: acceptedTask,
    })
    await finishedTask(to, task, doing, `delete the index on the target, or do not copy it`)
  }
}

async function settingsCopied({ from, to, output }: Migration, uid: string): Promise<readonly string[]> {
  const [source, target] = await Promise.all([settingsOf(from, uid), settingsOf(to, uid)])
  const { sent, remarks } = await copySettings(uid, { from, source, to, target })
  if (sent.length > 0) output.line(`index \`${uid}\`: set ${sent.join(', ')}`)
  return remarks
}

async function documentsCopied(
  { from, to, output }: Migration,
  index: IndexFacts,
  state: MigrationState,
): Promise<readonly string[]> {
  const { uid } = index
  const path = `/indexes/${encodeURIComponent(uid)}`
  const [{ createdAt }, there, here] = await Promise.all([
    to.json<IndexFacts>('GET', path, { shape: indexShape }),
    countsOf(from, uid),
    countsOf(to, uid),
  ])
  const facts = { sourceCreatedAt: index.createdAt, targetCreatedAt: createdAt }
  const known = state.of(uid)
  const isSame =
    known?.sourceCreatedAt === index.createdAt &&
    known.targetCreatedAt === createdAt &&
    known.documents <= here.numberOfDocuments
  const copied = isSame ? known.documents : 0
  if (copied > 0) output.line(`index \`${uid}\`: continues after ${counted(copied, 'document')}`)
  const total = await copyDocuments({
    from,
    to,
    index,
    copied,
    async progress(documents, of) {
      await state.set(uid, { ...facts, documents })
      output.progress(`index \`${uid}\`: documents`, documents, of)
    },
  })
  output.line(`index \`${uid}\`: ${counted(total, 'document')} copied`)
  return total === there.numberOfDocuments
    ? []
    : [
        `index \`${uid}\`: the source changed while it was copied, from ${there.numberOfDocuments} to ${counted(total, 'document')}: start again when it no longer changes`,
      ]
}
