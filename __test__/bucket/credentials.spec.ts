/**
 * Sources of credentials, with fake AWS servers. Rules:
 * 1. Each source is called as AWS documents it. Only the first configured source is used.
 * 2. One call refreshes the credentials for all callers before they expire. Old credentials are used until they expire.
 * 3. No message holds a secret. Plain HTTP is used only for the hosts of container credentials.
 * 4. Redirects are not followed.
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import { LaunchError } from '../../ts/launch/index.js'
import { type Outbound, openOutbound } from '../../ts/outbound/index.js'
import { BucketError, openCredentials } from '../../ts/replication/index.js'

const secret = 'SECRET-of-the-tests'
const token = 'TOKEN-of-the-tests'
const at = (ms: number) => new Date(ms).toISOString()
const json = (id: string, end: number) =>
  JSON.stringify({ AccessKeyId: id, SecretAccessKey: secret, Token: 'session', Expiration: at(end) })

interface Seen {
  readonly line: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}
type Answered = readonly [status: number, body: string, headers?: Readonly<Record<string, string>>]
type Answer = (seen: Seen) => Answered | Promise<Answered>

/** A fake AWS server. Records the requests. */
async function serving(t: ExecutionContext, answer: Answer) {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const one = { line: `${request.method} ${request.url}`, headers: request.headers, body }
    seen.push(one)
    const [status, text, headers = {}] = await answer(one)
    response.writeHead(status, headers).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const outbound = openOutbound({ allowedNetworks: 'any' })
  t.teardown(async () => {
    await outbound.close()
    server.close()
  })
  return { seen, outbound, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const noFile = () => null
const HOME = '/none'
const expected = (id: string) => ({ accessKeyId: id, secretAccessKey: secret, sessionToken: 'session' })

const sts = (id: string, end: number) =>
  `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><SessionToken>session</SessionToken><SecretAccessKey>${secret}</SecretAccessKey><Expiration>${at(end)}</Expiration><AccessKeyId>${id}</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`

const identityEnv = (origin: string) => ({
  HOME,
  AWS_WEB_IDENTITY_TOKEN_FILE: '/token',
  AWS_ROLE_ARN: 'arn:aws:iam::1:role/a b',
  AWS_ROLE_SESSION_NAME: 'here',
  AWS_ENDPOINT_URL_STS: origin,
})

test('a web identity is exchanged for a role', async (t) => {
  const { seen, outbound, origin } = await serving(t, () => [200, sts('id', Date.now() + 3_600_000)])
  const readText = (path: string) => (path === '/token' ? `${token}\n` : null)
  const given = openCredentials({ env: identityEnv(origin), readText, outbound })
  t.like(await given(), expected('id'))
  t.like(await given(), expected('id'))
  t.is(seen.length, 1)
  t.deepEqual(Object.fromEntries(new URLSearchParams(seen[0]?.body)), {
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: 'arn:aws:iam::1:role/a b',
    RoleSessionName: 'here',
    WebIdentityToken: token,
  })
})

test('container credentials are requested with the token, at a full address or a path', async (t) => {
  const { seen, outbound, origin } = await serving(t, () => [200, json('id', Date.now() + 3_600_000)])
  const file = (path: string) => (path === '/token' ? token : null)
  const full = { HOME, AWS_CONTAINER_CREDENTIALS_FULL_URI: `${origin}/v1?a=b` }
  const byFile = { ...full, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/token' }
  t.like(await openCredentials({ env: byFile, readText: file, outbound })(), expected('id'))
  const byVariable = { ...full, AWS_CONTAINER_AUTHORIZATION_TOKEN: 'other' }
  t.like(await openCredentials({ env: byVariable, readText: file, outbound })(), expected('id'))
  const asked: string[] = []
  const redirected: Outbound = {
    ...outbound,
    call: (request) => {
      asked.push(request.url)
      return outbound.call({ ...request, url: request.url.replace('http://169.254.170.2', origin) })
    },
  }
  const relative = { ...full, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/role' }
  t.like(await openCredentials({ env: relative, readText: file, outbound: redirected })(), expected('id'))
  t.deepEqual(asked, ['http://169.254.170.2/v2/role'])
  t.deepEqual(
    seen.map(({ line, headers }) => [line, headers.authorization]),
    [
      ['GET /v1?a=b', token],
      ['GET /v1?a=b', 'other'],
      ['GET /v2/role', undefined],
    ],
  )
})

test('machine credentials are requested with a token, then the role, then its credentials', async (t) => {
  const path = '/latest/meta-data/iam/security-credentials/'
  const { seen, outbound, origin } = await serving(t, ({ line }) => {
    if (line === 'PUT /latest/api/token') return [200, token]
    if (line === `GET ${path}`) return [200, 'my-role\n']
    return line === `GET ${path}my-role` ? [200, json('id', Date.now() + 3_600_000)] : [404, '']
  })
  const env = { HOME, AWS_EC2_METADATA_SERVICE_ENDPOINT: origin }
  t.like(await openCredentials({ env, readText: noFile, outbound })(), expected('id'))
  t.deepEqual(
    seen.map(({ headers }) => headers['x-aws-ec2-metadata-token']),
    [undefined, token, token],
  )
  t.throws(
    () => openCredentials({ env: { ...env, AWS_EC2_METADATA_DISABLED: 'TRUE' }, readText: noFile, outbound }),
    { instanceOf: LaunchError, message: /are not set, and there is no file/ },
  )
  t.is(seen.length, 3)
})

test('a machine without a metadata service has no credentials', async (t) => {
  const { outbound, origin } = await serving(t, () => [404, ''])
  const env = { HOME, AWS_EC2_METADATA_SERVICE_ENDPOINT: origin }
  const error = await t.throwsAsync(openCredentials({ env, readText: noFile, outbound })(), {
    instanceOf: LaunchError,
  })
  t.regex(error?.message ?? '', /no file .*, and the role of the machine was not given: status 404/)
})

test('one call refreshes for all callers five minutes before expiry, and failures are ignored until expiry', async (t) => {
  let time = 1_000_000_000_000
  let isAway = false
  let number = 0
  const { seen, outbound, origin } = await serving(t, async () => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return isAway ? [500, secret] : [200, json(`id${++number}`, time + 3_600_000)]
  })
  const env = { HOME, AWS_CONTAINER_CREDENTIALS_FULL_URI: origin }
  const given = openCredentials({ env, readText: noFile, outbound }, () => time)
  const ids = async (count: number) =>
    new Set((await Promise.all(Array.from({ length: count }, given))).map(({ accessKeyId }) => accessKeyId))
  const until = async (count: number) => {
    while (seen.length < count) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  t.deepEqual([await ids(20), seen.length], [new Set(['id1']), 1])
  time += 3_600_000 - 300_001
  t.deepEqual([await ids(20), seen.length], [new Set(['id1']), 1])
  time += 1
  isAway = true
  t.deepEqual(await ids(20), new Set(['id1']))
  await until(2)
  t.deepEqual([await ids(20), seen.length], [new Set(['id1']), 2])
  time += 10_000
  await new Promise((resolve) => setTimeout(resolve, 200))
  t.deepEqual(await ids(20), new Set(['id1']))
  await until(3)
  time += 290_000
  await new Promise((resolve) => setTimeout(resolve, 200))
  const error = await t.throwsAsync(given(), { instanceOf: BucketError })
  t.true(error?.isUnknown)
  t.notRegex(error?.message ?? '', /SECRET/)
  isAway = false
  t.deepEqual(await ids(20), new Set(['id2']))
})

const failures: readonly (readonly [
  status: number,
  body: string,
  kind: BucketError['kind'],
  told: RegExp,
])[] = [
  [
    403,
    `<ErrorResponse><Error><Code>AccessDenied</Code><Message>no ${token}</Message></Error></ErrorResponse>`,
    'refused',
    /AccessDenied \(403\): no …/,
  ],
  [
    400,
    '<ErrorResponse><Error><Code>IDPCommunicationError</Code><Message>m</Message></Error></ErrorResponse>',
    'unanswered',
    /IDPComm/,
  ],
  [503, '', 'unanswered', /status 503/],
  [429, '', 'busy', /status 429/],
  [200, `<a>${secret}</a>`, 'malformed', /are no credentials/],
  [200, `{"AccessKeyId":"${secret}"}`, 'malformed', /are no credentials/],
]

for (const [status, body, kind, told] of failures)
  test(`a token exchange answered with ${status} ${body.slice(0, 40)} is ${kind}, without secrets`, async (t) => {
    const { outbound, origin } = await serving(t, () => [status, body])
    const given = openCredentials({ env: identityEnv(origin), readText: () => token, outbound })
    const error = await t.throwsAsync(given(), { instanceOf: BucketError })
    t.is(error?.kind, kind)
    t.regex(error?.message ?? '', told)
    t.notRegex(error?.message ?? '', /SECRET|TOKEN/)
  })

for (const status of [302, 307])
  test(`a ${status} redirect of a credentials service is not followed`, async (t) => {
    const elsewhere = await serving(t, () => [200, sts('id', Date.now() + 3_600_000)])
    const { seen, outbound, origin } = await serving(t, () => [status, '', { location: elsewhere.origin }])
    const envs: readonly Readonly<Record<string, string>>[] = [
      identityEnv(origin),
      {
        ...{ HOME, AWS_CONTAINER_CREDENTIALS_FULL_URI: origin },
        AWS_CONTAINER_AUTHORIZATION_TOKEN: token,
      },
      { HOME, AWS_EC2_METADATA_SERVICE_ENDPOINT: origin },
    ]
    for (const env of envs) {
      const readText = (path: string) => (path === '/token' ? token : null)
      const given = openCredentials({ env, readText, outbound })
      const error = await t.throwsAsync(given())
      // The metadata service is the last source, so its failure means that there are no credentials.
      if (!(error instanceof LaunchError)) t.is((error as BucketError).kind, 'refused')
      t.regex(error.message, /the role .*: `127\.0\.0\.1:\d+` redirects to another address/)
      t.notRegex(error.message, /-of-the-tests/)
    }
    t.is(seen.length, envs.length)
    t.deepEqual(elsewhere.seen, [])
  })

const badEnvs: readonly (readonly [env: Readonly<Record<string, string>>, told: RegExp])[] = [
  [{ AWS_WEB_IDENTITY_TOKEN_FILE: '/token' }, /without AWS_ROLE_ARN/],
  ...['http://example.com/', 'http://10.0.0.1/', 'http://127.evil.example/', 'ftp://localhost/', 'x'].map(
    (url) => [{ AWS_CONTAINER_CREDENTIALS_FULL_URI: url }, /must begin with https/] as const,
  ),
]

for (const [env, told] of badEnvs)
  test(`${JSON.stringify(env)} is refused at startup`, (t) => {
    const outbound = openOutbound({ allowedNetworks: 'any' })
    t.throws(() => openCredentials({ env: { HOME, ...env }, readText: noFile, outbound }), {
      instanceOf: LaunchError,
      message: told,
    })
  })
