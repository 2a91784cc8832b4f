import type { IncomingMessage } from 'node:http'
import { PROXY_HEADER, RIGHTS_HEADER } from '../remotes/index.js'
import { HOT_BODY_BYTES_MAX } from './limits.js'

/**
 * Paths that threads answer, by method. Other spellings of a path are left to the main thread, as are the fixed names
 * below `documents`.
 */
const hotPaths: Readonly<Record<string, RegExp>> = {
  GET: /^\/(?:health|indexes\/[\w-]+\/(?:search|similar|documents\/(?!(?:fetch|edit|delete|delete-batch)(?:\?|$))[\w-]+))(?:\?|$)/,
  POST: /^\/(?:multi-search|indexes\/[\w-]+\/(?:search|facet-search|similar))(?:\?|$)/,
}

/** Returns true if a thread can try to answer: the path is known, and the body is absent or short and plain. */
export function isHot({ method = '', url = '', headers }: IncomingMessage): boolean {
  if (hotPaths[method]?.test(url) !== true) return false
  if (headers['transfer-encoding'] !== undefined || headers['content-encoding'] !== undefined) return false
  if (headers.upgrade !== undefined || headers.expect !== undefined) return false
  if (headers[RIGHTS_HEADER] !== undefined || headers[PROXY_HEADER] !== undefined) return false
  const bytes = Number(headers['content-length'] ?? 0)
  return method === 'GET' ? bytes === 0 : bytes > 0 && bytes <= HOT_BODY_BYTES_MAX
}
