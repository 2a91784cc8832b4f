import { isDeepStrictEqual } from 'node:util'
import { isText, type Peer, PeerError } from '../peer/index.js'
import { isMasked } from './embedders.js'
import type { FeatureFlags, Inventory, KeyFacts, WebhookFacts } from './inventory.js'

/** What was copied, and what the user has to know or do, each a line. */
export interface PartCopy {
  readonly copied: readonly string[]
  readonly remarks: readonly string[]
}

/** Experimental features that are on at the source alone, by whether the target knows them. */
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

/** Switches features on. Features that are on at the target alone stay on. */
export async function copyFeatures(to: Peer, source: Inventory, target: Inventory): Promise<PartCopy> {
  const { off, unknown } = missingFeatures(source.features, target.features)
  if (off.length > 0) {
    const body = Object.fromEntries(off.map((name) => [name, true]))
    await to.json('PATCH', '/experimental-features', { body })
  }
  return {
    copied: off,
    remarks: unknown.map((name) => `feature \`${name}\` is on at the source and unknown to the target`),
  }
}

/** Keys that can be made on the target: it refuses keys that have expired. @param nowMs since 1970 */
export const livingKeys = (keys: readonly KeyFacts[] | null, nowMs: number): readonly KeyFacts[] =>
  (keys ?? []).filter(({ expiresAt }) => expiresAt === null || Date.parse(expiresAt) > nowMs)

/** Creates the keys that the target lacks, under their uids: a value is derived of uid and master key. */
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
      // A key may name actions of a newer version. All others are still of use.
      if (!(error instanceof PeerError) || error.status !== 400) throw error
      remarks.push(`key ${uid}: ${error.message}`)
    }
  }
  return { copied, remarks }
}

/** The text that names a webhook. The path of its URL may be a secret. */
export const webhookName = ({ url }: WebhookFacts): string => `webhook of ${new URL(url).host}`

/** Webhooks that can be made over HTTP. */
export const editableWebhooks = (webhooks: readonly WebhookFacts[]): readonly WebhookFacts[] =>
  webhooks.filter(({ isEditable }) => isEditable)

/** Webhooks of the source without an equal one of the target. @param equal compares two of them */
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

/** Headers that the source shows in clear. */
const shownHeaders = ({ headers }: WebhookFacts): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => !isMasked(value)))

export const sameWebhook = (a: WebhookFacts, b: WebhookFacts): boolean =>
  a.url === b.url && isDeepStrictEqual(a.headers, b.headers)

/** Whether `target` may be a copy of `source`, whose masked headers were left out or set since. */
const isCopyOf = (source: WebhookFacts, target: WebhookFacts): boolean =>
  source.url === target.url &&
  Object.entries(shownHeaders(source)).every(([name, value]) => target.headers[name] === value)

/** Creates the webhooks that the target lacks. Their uuids are new, since the API takes none. */
export async function copyWebhooks(to: Peer, source: Inventory, target: Inventory): Promise<PartCopy> {
  const missing = missingWebhooks(source.webhooks, target.webhooks, isCopyOf)
  const remarks: string[] = []
  for (const webhook of missing) {
    const body = { url: webhook.url, headers: shownHeaders(webhook) }
    const { uuid } = await to.json<WebhookFacts>('POST', '/webhooks', { body, shape: { uuid: isText } })
    const masked = Object.keys(webhook.headers).filter((name) => isMasked(webhook.headers[name]))
    if (masked.length > 0)
      remarks.push(
        `${webhookName(webhook)} needs its header ${masked.join(', ')} again, which the source masks: PATCH /webhooks/${uuid}`,
      )
  }
  return { copied: missing.map(webhookName), remarks }
}
