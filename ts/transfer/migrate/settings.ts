import { isDeepStrictEqual } from 'node:util'
import { ownSettings, settingRoutes } from '../../settings/index.js'
import { acceptedTask, finishedTask, PageReader, type Peer, PeerError } from '../peer/index.js'
import { type Embedders, isSameEmbedder, maskedSecrets, pushedEmbedder, withoutSecrets } from './embedders.js'
import type { Settings } from './inventory.js'

interface SettingsCopy {
  /** Names of the settings that were sent. */
  readonly sent: readonly string[]
  /** Notes for the user, one per line. */
  readonly remarks: readonly string[]
}

/** Names of the settings that differ. Embedders that only the target has are ignored. */
export function differingSettings(source: Settings, target: Settings): readonly string[] {
  return Object.keys(source).filter((name) => {
    if (name === 'embedders') return differingEmbedders(source, target).length > 0
    return !isDeepStrictEqual(source[name], target[name])
  })
}

export function differingEmbedders(source: Settings, target: Settings): readonly string[] {
  const there = embeddersOf(target)
  return Object.entries(embeddersOf(source))
    .filter(([name, embedder]) => !isSameEmbedder(embedder, there[name]))
    .map(([name]) => name)
}

const embeddersOf = (settings: Settings): Embedders => (settings.embedders ?? {}) as Embedders

/** Sends the settings of an index that differ, as one task. */
export async function copySettings(
  uid: string,
  { from, source, to, target }: { from: Peer; source: Settings; to: Peer; target: Settings },
): Promise<SettingsCopy> {
  const path = `/indexes/${encodeURIComponent(uid)}/settings`
  const differing = differingSettings(source, target)
  const known: string[] = []
  for (const name of differing) if (name in target || (await hasOwnSetting(to, path, name))) known.push(name)
  const remarks = differing
    .filter((name) => !known.includes(name))
    .map((name) => `index \`${uid}\`: the target does not know the setting \`${name}\`: it is not copied`)
  const body: Record<string, unknown> = Object.fromEntries(known.map((name) => [name, source[name]]))
  if (known.includes('embedders')) {
    const names = differingEmbedders(source, target)
    const lengths = await vectorLengths(from, uid)
    const pushed = names
      .map((name) => {
        const embedder = embeddersOf(source)[name] ?? {}
        return { name, ...pushedEmbedder({ path, embedder }, lengths.get(name) ?? null) }
      })
      .filter(({ name, isStandIn }) => !isStandIn || !(name in embeddersOf(target)))
    remarks.push(
      ...pushed.flatMap(({ name, remark }) =>
        remark === null ? [] : [`index \`${uid}\`: embedder \`${name}\` ${remark}`],
      ),
    )
    const settable = pushed.filter(({ embedder }) => embedder !== null)
    if (settable.length === 0) delete body.embedders
    else body.embedders = Object.fromEntries(settable.map(({ name, embedder }) => [name, embedder]))
  }
  if (known.includes('rerankers')) {
    const all = Object.entries(source.rerankers as Embedders)
    // The target may lack the package for local models, and would refuse all settings.
    const rerankers = all.filter(([, fields]) => fields.source !== 'huggingFace')
    body.rerankers = Object.fromEntries(rerankers.map(([name, fields]) => [name, withoutSecrets(fields)]))
    if (rerankers.length === 0 && all.length > 0) delete body.rerankers
    remarks.push(
      ...all
        .filter(([, fields]) => fields.source === 'huggingFace')
        .map(
          ([name]) =>
            `index \`${uid}\`: reranker \`${name}\` runs a model inside the source: it is not copied; set it with ` +
            `PATCH ${path}/rerankers`,
        ),
      ...rerankers
        .filter(([, fields]) => maskedSecrets(fields).length > 0)
        .map(
          ([name, fields]) =>
            `index \`${uid}\`: reranker \`${name}\` needs ${maskedSecrets(fields).join(', ')} again, which the ` +
            `source masks: PATCH ${path}/rerankers`,
        ),
    )
  }
  const sent = Object.keys(body)
  if (sent.length === 0) return { sent, remarks }
  const task = await to.json<{ taskUid: number }>('PATCH', path, {
    body,
    shape: acceptedTask,
  })
  await finishedTask(
    to,
    task,
    `index \`${uid}\`: setting ${sent.join(', ')}`,
    'change it on the source, or select the other indexes with --index',
  )
  return { sent, remarks }
}

/**
 * Returns true if an instance has a setting that `GET /settings` omits while it has its default. `chat` and
 * `foreignKeys` are omitted too, but while their feature is off, and then they cannot be set.
 */
async function hasOwnSetting(peer: Peer, path: string, name: string): Promise<boolean> {
  const route = settingRoutes.find((one) => one.name === name && ownSettings.includes(one.name))
  if (route === undefined) return false
  try {
    await peer.bytes('GET', `${path}/${route.segment}`)
    return true
  } catch (error) {
    if (error instanceof PeerError && error.status === 404) return false
    throw error
  }
}

/** Returns the vector length of each embedder, found in the first documents. */
async function vectorLengths(from: Peer, uid: string): Promise<ReadonlyMap<string, number>> {
  // A document may have megabytes of vectors. The reader then asks for fewer documents.
  const { lines } = await new PageReader(from, uid, { fields: [], retrieveVectors: true }).read(0)
  const lengths = new Map<string, number>()
  for (const line of lines) {
    const { _vectors } = JSON.parse(line) as { readonly _vectors?: object | null }
    for (const [name, one] of Object.entries(_vectors ?? {})) {
      const { embeddings } = (one ?? {}) as { readonly embeddings?: unknown }
      const first: unknown = Array.isArray(embeddings) ? embeddings[0] : undefined
      if (Array.isArray(first)) lengths.set(name, first.length)
    }
  }
  return lengths
}
