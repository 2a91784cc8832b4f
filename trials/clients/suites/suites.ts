/** The test suites that packages of the SDKs ship, and the failures that siftd does not mean to mend. */
import { execFile } from 'node:child_process'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type LanguageName, languages, root } from '../languages.js'
import { goOutcome, type KnownFailure, rustOutcome, type SuiteOutcome } from './outcome.js'

const execute = promisify(execFile)

export interface Suite {
  readonly language: LanguageName
  /** Number of tests without subtests. A suite that runs another number fails. */
  readonly tests: number
  /** Tests that skip themselves. */
  readonly skipped: number
  readonly known: readonly KnownFailure[]
  /** Gets the package with its tests, into an empty folder. Called once per version. */
  install(folder: string): Promise<void>
  /** The command that builds and runs the tests in that folder. */
  readonly command: readonly [string, ...string[]]
  outcome(output: string): SuiteOutcome
}

/** The Go suite contains this master key. */
export const MASTER_KEY = 'masterKey'

const goModule = languages.go.package

const go: Suite = {
  language: 'go',
  tests: 436,
  skipped: 1,
  known: [
    {
      reason: 'Go: `sampledCount` as an order of facet values is newer than 1.57.',
      tests: [
        'TestIndex_ResetFacetingAfterSampledCount',
        'TestIndex_UpdateFaceting/TestIndexSortFacetValuesBySampledCountFaceting',
        'TestIndex_UpdateFaceting/TestIndexSortFacetValuesAllIndexBySampledCountFaceting',
      ],
    },
    {
      reason: 'Go: the tests download a model of Hugging Face.',
      tests: [
        'TestIndex_UpdateSettingsEmbedders/TestIndexUpdateSettingsEmbeddersHuggingFace',
        'TestIndex_UpdateSettingsEmbedders/TestIndexUpdateSettingsEmbeddersComposite',
      ],
    },
    {
      reason: 'Go: documents fill pages of 4 KiB in the storage of Meilisearch.',
      tests: [
        'TestIndex_GetStats/TestIndexBasicGetStats',
        'TestIndex_GetStats/TestIndexGetStatsWithCustomClient',
        'TestIndex_GetStats/TestIndexBasicGetStatsWithRawFormat',
        'TestIndex_GetStats/TestIndexBasicGetStatsWithHumanFormat',
      ],
    },
    {
      reason: 'Go: siftd refuses a `leader` of the network.',
      tests: ['Test_UpdateNetwork/SetNetworkLeader', 'Test_UpdateNetwork/RemoveNetworkLeader'],
    },
    {
      reason: 'Go: the test expects the status `available` of `https://updated.com`.',
      tests: ['Test_UpdateNetwork/UpdateRemoteAndSelf'],
    },
    {
      reason: 'Go: the tests expect a processing time of 0 ms. They often pass.',
      tests: [
        'TestClient_MultiSearch/TestClientMultiSearchOneIndex',
        'TestClient_MultiSearch/TestClientMultiSearchOnTwoIndexes',
      ],
    },
  ],
  async install(folder) {
    const options = { cwd: folder }
    await execute('go', ['mod', 'init', 'suites'], options)
    await execute('go', ['get', '-t', `${goModule}/integration@v${languages.go.version}`], options)
  },
  command: ['go', 'test', '-v', '-count=1', '-timeout=30m', `${goModule}/integration`],
  outcome: goOutcome,
}

/** Dependencies of tests for browsers. They take minutes to compile. */
const browserDependencies = /^\[dev-dependencies\.(console_error_panic_hook|wasm-bindgen.*|web-sys|yew)\]/

const rust: Suite = {
  language: 'rust',
  tests: 194,
  skipped: 0,
  known: [],
  async install(folder) {
    const [name] = languages.rust.package.split(' ')
    const manifest = join(folder, 'Cargo.toml')
    const empty = [
      ...['[package]', 'name = "suites"', 'version = "0.0.0"', '[workspace]', '[lib]', 'path = "lib.rs"'],
      ...['[dependencies]', `${name} = "=${languages.rust.version}"`],
    ]
    await writeFile(manifest, `${empty.join('\n')}\n`)
    await writeFile(join(folder, 'lib.rs'), '')
    const { stdout } = await execute('cargo', ['metadata', '--format-version', '1'], {
      cwd: folder,
      maxBuffer: 64 * 2 ** 20,
    })
    const { packages } = JSON.parse(stdout) as { packages: { name: string; manifest_path: string }[] }
    const downloaded = packages.find((it) => it.name === name)
    if (downloaded === undefined) throw new Error(`cargo metadata does not list ${name}`)
    await cp(dirname(downloaded.manifest_path), folder, { recursive: true, force: true })
    const sections = (await readFile(manifest, 'utf8')).split(/\n(?=\[)/)
    const kept = sections.filter((section) => !browserDependencies.test(section))
    const macro = join(root, 'trials/clients/suites/meilisearch-test-macro')
    const added = [
      ['[dev-dependencies.meilisearch-test-macro]', `path = ${JSON.stringify(macro)}`],
      ['[workspace]'],
      ['[profile.dev]', 'debug = false'],
    ]
    await writeFile(manifest, `${[...kept, ...added.map((lines) => lines.join('\n'))].join('\n\n')}\n`)
  },
  command: [
    ...(['cargo', 'test', '--lib', '--no-fail-fast', '--target-dir', 'target'] as const),
    // No TLS: a local server does not need it, and it would compile a C library.
    ...['--no-default-features', '--features', 'reqwest,jwt_rust_crypto'],
  ],
  outcome: rustOutcome,
}

export const suites: readonly Suite[] = [go, rust]
