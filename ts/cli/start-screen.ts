import type { Build } from '../launch/index.js'
import { counted } from '../parse/index.js'
import type { Rebuilt } from '../tasks/index.js'
import type { KeyState } from './master-key.js'

interface StartFacts {
  readonly version: string
  readonly build: Build
  readonly configFile: string | null
  readonly directory: string
  readonly url: string
  readonly environment: string
  readonly engine: { readonly kind: string; readonly why: string; readonly reasons: readonly string[] }
  /** Cache size of the engine for all indexes. */
  readonly cacheBytes: number
  readonly taskStore: string
  /** Telemetry state, and its receiver. */
  readonly telemetry: string
  readonly instanceUid: string
  readonly key: KeyState
  /** null: the task store was not rebuilt. */
  readonly rebuilt: Rebuilt | null
}

/** Text that a started server prints, one fact per line. */
export function startScreen(facts: StartFacts): string {
  const lines: readonly (readonly [string, string])[] = [
    ['Config file path', facts.configFile ?? 'none'],
    ['Database path', facts.directory],
    ['Server listening on', facts.url],
    ['Environment', facts.environment],
    ['Commit SHA', facts.build.commitSha],
    ['Commit date', facts.build.commitDate],
    ['Package version', facts.version],
    ['Engine', `${facts.engine.kind} (${facts.engine.why})`],
    ['Cache size', `${Math.floor(facts.cacheBytes / 2 ** 20)} MiB`],
    ['Task store', facts.taskStore],
    ['Telemetry', facts.telemetry],
    ['Instance UID', facts.instanceUid],
    ['Master key', facts.key.kind === 'open' ? 'none' : facts.key.kind === 'short' ? 'too short' : 'set'],
  ]
  const width = Math.max(...lines.map(([label]) => label.length)) + 1
  return [
    '',
    'siftd',
    '',
    ...lines.map(([label, value]) => `${`${label}:`.padEnd(width)} ${JSON.stringify(value)}`),
    ...facts.engine.reasons.map((reason) => `  native engine: ${reason}`),
    ...(facts.rebuilt === null ? [] : ['', ...rebuiltNotice(facts.rebuilt)]),
    '',
    keyNotice(facts.key),
    '',
  ].join('\n')
}

interface NextFacts {
  readonly url: string
  /** The words that start this program, such as `siftd` or `npm start --`. */
  readonly program: string
  readonly needsKey: boolean
}

/** The address that commands use if none is given. */
const DEFAULT_URL = 'http://localhost:7700'

/** The next things to do after a first start, for a person at a terminal. */
export function nextSteps({ url, program, needsKey }: NextFacts): string {
  const options = [
    ...(url === DEFAULT_URL ? [] : [`--url ${url}`]),
    ...(needsKey ? ['--key-file FILE'] : []),
  ].map((option) => ` ${option}`)
  return [
    'Next:',
    `  1. open ${url} and drop a file onto the page`,
    `  2. or in another terminal: ${program} import films.ndjson --index films${options.join('')}`,
    `  3. then search:            ${program} search films lighthouse${options.join('')}`,
    '',
  ].join('\n')
}

function rebuiltNotice({ aside, indexes, missing, salvaged }: Rebuilt): readonly string[] {
  const names = indexes.map(({ uid, documents }) =>
    documents === null ? `${uid} (damaged)` : `${uid} (${counted(documents, 'document')})`,
  )
  return [
    `The task store was rebuilt. Set-aside files are in ${aside}`,
    `  Restored indexes: ${names.join(', ') || 'none'}`,
    ...(missing.length === 0 ? [] : [`  Lost indexes (no directory): ${missing.join(', ')}`]),
    salvaged === null
      ? '  Lost: API keys, webhooks, features, search rules; the old store is unreadable'
      : `  From the old store, maybe outdated: ${counted(salvaged.keys, 'API key')}, ${counted(salvaged.webhooks, 'webhook')}, ${counted(salvaged.values, 'value')} such as features; check for deleted keys that are valid again`,
    ...(salvaged === null || salvaged.damaged === 0
      ? []
      : [`  Lost: ${salvaged.damaged} of these, damaged in the old store`]),
    '  Lost: the task history and enqueued tasks; their uploads were set aside',
  ]
}

function keyNotice(key: KeyState): string {
  if (key.kind === 'protected') return 'A master key is set: requests need a key (Authorization: Bearer …).'
  const problem =
    key.kind === 'open'
      ? 'No master key is set: anyone who can reach this address may do anything.'
      : `The master key has ${key.bytes} bytes; with fewer than 16 bytes it can be guessed.`
  return `WARNING: ${problem}\nA new random key: --master-key ${key.suggestion}`
}
