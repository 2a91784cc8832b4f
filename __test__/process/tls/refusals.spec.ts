import { execFile } from 'node:child_process'
import { access, readFile, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { ExecutionContext } from 'ava'
import { LaunchError, parseLaunchOptions } from '../../../ts/launch/index.js'
import { openLogWithOutlets } from '../../../ts/telemetry/index.js'
import { openTls } from '../../../ts/tls/index.js'
import { type Authority, makeAuthority, openssl } from '../../support/openssl.js'
import { ServerProcess } from '../../support/server-process.js'
import { testNeeding } from '../../support/test-needing.js'

const test = testNeeding([openssl])
const run = promisify(execFile)

interface Refused {
  readonly name: string
  /** Files in addition to those of the authority, by name. */
  readonly files?: (authority: Authority) => Promise<Readonly<Record<string, string | Buffer>>>
  /** Options by name. A value is a file name; true is a switch. */
  readonly options: Readonly<Record<string, string | true>>
  readonly code: number
  readonly line: RegExp
}

const pair = { 'ssl-cert-path': 'server.pem', 'ssl-key-path': 'server.key' }
const garbage = async () => ({ garbage: 'not a certificate' })

const cases: readonly Refused[] = [
  {
    name: 'a certificate without a key',
    options: { 'ssl-cert-path': 'server.pem' },
    code: 2,
    line: /^--ssl-cert-path needs --ssl-key-path as well$/,
  },
  {
    name: 'a key without a certificate',
    options: { 'ssl-key-path': 'server.key' },
    code: 2,
    line: /^--ssl-key-path needs --ssl-cert-path as well$/,
  },
  {
    name: 'demanding client certificates without an authority',
    options: { ...pair, 'ssl-require-auth': true },
    code: 2,
    line: /^--ssl-require-auth needs --ssl-auth-path as well$/,
  },
  ...['ssl-auth-path', 'ssl-ocsp-path'].map((option) => ({
    name: `--${option} without TLS`,
    options: { [option]: 'authority.pem' },
    code: 2,
    line: new RegExp(`^--${option} needs --ssl-cert-path as well$`),
  })),
  ...['ssl-resumption', 'ssl-tickets'].map((option) => ({
    name: `--${option} without TLS`,
    options: { [option]: true } as const,
    code: 2,
    line: new RegExp(`^--${option} needs --ssl-cert-path as well$`),
  })),
  ...['ssl-cert-path', 'ssl-key-path', 'ssl-auth-path', 'ssl-ocsp-path'].flatMap((option) => [
    {
      name: `--${option}, missing`,
      options: { ...pair, [option]: 'nowhere' },
      code: 1,
      line: new RegExp(`^--${option}: \`\\S+nowhere\` cannot be read: ENOENT$`),
    },
    {
      name: `--${option}, garbage`,
      files: garbage,
      options: { ...pair, [option]: 'garbage' },
      code: 1,
      line: new RegExp(`^--${option}: \`\\S+garbage\` (holds no |is not )[^\\n]+; expected [^\\n]+$`),
    },
    {
      name: `--${option}, a directory`,
      options: { ...pair, [option]: '' },
      code: 1,
      line: new RegExp(`^--${option}: \`\\S+\` cannot be read: EISDIR$`),
    },
  ]),
  {
    name: 'a certificate that is cut off',
    files: async ({ path }) => ({ cut: (await readFile(path('server.pem'))).subarray(0, 200) }),
    options: { ...pair, 'ssl-cert-path': 'cut' },
    code: 1,
    line: /^--ssl-cert-path: `\S+cut` holds a malformed certificate; expected PEM/,
  },
  {
    name: 'an authority that is cut off after a complete one',
    files: async ({ path }) => {
      const whole = await readFile(path('authority.pem'))
      return { cut: Buffer.concat([whole, whole.subarray(0, 200)]) }
    },
    options: { ...pair, 'ssl-auth-path': 'cut' },
    code: 1,
    line: /^--ssl-auth-path: `\S+cut` holds a malformed certificate; expected PEM/,
  },
  {
    name: 'certificate and key exchanged',
    options: { 'ssl-cert-path': 'server.key', 'ssl-key-path': 'server.pem' },
    code: 1,
    line: /^--ssl-cert-path: `\S+server\.key` holds no certificate \(it holds a private key\)/,
  },
  {
    name: "another certificate's key",
    options: { ...pair, 'ssl-key-path': 'other.key' },
    code: 1,
    line: /^--ssl-key-path: `\S+other\.key` does not match the certificate in `\S+server\.pem`/,
  },
  {
    name: 'a chain in the wrong order',
    files: async ({ path }) => ({
      chain: Buffer.concat([await readFile(path('authority.pem')), await readFile(path('server.pem'))]),
    }),
    options: { ...pair, 'ssl-cert-path': 'chain' },
    code: 1,
    line: /^--ssl-key-path: .* it matches a later certificate of that file; put that one first$/,
  },
  {
    name: 'an encrypted key',
    files: async ({ path }) => {
      const args = ['pkcs8', '-topk8', '-in', path('server.key'), '-passout', 'pass:secret']
      return { locked: (await run('openssl', args)).stdout }
    },
    options: { ...pair, 'ssl-key-path': 'locked' },
    code: 1,
    line: /^--ssl-key-path: `\S+locked` is encrypted; expected a key without a passphrase$/,
  },
  {
    name: 'a key too short to be secure',
    files: async ({ path }) => {
      const key = path('short.key')
      const args = ['req', '-x509', '-newkey', 'rsa:512', '-nodes', '-keyout', key, '-subj', '/CN=short']
      return { short: (await run('openssl', args)).stdout }
    },
    options: { 'ssl-cert-path': 'short', 'ssl-key-path': 'short.key' },
    code: 1,
    line: /^`\S+short` and `\S+short\.key` cannot be used for TLS: .*key too small/,
  },
  {
    name: 'an unsuccessful OCSP response',
    files: async () => ({ failure: Buffer.from([0x30, 0x03, 0x0a, 0x01, 0x06]) }),
    options: { ...pair, 'ssl-ocsp-path': 'failure' },
    code: 1,
    line: /^--ssl-ocsp-path: `\S+failure` is an OCSP response of failure, status 6/,
  },
]

/** Returns the arguments of a case. */
const argsOf = ({ options }: Refused, { path }: Authority): readonly string[] =>
  Object.entries(options).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}`, path(value)],
  )

async function prepare(t: ExecutionContext): Promise<Authority> {
  const authority = await makeAuthority(t)
  await authority.issue('server')
  await authority.issue('other')
  for (const { files } of cases) {
    for (const [file, content] of Object.entries((await files?.(authority)) ?? {})) {
      await writeFile(authority.path(file), content)
    }
  }
  return authority
}

test('unusable TLS options and files are refused with one line that names them', async (t) => {
  const authority = await prepare(t)
  const { log } = openLogWithOutlets({ level: 'OFF', mode: 'JSON' })
  for (const one of cases) {
    const open = async () => {
      const launch = parseLaunchOptions({
        args: argsOf(one, authority),
        env: {},
        readFile: () => null,
        machine: { memoryBytes: 2 ** 30, cores: 2 },
      })
      return launch.kind === 'run' ? openTls(launch.options, log) : null
    }
    const error = await t.throwsAsync(open, { instanceOf: LaunchError }, one.name)
    t.is(Number(error?.exitCode), one.code, one.name)
    t.regex(error?.message ?? '', one.line, one.name)
    t.notRegex(error?.message ?? '', /\n/, one.name)
  }
})

test('a start with unusable TLS options fails and leaves no data directory', async (t) => {
  const authority = await prepare(t)
  const data = authority.path('data')
  const wholes = cases.filter(({ name }) =>
    ['a certificate without a key', '--ssl-auth-path, garbage'].includes(name),
  )
  t.is(wholes.length, 2)
  for (const one of wholes) {
    const args = argsOf(one, authority)
    const started = await ServerProcess.start({ data, engine: 'fallback', args, startMsMax: 60_000 })
    if (started.kind === 'listening') await started.server.kill()
    t.like(started, { kind: 'ended', code: one.code }, one.name)
    const lines = started.kind === 'ended' ? started.errors.split('\n').filter((line) => line !== '') : []
    t.is(lines.length, 1, `${one.name}: ${lines.join('\n')}`)
    t.regex(lines[0]?.replace(/^siftd: /, '') ?? '', one.line, one.name)
    await t.throwsAsync(access(data), { code: 'ENOENT' }, one.name)
  }
})
