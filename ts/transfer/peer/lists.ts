import { isCount, list, object, type Shape } from './answers.js'
import { LIST_BYTES_MAX, LIST_ENTRIES_MAX, PAGE_ENTRIES } from './limits.js'
import type { Peer } from './peer.js'
import { PeerError } from './peer-error.js'

/**
 * Returns all entries of a paged list, such as `/indexes` and `/keys`.
 * @param shape of each entry
 * @param method POST for a list with offset and limit in the body
 * @throws PeerError, also if the list exceeds the limits
 */
export async function listAll<T>(
  peer: Peer,
  path: string,
  shape: Shape,
  method: 'GET' | 'POST' = 'GET',
): Promise<readonly T[]> {
  const all: T[] = []
  const ofPage = { results: list(object(shape)), total: isCount }
  for (let bytes = 0; ; ) {
    const page = { offset: all.length, limit: PAGE_ENTRIES }
    const call = { shape: ofPage, answerBytesMax: LIST_BYTES_MAX - bytes }
    const { results, total } = await (method === 'POST'
      ? peer.json<Page<T>>('POST', path, { ...call, body: page, isRepeatable: true })
      : peer.json<Page<T>>('GET', `${path}?offset=${page.offset}&limit=${page.limit}`, call))
    for (const entry of results) {
      all.push(entry)
      bytes += JSON.stringify(entry).length
    }
    if (all.length > LIST_ENTRIES_MAX || bytes >= LIST_BYTES_MAX)
      throw new PeerError(
        `--${peer.flag} ${peer.origin}: ${method} ${path} lists more than ${LIST_ENTRIES_MAX} entries or ${LIST_BYTES_MAX} bytes: is it a search instance?`,
      )
    if (results.length === 0 || all.length >= total) return all
  }
}

interface Page<T> {
  readonly results: readonly T[]
  readonly total: number
}
