/** `siftd` without arguments at a terminal, which `script` of util-linux simulates. */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { tempDir } from '../../backup/archives.js'
import { freePort } from '../../support/ports.js'
import { program } from '../../support/program.js'
import type { Requirement } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'

const terminal: Requirement = {
  missing: /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '')
    ? null
    : 'no `script` of util-linux',
  isDemanded: false,
}

const CTRL_C = '\u0003'

for (const [args, isShown] of [
  [[], true],
  [['--no-analytics'], false],
] as const)
  testNeeding([terminal])(
    `siftd ${args.join(' ')} at a terminal ${isShown ? 'says' : 'does not say'} what to do next`,
    async (t) => {
      const home = await tempDir(t)
      const port = await freePort()
      const command = [process.execPath, program, ...args].map((word) => `'${word}'`).join(' ')
      const child = spawn('script', ['-qefc', command, '/dev/null'], {
        cwd: home,
        detached: true,
        env: {
          ...{ PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, 'config') },
          ...{ SVC_HTTP_ADDR: `127.0.0.1:${port}`, SVC_ENGINE: 'fallback' },
        },
      })
      // The server has a session of its own, so a kill of `script` would leave it running.
      t.teardown(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return
        child.stdin.write(CTRL_C)
        await once(child, 'close')
      })
      let text = ''
      const url = `http://127.0.0.1:${port}`
      const shown = new Promise<void>((resolve, reject) => {
        child.stdout.on('data', (chunk) => {
          text += chunk
          if (text.includes(isShown ? 'search films lighthouse' : 'A new random key')) resolve()
        })
        child.once('close', () => reject(new Error(text)))
      })
      await shown
      t.is(text.includes(`open ${url} and drop a file onto the page`), isShown, text)
      t.is(text.includes(`siftd import films.ndjson --index films --url ${url}`), isShown, text)
    },
  )
