import { PAGE_ENTRIES } from './limits.js'
import type { Peer } from './peer.js'

/**
 * All entries of a list that is answered in pages, such as `/indexes` and `/keys`.
 * @param method POST for a list that takes offset and limit in its body
 */
export async function listAll<T>(
  peer: Peer,
  path: string,
  method: 'GET' | 'POST' = 'GET',
): Promise<readonly T[]> {
  const all: T[] = []
  for (;;) {
    const page = { offset: all.length, limit: PAGE_ENTRIES }
    const { results, total } = await (method === 'POST'
      ? peer.json<Page<T>>('POST', path, { body: page, isRepeatable: true })
      : peer.json<Page<T>>('GET', `${path}?offset=${page.offset}&limit=${page.limit}`))
    all.push(...results)
    if (results.length === 0 || all.length >= total) return all
  }
}

interface Page<T> {
  readonly results: readonly T[]
  readonly total: number
}
