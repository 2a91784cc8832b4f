/** `siftd migrate --from-typesense`, `--from-algolia`: copies indexes of engines with another API. */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { LaunchError } from '../../launch/index.js'
import { type Outbound, openOutbound } from '../../outbound/index.js'
import { counted, isHttpUrl } from '../../parse/index.js'
import {
  copyForeign,
  describeForeign,
  type Foreign,
  openTypesense,
  readAlgolia,
} from '../../transfer/foreign/index.js'
import { openPeer } from '../../transfer/index.js'
import { authoritiesOf, type CommandOutput, instanceOf } from '../command/index.js'
import { describeInput, openSource } from './import/source.js'
import { DEFAULT_TARGET } from './migrate-target.js'

interface ForeignOptions {
  readonly ca?: string
  readonly from?: string
  readonly fromTypesense?: string
  readonly fromAlgolia?: string
  readonly fromKey?: string
  readonly fromKeyFile?: string
  readonly algoliaSettings?: string
  readonly algoliaSynonyms?: string
  readonly algoliaRules?: string
  readonly index?: readonly string[]
  readonly skip?: readonly string[]
  readonly state?: string
  readonly dryRun?: true
  readonly verify?: true
}

/** Longest file of settings, synonyms or rules in bytes. */
const PART_BYTES_MAX = 64 * 1024 * 1024

const algoliaParts = ['algoliaSettings', 'algoliaSynonyms', 'algoliaRules'] as const

export const isForeign = (options: ForeignOptions): boolean =>
  [options.fromTypesense, options.fromAlgolia, ...algoliaParts.map((part) => options[part])].some(
    (given) => given !== undefined,
  )

export async function migratedForeign(options: ForeignOptions, output: CommandOutput): Promise<void> {
  requireConsistent(options)
  const to = instanceOf('to', { ...options }, DEFAULT_TARGET)
  // The user chose both addresses, so private addresses are allowed.
  const outbound = openOutbound({ allowedNetworks: 'any', ...authoritiesOf(options) })
  try {
    const foreign =
      options.fromTypesense === undefined
        ? await algolia(options)
        : await typesense(outbound, options, options.fromTypesense)
    if (options.dryRun) {
      describeForeign(foreign, output)
      return
    }
    const peer = openPeer(outbound, to)
    await peer.greet()
    const differences = await copyForeign(peer, foreign, output)
    for (const difference of differences) output.line(`differs: ${difference}`)
    output.line(differences.length === 0 ? 'no differences' : counted(differences.length, 'difference'))
    if (differences.length > 0) output.finding()
  } finally {
    await outbound.close()
  }
}

function requireConsistent(options: ForeignOptions): void {
  const sources = [options.from, options.fromTypesense, options.fromAlgolia].filter(Boolean).length
  if (sources > 1) throw new LaunchError('--from, --from-typesense and --from-algolia exclude each other', 2)
  if (options.fromAlgolia === undefined && algoliaParts.some((part) => options[part] !== undefined))
    throw new LaunchError('--algolia-settings, --algolia-synonyms and --algolia-rules need --from-algolia', 2)
  if (options.verify || options.skip !== undefined || options.state !== undefined)
    throw new LaunchError('--verify, --skip and --state work only with --from', 2)
}

async function typesense(outbound: Outbound, options: ForeignOptions, url: string): Promise<Foreign> {
  requireTypesenseUrl(url)
  const { key } = instanceOf('from', { ...options, from: url }, null)
  return openTypesense(outbound, { url, key }, options.index ?? null)
}

function requireTypesenseUrl(url: string): void {
  if (!isHttpUrl(url))
    throw new LaunchError('--from-typesense is not a URL of http or https, such as http://localhost:8108', 2)
}

async function algolia(options: ForeignOptions): Promise<Foreign> {
  const file = options.fromAlgolia!
  const named = options.index ?? []
  if (named.length > 1) throw new LaunchError('--from-algolia copies one index: give one --index', 2)
  const uid = named[0] ?? basename(file).replace(/\.(?:ndjson|jsonl|json)(?:\.gz)?$/i, '')
  if (!/^[A-Za-z0-9_-]+$/.test(uid))
    throw new LaunchError(`\`${uid}\` is no uid of an index; give one by --index`, 2)
  const input = await describeInput(file)
  const { algoliaSettings, algoliaSynonyms, algoliaRules } = options
  return readAlgolia({
    uid,
    records: async function* records() {
      yield* (await openSource(input, { format: null, csvDelimiter: null })).documents()
    },
    settings: algoliaSettings === undefined ? null : await objectIn(algoliaSettings),
    synonyms: algoliaSynonyms === undefined ? [] : await listIn(algoliaSynonyms),
    rules: algoliaRules === undefined ? [] : await listIn(algoliaRules),
  })
}

async function objectIn(file: string): Promise<unknown> {
  const { bytes } = await describeInput(file)
  if ((bytes ?? 0) > PART_BYTES_MAX) throw tooLong(file)
  return parsed(await readFile(file, 'utf8'), file)
}

/** Reads a list from JSON, from NDJSON, or from `hits` in an answer of Algolia. */
async function listIn(file: string): Promise<readonly unknown[]> {
  const source = await openSource(await describeInput(file), { format: null, csvDelimiter: null })
  const entries: unknown[] = []
  let bytes = 0
  for await (const entry of source.documents()) {
    bytes += entry.length
    if (bytes > PART_BYTES_MAX) throw tooLong(file)
    entries.push(parsed(entry.toString(), file))
  }
  const [only] = entries
  const hits = (only as { readonly hits?: unknown } | undefined)?.hits
  return entries.length === 1 && Array.isArray(hits) ? hits : entries
}

function parsed(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new LaunchError(`${file} is not valid JSON: ${(error as Error).message}`, 1)
  }
}

const tooLong = (file: string): LaunchError =>
  new LaunchError(`${file} is longer than ${PART_BYTES_MAX} bytes`, 1)
