/** A server uses TLS. Renewal, refusals and HTTP/2 are in `process/tls/`. */
import { readFile } from 'node:fs/promises'
import { get } from 'node:https'
import { makeAuthority, openssl } from '../support/openssl.js'
import { ServerProcess } from '../support/server-process.js'
import { testNeeding } from '../support/test-needing.js'

testNeeding([openssl])('a client that trusts the authority gets an answer over TLS', async (t) => {
  const authority = await makeAuthority(t)
  const { cert, key } = await authority.issue('server')
  const started = await ServerProcess.start({
    data: authority.path('data'),
    engine: 'fallback',
    args: ['--ssl-cert-path', cert, '--ssl-key-path', key],
    startMsMax: 60_000,
  })
  if (started.kind !== 'listening') throw new Error(started.errors)
  t.teardown(() => started.server.kill())
  const ca = await readFile(authority.certificate)
  const status = await new Promise((resolve, reject) => {
    get(`${started.server.url}/health`, { ca }, (answer) => resolve(answer.resume().statusCode)).on(
      'error',
      reject,
    )
  })
  t.is(status, 200)
})
