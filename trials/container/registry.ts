/** An npm registry that serves the packages in a folder and redirects other requests to an upstream registry. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

interface Manifest {
  readonly name: string
  readonly version: string
}

interface Tarball {
  readonly manifest: Manifest
  readonly bytes: Buffer
}

export interface Registry {
  readonly url: string
  /** Names of the packages that it serves itself. */
  readonly names: readonly string[]
  close(): void
}

export async function openRegistry(folder: string, upstream: string): Promise<Registry> {
  const tarballs = new Map(
    readdirSync(folder)
      .filter((file) => file.endsWith('.tgz'))
      .map((file) => {
        const tarball = readTarball(join(folder, file))
        return [tarball.manifest.name, tarball]
      }),
  )
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/').slice(1)
    const isTarball = path.startsWith('-/tarballs/')
    const tarball = tarballs.get(isTarball ? path.slice('-/tarballs/'.length) : path)
    if (tarball === undefined) {
      response.writeHead(307, { location: new URL(request.url ?? '/', upstream).href }).end()
    } else if (isTarball) response.end(tarball.bytes)
    else sendJson(response, described(tarball, `http://${request.headers.host}`))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, names: [...tarballs.keys()], close: () => void server.close() }
}

function readTarball(path: string): Tarball {
  const text = execFileSync('tar', ['-xzOf', path, 'package/package.json'], { encoding: 'utf8' })
  return { manifest: JSON.parse(text) as Manifest, bytes: readFileSync(path) }
}

/** Registry metadata of a package with one version. */
function described({ manifest, bytes }: Tarball, url: string): object {
  const { name, version } = manifest
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
  const dist = { tarball: `${url}/-/tarballs/${encodeURIComponent(name)}`, integrity }
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } }
}

const sendJson = (response: ServerResponse, body: object): void =>
  void response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
