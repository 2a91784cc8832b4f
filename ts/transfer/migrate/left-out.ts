import { counted } from '../../parse/index.js'
import { type Peer, PeerError } from '../peer/index.js'
import { editableWebhooks, livingKeys } from './instance-parts.js'
import type { Inventory, Selection } from './inventory.js'

/** A part that the API cannot write or siftd does not support. */
interface Part {
  readonly path: string
  /** Describes what is not copied, given the answer of `GET path`; null: nothing. */
  describe(answer: Readonly<Record<string, unknown>>): string | null
}

const parts: readonly Part[] = [
  {
    path: '/tasks?limit=1',
    describe: ({ total }) =>
      isCount(total)
        ? `the history of ${counted(Number(total), 'task')} and their batches: a dump brings it`
        : null,
  },
  {
    path: '/chats?limit=1000',
    describe({ results = [] }) {
      const uids = (results as readonly { readonly uid: unknown }[]).map(({ uid }) => String(uid))
      return uids.length > 0
        ? `the chat workspaces ${uids.join(', ')}: their API keys are masked; set them with PATCH /chats/{uid}/settings, or ` +
            'restore a dump'
        : null
    },
  },
  {
    path: '/network',
    describe: ({ remotes }) => {
      const names = Object.keys((remotes ?? {}) as object)
      return names.length > 0
        ? `the network with ${names.join(', ')}: set them with PATCH /network if the target should use them too`
        : null
    },
  },
]

const isCount = (value: unknown): boolean => typeof value === 'number' && value > 0

/** Returns the parts of the source that a migration does not copy, one per line. */
export async function leftOut(
  from: Peer,
  source: Inventory,
  { skipped }: Selection,
): Promise<readonly string[]> {
  const found: (string | null)[] = []
  for (const { path, describe } of parts) found.push(describe(await answerOf(from, path)))
  const expired = (source.keys?.length ?? 0) - livingKeys(source.keys, Date.now()).length
  if (expired > 0) found.push(`${counted(expired, 'key')} that ${expired === 1 ? 'has' : 'have'} expired`)
  if (source.webhooks.length > editableWebhooks(source.webhooks).length)
    found.push('the webhook of the command line: launch the target with --task-webhook-url')
  if (source.rules === null && !skipped.has('rules') && source.features.dynamicSearchRules === false)
    found.push(
      'dynamic search rules, if the source has any: they are listed only while its feature `dynamicSearchRules` is enabled',
    )
  return found.filter((line) => line !== null)
}

/** Returns the answer to a GET; empty if the source refuses it, since it may not support the part. */
async function answerOf(from: Peer, path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await from.json<Readonly<Record<string, unknown>>>('GET', path)
  } catch (error) {
    if (error instanceof PeerError && error.status !== null && error.status < 500) return {}
    throw error
  }
}
