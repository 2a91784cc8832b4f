/** A model hub on this machine. As real hubs do, it serves small files itself and redirects weights to another URL. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { ExecutionContext } from 'ava'
import { listening } from '../support/listening.js'

export const COMMIT = '0123456789abcdef0123456789abcdef01234567'

export interface HubRequest {
  readonly path: string
  readonly range: string | undefined
  readonly authorization: string | undefined
}

export interface TestHub {
  readonly url: string
  readonly requests: readonly HubRequest[]
  /** Requests for a file. */
  asked(file: string): readonly HubRequest[]
}

export interface HubOptions {
  /** Handles a request itself; returns true if it did. */
  readonly answer?: (request: HubRequest, response: ServerResponse) => boolean
  /** The SHA-256 of the weights that the hub claims. Default: the correct one. */
  readonly checksum?: string
  /** Redirect target for weights. Default: another path of this server. */
  readonly storage?: string
  /** Bytes after which answers with weights are cut. Each answer takes the next number; later answers are complete. */
  readonly cuts?: number[]
  /** Resolves once the client has stored the file up to `end`. Otherwise a cut would lose bytes in transit. */
  readonly stored?: (end: number) => Promise<void>
}

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex')
const gitHash = (content: Buffer): string =>
  createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')

/** Starts a hub with the repository `org/tiny`. */
export async function startHub(
  t: ExecutionContext,
  files: ReadonlyMap<string, Buffer>,
  { answer, checksum, storage, cuts = [], stored = async () => undefined }: HubOptions = {},
): Promise<TestHub> {
  const requests: HubRequest[] = []
  const weightsNow = (): Buffer => files.get('model.safetensors') ?? Buffer.alloc(0)

  function respond(request: IncomingMessage, response: ServerResponse): void {
    const { range, authorization } = request.headers
    const seen = { path: request.url ?? '', range, authorization }
    requests.push(seen)
    if (answer?.(seen, response)) return
    if (seen.path === '/storage') sendWeights(range, response)
    else sendFile(seen.path, response)
  }

  function sendFile(path: string, response: ServerResponse): void {
    const [, revision, file = ''] = /^\/org\/tiny\/resolve\/([^/]+)\/(.+)$/.exec(path) ?? []
    const content = files.get(file)
    if (content === undefined || (revision !== 'main' && revision !== COMMIT && revision !== 'v2')) {
      response.writeHead(404).end('Entry not found')
    } else if (file === 'model.safetensors') {
      const headers = { 'x-linked-etag': `"${checksum ?? sha256(content)}"`, 'x-repo-commit': COMMIT }
      response.writeHead(302, { ...headers, location: storage ?? '/storage' }).end()
    } else {
      const headers = { etag: `"${gitHash(content)}"`, 'x-repo-commit': COMMIT }
      response.writeHead(200, { ...headers, 'content-length': content.length }).end(content)
    }
  }

  function sendWeights(range: string | undefined, response: ServerResponse): void {
    const weights = weightsNow()
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0)
    const rest = weights.subarray(from)
    const partial = { 'content-range': `bytes ${from}-${weights.length - 1}/${weights.length}` }
    response.writeHead(range === undefined ? 200 : 206, {
      'content-length': rest.length,
      etag: '"of-the-storage"',
      ...(range !== undefined && partial),
    })
    const cut = cuts.shift()
    if (cut === undefined) response.end(rest)
    else response.write(rest.subarray(0, cut), () => void stored(from + cut).then(() => response.destroy()))
  }

  const server = createServer(respond)
  const url = await listening(t, server)
  return {
    url,
    requests,
    asked: (file) => requests.filter(({ path }) => path.endsWith(file)),
  }
}
