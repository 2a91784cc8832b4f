import { isDeepStrictEqual } from 'node:util'
import { HIDDEN_SECRET, maskUserInfo } from '../../settings/index.js'
import { isText, type Peer, PeerError } from '../peer/index.js'
import { isMasked } from './embedders.js'
import type { FeatureFlags, Inventory, KeyFacts, WebhookFacts } from './inventory.js'

/** Names of the copied parts, and notes for the user, one per line. */
export interface PartCopy {
  readonly copied: readonly string[]
  readonly remarks: readonly string[]
}

/** Experimental features that are enabled only on the source: off on the target, or unknown to it. */
export function missingFeatures(
  source: FeatureFlags,
  target: FeatureFlags,
): { readonly off: readonly string[]; readonly unknown: readonly string[] } {
  const missing = Object.keys(source).filter((name) => source[name] === true && target[name] !== true)
  return {
    off: missing.filter((name) => name in target),
    unknown: missing.filter((name) => !(name in target)),
  }
}

/** Enables features on the target. Features that are enabled only on the target stay enabled. */
export async function copyFeatures(to: Peer, source: Inventory, target: Inventory): Promise<PartCopy> {
  const { off, unknown } = missingFeatures(source.features, target.features)
  if (off.length > 0) {
    const body = Object.fromEntries(off.map((name) => [name, true]))
    await to.json('PATCH', '/experimental-features', { body })
  }
  return {
    copied: off,
    remarks: unknown.map((name) => `feature \`${name}\` is enabled on the source and unknown to the target`),
  }
}

/** Keys that have not expired. The target refuses expired keys. @param nowMs since 1970 */
export const livingKeys = (keys: readonly KeyFacts[] | null, nowMs: number): readonly KeyFacts[] =>
  (keys ?? []).filter(({ expiresAt }) => expiresAt === null || Date.parse(expiresAt) > nowMs)

/** Creates missing keys on the target with the same uids, since key values are derived from uid and master key. */
export async function copyKeys(to: Peer, source: Inventory, target: Inventory): Promise<PartCopy> {
  const there = new Set((target.keys ?? []).map(({ uid }) => uid))
  const copied: string[] = []
  const remarks: string[] = []
  for (const { uid, name, description, actions, indexes, expiresAt } of livingKeys(source.keys, Date.now())) {
    if (there.has(uid)) continue
    try {
      await to.json('POST', '/keys', { body: { uid, name, description, actions, indexes, expiresAt } })
      copied.push(uid)
    } catch (error) {
      // The key may have actions of a newer version. The other keys are still copied.
      if (!(error instanceof PeerError) || error.status !== 400) throw error
      remarks.push(`key ${uid}: ${error.message}`)
    }
  }
  return { copied, remarks }
}

/**
 * Returns the default keys that the target made for itself, if the keys of the source replace them: with the same names and
 * rights. Empty if the target has indexes of its own, since programs may then use these keys.
 * @param used value of the key of the migration, which stays
 */
export function replacedKeys(source: Inventory, target: Inventory, used: string | null): readonly KeyFacts[] {
  const copied = new Set(source.indexes.map(({ uid }) => uid))
  if (target.indexes.some(({ uid }) => !copied.has(uid))) return []
  const living = livingKeys(source.keys, Date.now())
  const uids = new Set(living.map(({ uid }) => uid))
  const rights = ({ name, actions, indexes, expiresAt }: KeyFacts): object => ({
    ...{ name, expiresAt, actions: actions.toSorted(), indexes: indexes.toSorted() },
  })
  return (target.keys ?? []).filter(
    (key) =>
      key.name?.startsWith('Default ') === true &&
      key.key !== used &&
      !uids.has(key.uid) &&
      living.some((other) => isDeepStrictEqual(rights(other), rights(key))),
  )
}

/** Name of a webhook for messages. Omits the path of the URL, which may be a secret. */
export const webhookName = ({ url }: WebhookFacts): string => `webhook of ${new URL(url).host}`

/** Webhooks that can be created over HTTP. */
export const editableWebhooks = (webhooks: readonly WebhookFacts[]): readonly WebhookFacts[] =>
  webhooks.filter(({ isEditable }) => isEditable)

/** Webhooks of the source that are missing on the target. @param equal compares two webhooks */
export function missingWebhooks(
  source: readonly WebhookFacts[],
  target: readonly WebhookFacts[],
  equal: (a: WebhookFacts, b: WebhookFacts) => boolean,
): readonly WebhookFacts[] {
  const left = [...target]
  return editableWebhooks(source).filter((webhook) => {
    const at = left.findIndex((other) => equal(webhook, other))
    if (at !== -1) left.splice(at, 1)
    return at === -1
  })
}

/** Headers that are not masked. */
const shownHeaders = ({ headers }: WebhookFacts): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => !isMasked(value)))

/** Returns true if two URLs are equal. An instance may mask the user of a URL, so users are not compared. */
const sameUrl = (a: WebhookFacts, b: WebhookFacts): boolean => maskUserInfo(a.url) === maskUserInfo(b.url)

export const sameWebhook = (a: WebhookFacts, b: WebhookFacts): boolean =>
  sameUrl(a, b) && isDeepStrictEqual(a.headers, b.headers)

/** Returns true if `target` may be a copy of `source`. Masked headers are not compared. */
const isCopyOf = (source: WebhookFacts, target: WebhookFacts): boolean =>
  sameUrl(source, target) &&
  Object.entries(shownHeaders(source)).every(([name, value]) => target.headers[name] === value)

/** Creates missing webhooks on the target, with new uuids, since the API does not accept uuids. */
export async function copyWebhooks(to: Peer, source: Inventory, target: Inventory): Promise<PartCopy> {
  const missing = missingWebhooks(source.webhooks, target.webhooks, isCopyOf)
  const remarks: string[] = []
  for (const webhook of missing) {
    const body = { url: webhook.url, headers: shownHeaders(webhook) }
    const { uuid } = await to.json<WebhookFacts>('POST', '/webhooks', { body, shape: { uuid: isText } })
    if (webhook.url.includes(`/${HIDDEN_SECRET}@`))
      remarks.push(
        `${webhookName(webhook)} needs its url again, whose user the source masks: PATCH /webhooks/${uuid}`,
      )
    const masked = Object.keys(webhook.headers).filter((name) => isMasked(webhook.headers[name]))
    if (masked.length > 0)
      remarks.push(
        `${webhookName(webhook)} needs its header ${masked.join(', ')} again, which the source masks: PATCH /webhooks/${uuid}`,
      )
  }
  return { copied: missing.map(webhookName), remarks }
}
