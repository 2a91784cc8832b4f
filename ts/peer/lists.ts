import { PAGE_ENTRIES } from './limits.js'
import type { Peer } from './peer.js'

/** All entries of a list that is answered in pages, such as `/indexes` and `/keys`. */
export async function listAll<T>(peer: Peer, path: string): Promise<readonly T[]> {
  const all: T[] = []
  for (;;) {
    const page = `${path}?offset=${all.length}&limit=${PAGE_ENTRIES}`
    const { results, total } = await peer.json<{ results: readonly T[]; total: number }>('GET', page)
    all.push(...results)
    if (results.length === 0 || all.length >= total) return all
  }
}
