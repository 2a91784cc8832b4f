/** The SDKs under test: their versions, and how their scripts are installed and built. */
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const execute = promisify(execFile)

export interface Language {
  readonly title: string
  /** Name in its package registry. */
  readonly package: string
  readonly version: string
  /** Commands that succeed if the toolchain is installed. */
  readonly toolchain: readonly string[]
  /** The two lines of a program that connect to siftd. */
  readonly connect: { readonly fence: string; readonly lines: readonly [string, string] }
  /** Downloads the SDK into an empty folder. Called once per version. */
  install(folder: string): Promise<void>
  /** Copies the script next to the SDK and builds it. @returns the command that runs it */
  build(folder: string): Promise<readonly [string, ...string[]]>
}

export const root = fileURLToPath(new URL('../../../', import.meta.url))

const script = (language: string, name: string) => join(root, 'trials/clients', language, name)

const run = (folder: string, command: string, ...args: readonly string[]) =>
  execute(command, args, { cwd: folder, maxBuffer: 64 * 2 ** 20 })

/** The version that this repository's tests have installed. */
const javascriptVersion = (): string =>
  JSON.parse(readFileSync(join(root, 'node_modules/meilisearch/package.json'), 'utf8')).version

const javascript: Language = {
  title: 'JavaScript',
  package: 'meilisearch (npm)',
  version: javascriptVersion(),
  toolchain: ['node --version'],
  connect: {
    fence: 'js',
    lines: [
      "import { Meilisearch } from 'meilisearch'",
      "const client = new Meilisearch({ host: 'http://localhost:7700', apiKey: 'the master key' })",
    ],
  },
  async install() {},
  async build() {
    return [process.execPath, script('javascript', 'client.mjs')]
  },
}

const python: Language = {
  title: 'Python',
  package: 'meilisearch (PyPI)',
  version: '0.43.0',
  toolchain: ['python3 -m venv --help'],
  connect: {
    fence: 'python',
    lines: ['import meilisearch', 'client = meilisearch.Client("http://localhost:7700", "the master key")'],
  },
  async install(folder) {
    await run(folder, 'python3', '-m', 'venv', 'venv')
    await run(folder, 'venv/bin/python', '-m', 'pip', 'install', '--quiet', `meilisearch==${this.version}`)
  },
  async build(folder) {
    return [join(folder, 'venv/bin/python'), script('python', 'client.py')]
  },
}

const go: Language = {
  title: 'Go',
  package: 'github.com/meilisearch/meilisearch-go',
  version: '0.37.0',
  toolchain: ['go version'],
  connect: {
    fence: 'go',
    lines: [
      'import "github.com/meilisearch/meilisearch-go"',
      'client := meilisearch.New("http://localhost:7700", meilisearch.WithAPIKey("the master key"))',
    ],
  },
  async install(folder) {
    await run(folder, 'go', 'mod', 'init', 'clients')
    await run(folder, 'go', 'get', `${this.package}@v${this.version}`)
  },
  async build(folder) {
    await copyFile(script('go', 'client.go'), join(folder, 'client.go'))
    await run(folder, 'go', 'build', '-o', 'client', '.')
    return [join(folder, 'client')]
  },
}

const rust: Language = {
  title: 'Rust',
  package: 'meilisearch-sdk (crates.io)',
  version: '0.33.0',
  toolchain: ['cargo --version'],
  connect: {
    fence: 'rust',
    lines: [
      'use meilisearch_sdk::client::Client;',
      'let client = Client::new("http://localhost:7700", Some("the master key"))?;',
    ],
  },
  async install(folder) {
    const manifest = [
      '[package]',
      'name = "client"',
      'version = "0.0.0"',
      'edition = "2021"',
      '[workspace]',
      '[[bin]]',
      'name = "client"',
      'path = "client.rs"',
      '[profile.dev]',
      'debug = false',
      '[dependencies]',
      // No TLS: a local server does not need it, and it would compile a C library.
      `meilisearch-sdk = { version = "=${this.version}", default-features = false, features = ["reqwest", "jwt_rust_crypto"] }`,
      'serde_json = "1"',
      'time = "0.3"',
      'tokio = { version = "1", features = ["macros", "rt", "time"] }',
    ]
    await writeFile(join(folder, 'Cargo.toml'), `${manifest.join('\n')}\n`)
  },
  async build(folder) {
    await copyFile(script('rust', 'client.rs'), join(folder, 'client.rs'))
    await run(folder, 'cargo', 'build', '--quiet', '--target-dir', 'target')
    return [join(folder, 'target/debug/client')]
  },
}

const java: Language = {
  title: 'Java',
  package: 'com.meilisearch.sdk:meilisearch-java',
  version: '0.15.0',
  toolchain: ['java -version', 'mvn --version'],
  connect: {
    fence: 'java',
    lines: [
      'import com.meilisearch.sdk.*;',
      'Client client = new Client(new Config("http://localhost:7700", "the master key"));',
    ],
  },
  async install(folder) {
    const [group, artifact] = this.package.split(':')
    const project = [
      '<project xmlns="http://maven.apache.org/POM/4.0.0">',
      '<modelVersion>4.0.0</modelVersion>',
      '<groupId>clients</groupId><artifactId>clients</artifactId><version>0</version>',
      '<dependencies><dependency>',
      `<groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${this.version}</version>`,
      '</dependency></dependencies>',
      '</project>',
    ]
    await mkdir(join(folder, 'lib'))
    await writeFile(join(folder, 'pom.xml'), `${project.join('\n')}\n`)
    await run(folder, 'mvn', '-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib')
  },
  async build(folder) {
    return ['java', '-cp', join(folder, 'lib', '*'), script('java', 'Client.java')]
  },
}

export const languages = { javascript, python, go, rust, java } as const satisfies Record<string, Language>
export type LanguageName = keyof typeof languages

/** Returns why the script of a language cannot run on this machine, or null. */
export function missingToolchain({ toolchain }: Language): string | null {
  const missing = toolchain.find((command) => {
    const [program = '', ...args] = command.split(' ')
    return spawnSync(program, args, { stdio: 'ignore' }).status !== 0
  })
  return missing === undefined ? null : `\`${missing}\` fails on this machine`
}
