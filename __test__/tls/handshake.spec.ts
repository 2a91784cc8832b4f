import type { AddressInfo } from 'node:net'
import type { ExecutionContext } from 'ava'
import { openLogWithOutlets } from '../../ts/telemetry/index.js'
import { openTls, type SslOptions } from '../../ts/tls/index.js'
import { type Authority, clientTranscript, makeAuthority, openssl } from '../support/openssl.js'
import { testNeeding } from '../support/test-needing.js'

const test = testNeeding([openssl])

const request = 'GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n'

interface World {
  readonly authority: Authority
  readonly port: number
}

/** A server that answers every request with `served`, with a certificate of a test authority. */
async function serve(
  t: ExecutionContext,
  options: (authority: Authority) => Partial<SslOptions> | Promise<Partial<SslOptions>> = () => ({}),
): Promise<World> {
  const authority = await makeAuthority(t)
  const { cert, key } = await authority.issue('server')
  const { log } = openLogWithOutlets({ level: 'OFF', mode: 'JSON' })
  const tls = await openTls(
    {
      sslCertPath: cert,
      sslKeyPath: key,
      sslAuthPath: null,
      sslOcspPath: null,
      sslRequireAuth: false,
      sslResumption: false,
      sslTickets: false,
      ...(await options(authority)),
    },
    log,
  )
  if (tls === null) throw new Error('a certificate is given')
  const server = tls.createServer((_request, response) => void response.end('served'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    tls.close()
    server.close()
    server.closeAllConnections()
  })
  return { authority, port: (server.address() as AddressInfo).port }
}

test('TLS 1.2 and 1.3 are accepted, older versions are refused', async (t) => {
  const { authority, port } = await serve(t)
  const trusting = ['-CAfile', authority.certificate]
  for (const [version, expected] of [
    ['-tls1_2', /Protocol *: TLSv1\.2[\s\S]*Verify return code: 0 \(ok\)[\s\S]*served/],
    ['-tls1_3', /New, TLSv1\.3[\s\S]*Verify return code: 0 \(ok\)[\s\S]*served/],
    ['-tls1_1', /alert protocol version/],
    ['-tls1', /alert protocol version/],
  ] as const) {
    const weak = ['-cipher', 'DEFAULT@SECLEVEL=0']
    t.regex(await clientTranscript(port, [version, ...trusting, ...weak], request), expected, version)
  }
})

test('cipher suites without forward secrecy or authenticated encryption are refused', async (t) => {
  const { port } = await serve(t)
  for (const suite of ['AES128-GCM-SHA256', 'ECDHE-ECDSA-AES128-SHA']) {
    t.regex(await clientTranscript(port, ['-tls1_2', '-cipher', suite]), /alert handshake failure/, suite)
  }
})

test('a client chooses HTTP/2 or HTTP/1.1 by ALPN, and without it gets HTTP/1.1', async (t) => {
  const { port } = await serve(t)
  t.regex(await clientTranscript(port, ['-alpn', 'h2,http/1.1']), /ALPN protocol: h2/)
  const older = await clientTranscript(port, ['-alpn', 'http/1.1'], request)
  t.regex(older, /ALPN protocol: http\/1\.1[\s\S]*HTTP\/1\.1 200 OK[\s\S]*served/)
  t.regex(await clientTranscript(port, [], request), /No ALPN negotiated[\s\S]*HTTP\/1\.1 200 OK/)
  t.regex(await clientTranscript(port, ['-alpn', 'gopher']), /alert no application protocol/)
})

for (const isRequired of [false, true]) {
  const demand = isRequired ? 'required' : 'optional'
  test(`client certificates, ${demand}: a certificate of the authority is accepted, others are refused`, async (t) => {
    const { authority, port } = await serve(t, ({ certificate }) => ({
      sslAuthPath: certificate,
      sslRequireAuth: isRequired,
    }))
    const stranger = await makeAuthority(t)
    const [known, unknown] = [await authority.issue('client'), await stranger.issue('client')]
    const isServed = async (args: readonly string[]): Promise<boolean> =>
      (await clientTranscript(port, args, request)).includes('served')
    for (const version of ['-tls1_2', '-tls1_3']) {
      t.true(await isServed([version, '-cert', known.cert, '-key', known.key]), `${version}: known`)
      t.false(await isServed([version, '-cert', unknown.cert, '-key', unknown.key]), `${version}: stranger`)
      t.is(await isServed([version]), !isRequired, `${version}: none`)
    }
  })
}

test('the OCSP response is stapled for clients that ask for it', async (t) => {
  const { authority, port } = await serve(t, async (one) => ({
    sslOcspPath: await one.vouch(one.path('server.pem')),
  }))
  for (const version of ['-tls1_2', '-tls1_3']) {
    const trusting = ['-CAfile', authority.certificate]
    const stapled = await clientTranscript(port, [version, '-status', ...trusting])
    t.regex(stapled, /OCSP Response Status: successful[\s\S]*Cert Status: good/, version)
    t.notRegex(await clientTranscript(port, [version, ...trusting]), /OCSP Response/, version)
  }
  const without = await serve(t)
  t.regex(await clientTranscript(without.port, ['-status']), /OCSP response: no response sent/)
})

test('sessions are resumed by id or by tickets, if the option allows it', async (t) => {
  const cases: readonly { readonly options: Partial<SslOptions>; readonly resumes: readonly string[] }[] = [
    { options: {}, resumes: [] },
    // TLS 1.3 only has tickets.
    { options: { sslResumption: true }, resumes: ['-tls1_2'] },
    { options: { sslTickets: true }, resumes: ['-tls1_2', '-tls1_3'] },
    { options: { sslResumption: true, sslTickets: true }, resumes: ['-tls1_2', '-tls1_3'] },
  ]
  for (const { options, resumes } of cases) {
    const { authority, port } = await serve(t, () => options)
    for (const version of ['-tls1_2', '-tls1_3']) {
      const session = authority.path(`session${version}`)
      const first = await clientTranscript(port, [version, '-sess_out', session], request)
      const again = await clientTranscript(port, [version, '-sess_in', session], request)
      const message = `${JSON.stringify(options)} ${version}`
      t.regex(first, /^New, TLSv1/m, message)
      t.regex(again, resumes.includes(version) ? /^Reused, TLSv1/m : /^New, TLSv1|No such file/m, message)
      const hasTicket = /TLS session ticket:/.test(first)
      if (version === '-tls1_2') t.is(hasTicket, 'sslTickets' in options, message)
    }
  }
})
