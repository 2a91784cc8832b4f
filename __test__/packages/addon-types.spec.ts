/** The committed types of the addons equal those that `napi build` generates. */
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { addonBuild, builtTypes } from '../support/requirements.js'
import { testNeeding } from '../support/test-needing.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Reads a file. git may have checked it out with Windows line endings. */
const read = (path: string): string => readFileSync(path, 'utf8').replaceAll('\r\n', '\n')

const committed = {
  engine: 'ts/engine/native/addon-types.ts',
  script: 'ts/engine/script-addon-types.ts',
  embed: 'ts/embedding/models/addon-types.ts',
} as const

for (const which of ['engine', 'script', 'embed'] as const) {
  const needing = testNeeding([addonBuild(which)], test)
  needing(`the types of the addon ${which} equal those of its last build`, (t) => {
    const made = builtTypes(which)
    const path = committed[which]
    const renewal = `cp ${relative(root, made)} ${path}`
    t.is(read(join(root, path)), read(made), renewal)
  })
}
