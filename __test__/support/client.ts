/** The official API client, connected to a fresh server. */
import type { ExecutionContext } from 'ava'
import { Meilisearch, MeilisearchApiError } from 'meilisearch'
import { startServer, type TestServerOptions } from './server.js'

export const masterKey = 'harbour-lantern-4471-xyz'

export interface Film extends Record<string, unknown> {
  readonly id: number
  readonly title?: string
  readonly genre?: string
}
export const films: readonly Film[] = [
  { id: 1, title: 'Solaris', genre: 'drama' },
  { id: 2, title: 'Alien', genre: 'horror' },
  { id: 3, title: 'Stalker', genre: 'drama' },
]

/** How the client waits for tasks. Its default of five seconds is too short on a busy machine. */
export const defaultWaitOptions = { interval: 10, timeout: 120_000 }

export async function openClient(t: ExecutionContext, options: TestServerOptions = {}): Promise<Meilisearch> {
  const server = await startServer(t, { masterKey, ...options })
  return new Meilisearch({ host: server.url, apiKey: masterKey, defaultWaitOptions })
}

/** Asserts that the client throws an API error with this code. */
export async function refused(
  t: ExecutionContext,
  call: Promise<unknown>,
  code: string,
  status = 400,
): Promise<void> {
  const error = await t.throwsAsync(call, { instanceOf: MeilisearchApiError }, code)
  t.is(error?.cause?.code, code)
  t.is(error?.response.status, status, code)
  t.deepEqual(Object.keys(error?.cause ?? {}), ['message', 'code', 'type', 'link'])
}
