/** Creates certificates with openssl for a test, and makes handshakes with its client. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ExecutionContext } from 'ava'
import { isCi, type Requirement } from './requirements.js'

/** The command `openssl`, version 3 or later. Earlier versions print less about OCSP and sessions. */
export const openssl: Requirement = {
  missing: /^OpenSSL [3-9]/.test(spawnSync('openssl', ['version'], { encoding: 'utf8' }).stdout ?? '')
    ? null
    : 'no openssl 3 on the path',
  isDemanded: isCi,
}

const run = promisify(execFile)

/** A test certificate authority, and the directory of its files. */
export interface Authority {
  readonly directory: string
  /** Path of its certificate. */
  readonly certificate: string
  /** Creates a key and a certificate for `localhost` and 127.0.0.1. @returns their paths */
  issue(name: string): Promise<{ readonly cert: string; readonly key: string }>
  /** Writes an OCSP response with the status "good" for a certificate. @returns its path */
  vouch(cert: string): Promise<string>
  path(name: string): string
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** Creates an authority in a temporary directory, which is removed when the test ends. */
export async function makeAuthority(t: Pick<ExecutionContext, 'teardown'>): Promise<Authority> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-tls-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const path = (name: string): string => join(directory, name)
  const [certificate, key] = [path('authority.pem'), path('authority.key')]
  await run('openssl', [
    ...['req', '-x509', ...newKey, '-keyout', key, '-out', certificate],
    ...['-subj', '/CN=authority', '-days', '2'],
  ])
  return {
    directory,
    certificate,
    path,
    async issue(name) {
      const made = { cert: path(`${name}.pem`), key: path(`${name}.key`) }
      const [request, extensions] = [path(`${name}.csr`), path('extensions')]
      await writeFile(extensions, 'subjectAltName=DNS:localhost,IP:127.0.0.1\n')
      await run('openssl', ['req', ...newKey, '-keyout', made.key, '-out', request, '-subj', `/CN=${name}`])
      await run('openssl', [
        ...['x509', '-req', '-in', request, '-CA', certificate, '-CAkey', key, '-CAcreateserial'],
        ...['-days', '2', '-extfile', extensions, '-out', made.cert],
      ])
      return made
    },
    async vouch(cert) {
      const serial = (await run('openssl', ['x509', '-in', cert, '-noout', '-serial'])).stdout
      const [index, response] = [path('index.txt'), path('ocsp.der')]
      const fields = ['V', '491231235959Z', '', serial.trim().split('=')[1], 'unknown', '/CN=any']
      await writeFile(index, `${fields.join('\t')}\n`)
      await run('openssl', [
        ...['ocsp', '-index', index, '-CA', certificate, '-rsigner', certificate, '-rkey', key],
        ...['-issuer', certificate, '-cert', cert, '-respout', response, '-ndays', '2'],
      ])
      return response
    },
  }
}

/** Timeout until the server closes the connection, on a busy machine. */
const CLOSED_MS_MAX = 60_000

/**
 * Connects with `openssl s_client`.
 * @param request sent after the handshake. It must ask the server to close the connection, because the client waits for
 * that. If empty, the client quits after the handshake
 * @returns its output
 */
export async function clientTranscript(port: number, args: readonly string[], request = ''): Promise<string> {
  const client = spawn('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, ...args], { stdio: 'pipe' })
  let printed = ''
  const collect = (chunk: Buffer): void => {
    printed += chunk.toString()
    if (request === '' && printed.includes('Verify return code')) client.stdin.end('Q\n')
  }
  client.stdout.on('data', collect)
  client.stderr.on('data', collect)
  client.stdin.on('error', () => undefined)
  client.stdin.write(request)
  const deadline = setTimeout(() => client.kill(), CLOSED_MS_MAX)
  await new Promise((resolve) => client.once('close', resolve))
  clearTimeout(deadline)
  return printed
}
