/**
 * npm run trials -- clients [--only python,go --engine native,fallback --save | --suites]
 *
 * Runs a script of each SDK against siftd. Exits with 1 if a step fails or docs/clients.md is out of date.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { isCi, nativeEngine } from '../../__test__/support/requirements.js'
import { type LanguageName, languages, missingToolchain, root } from './languages.js'
import { page } from './page.js'
import { type ServersName, servers } from './servers.js'
import { steps } from './steps.js'
import { suiteTrials } from './suites/trial.js'
import { clientTrial, ready } from './trial.js'

const help = `npm run trials -- clients [options]

Installs the SDK of each language into node_modules/.cache, starts a fresh server, and runs a script that creates an
index, adds documents, searches in every way, and uses keys, tenant tokens, tasks and a dump.

  --only LIST      languages: ${Object.keys(languages).join(', ')}   (default: all)
  --engine LIST    native, fallback or both                     (default native,fallback)
  --servers LIST   one; two: a leader and a follower, each request goes to the other one   (default one)
  --suites         run the tests that the packages of the SDKs ship instead (Go, Rust); exits with 1 if a test fails
                   without a known reason
  --save           write docs/clients.md if all steps passed

Examples
  npm run trials -- clients
  npm run trials -- clients --only python,go --engine native
  npm run trials -- clients --suites --only go`

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(languages).join(',') },
    engine: { type: 'string', default: 'native,fallback' },
    servers: { type: 'string', default: 'one' },
    suites: { type: 'boolean', default: false },
    save: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}

const isLanguage = (name: string): name is LanguageName => Object.hasOwn(languages, name)
const isEngine = (name: string): name is 'native' | 'fallback' => name === 'native' || name === 'fallback'
const isServers = (name: string): name is ServersName => Object.hasOwn(servers, name)
const unknown = [
  ...values.servers.split(',').filter((name) => !isServers(name)),
  ...values.only.split(',').filter((name) => !isLanguage(name)),
  ...values.engine.split(',').filter((name) => !isEngine(name)),
]
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(', ')}\n\n${help}`)
  process.exit(2)
}

if (values.suites) {
  const problems = await suiteTrials({
    names: values.only.split(',').filter(isLanguage),
    engines: values.engine.split(',').filter(isEngine),
  })
  for (const problem of problems) console.log(problem)
  process.exit(problems.length > 0 ? 1 : 0)
}

const failures: string[] = []
const skipped: string[] = []
let trials = 0
console.log('| language | SDK version | engine | steps |\n|---|---|---|---|')
const row = (name: LanguageName, engine: string, result: string) =>
  console.log(`| ${languages[name].title} | ${languages[name].version} | ${engine} | ${result} |`)

for (const name of values.only.split(',').filter(isLanguage)) {
  const noToolchain = missingToolchain(languages[name])
  if (noToolchain !== null) {
    skipped.push(`${name}: ${noToolchain}`)
    row(name, '', `skipped: ${noToolchain}`)
    continue
  }
  // An unreachable registry or a compile error fails only this language.
  const command = await ready(name).catch((error: Error) => {
    failures.push(`${name}: ${error.message}`)
    row(name, '', 'not installed')
    return null
  })
  if (command === null) continue
  for (const engine of values.engine.split(',').filter(isEngine)) {
    if (engine === 'native' && nativeEngine.missing !== null) {
      skipped.push(`${name}, native: ${nativeEngine.missing}`)
      row(name, engine, 'skipped: no native engine')
      continue
    }
    trials += 1
    for (const behind of values.servers.split(',').filter(isServers)) {
      const { passed, failed } = await clientTrial(command, engine, behind)
      const title = behind === 'one' ? engine : `${engine}, ${behind} servers`
      row(name, title, `${passed.length} of ${steps.length}`)
      failures.push(...failed.map((failure) => `${name}, ${title}: ${failure}`))
    }
  }
}
for (const failure of failures) console.log(failure)

const path = join(root, 'docs/clients.md')
const isComplete = failures.length === 0 && trials === 2 * Object.keys(languages).length
if (values.save && isComplete) await writeFile(path, page())
else if (values.save) console.log('docs/clients.md not written: not every script passed on both engines')
else if ((await readFile(path, 'utf8')) !== page()) {
  failures.push('docs/clients.md')
  console.log('docs/clients.md is out of date; update it with `npm run trials -- clients --save`')
}
// In CI a missing toolchain is a failure, so that no change passes untested.
const hasMissing = skipped.length > 0 && isCi
if (hasMissing) console.log(`skipped, which is an error in CI:\n${skipped.join('\n')}`)
process.exitCode = failures.length > 0 || hasMissing ? 1 : 0
