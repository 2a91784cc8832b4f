/** Commands against a server whose certificate this machine does not trust. */
import { writeFile } from 'node:fs/promises'
import { runCommand } from '../../support/command.js'
import { makeAuthority, openssl } from '../../support/openssl.js'
import { MASTER_KEY, ServerProcess } from '../../support/server-process.js'
import { testNeeding } from '../../support/test-needing.js'

testNeeding([openssl])(
  'a certificate of an unknown authority is named, and trusted by --ca or SVC_CA',
  async (t) => {
    const authority = await makeAuthority(t)
    const { cert, key } = await authority.issue('server')
    const started = await ServerProcess.start({
      data: authority.path('data'),
      engine: 'fallback',
      env: { SVC_SSL_CERT_PATH: cert, SVC_SSL_KEY_PATH: key },
      startMsMax: 60_000,
    })
    if (started.kind !== 'listening') return t.fail(JSON.stringify(started))
    t.teardown(() => started.server.kill())
    const url = started.server.url.replace('localhost', '127.0.0.1')
    const list = ['indexes', 'list', '--url', url, '--key', MASTER_KEY]

    const refused = await runCommand(list)
    t.is(refused.code, 1)
    t.regex(
      refused.errors.join('\n'),
      /the certificate of `127\.0\.0\.1:\d+` is of an unknown authority \(server for DNS:localhost, IP Address:127\.0\.0\.1, issued by authority, valid until .*\); if you trust it, give the certificate of its authority by --ca FILE$/,
    )

    for (const [args, env] of [
      [['--ca', authority.certificate], {}],
      [[], { SVC_CA: authority.certificate }],
    ] as const) {
      const trusted = await runCommand([...list, ...args], '', env)
      t.is(trusted.code, 0, trusted.errors.join('\n'))
    }
    const health = ['health', '--url', url]
    t.is((await runCommand(health)).code, 1)
    t.is((await runCommand([...health, '--ca', authority.certificate])).code, 0)
    const compared = [
      'compare',
      '--left',
      url,
      '--right',
      url,
      '--left-key',
      MASTER_KEY,
      '--right-key',
      MASTER_KEY,
      '-',
    ]
    t.is(
      (
        await runCommand(
          [...compared, '--ca', authority.certificate],
          '{"path": "/multi-search", "body": {"queries": []}}',
        )
      ).code,
      0,
    )

    const noCertificate = authority.path('no.pem')
    await writeFile(noCertificate, 'nothing')
    for (const [file, message] of [
      [noCertificate, /--ca: .*no\.pem holds no certificate in PEM form/],
      [authority.path('gone.pem'), /--ca: .*gone\.pem cannot be read: ENOENT/],
    ] as const) {
      const wrong = await runCommand([...list, '--ca', file])
      t.is(wrong.code, 2)
      t.regex(wrong.errors.join('\n'), message)
    }
  },
)
