/** `siftd compare`: runs searches on two instances and prints the differences of their answers. */
import { readFileSync } from 'node:fs'
import { LaunchError } from '../../launch/index.js'
import { openOutbound } from '../../outbound/index.js'
import { counted } from '../../parse/index.js'
import {
  type Answer,
  type Difference,
  differencesOf,
  kinds,
  type PrimaryKeyOf,
} from '../../transfer/compare/differences.js'
import { ASKED_AT_A_TIME, SHOWN_DEFAULT } from '../../transfer/compare/limits.js'
import { type Query, readQueries, searchedIndex, withScores } from '../../transfer/compare/queries.js'
import { shortDiff } from '../../transfer/compare/short-diff.js'
import { isText, listAll, maybe, openPeer, type Peer, PeerError } from '../../transfer/index.js'
import {
  authoritiesOf,
  type CommandOutput,
  caOption,
  countFor,
  defineCommand,
  examples,
  instanceOf,
  jsonOption,
  keyFileOption,
  keyOption,
} from '../command/index.js'

export const compare = defineCommand('compare', (command, output) =>
  command
    .description(`Runs the same searches on two running instances and prints the differences of their answers.

FILE has one search per line (- is the standard input):
  {"indexUid": "films", "q": "solaris", "facets": ["genre"], "limit": 5}
  {"method": "POST", "path": "/multi-search", "body": {"queries": [{"indexUid": "films", "q": "alien"}]}}

The second form is a recorded request; requests that are not searches are skipped.

Compares the ids of the hits in order, totals, facets, and error codes. The exit code is 0 if all answers are equal, 1 if
some differ, both instances refuse every search or an instance fails, 2 for wrong usage.`)
    .argument('<file>', 'The searches')
    .option('--left <url>', 'The first instance')
    .addOption(keyOption('left'))
    .addOption(keyFileOption('left'))
    .option('--right <url>', 'The second instance')
    .addOption(keyOption('right'))
    .addOption(keyFileOption('right'))
    .addOption(caOption)
    .option('--scores', 'Compares ranking scores too, within 0.000001')
    .option('--limit <n>', 'Runs only the first n searches', countFor('--limit'))
    .option(
      '--show <n>',
      `Prints at most n differing searches (default: ${SHOWN_DEFAULT})`,
      countFor('--show'),
    )
    .addOption(jsonOption)
    .addHelpText(
      'after',
      examples(`
        siftd compare --left http://old:7700 --right http://localhost:7700 queries.ndjson
        siftd compare --left http://old:7700 --left-key-file old.key --right http://localhost:7700 --scores log.ndjson`),
    )
    .action((file, options) => compared(file, options, output)),
)

interface CompareOptions {
  readonly ca?: string
  readonly scores?: true
  readonly limit?: number
  readonly show?: number
  readonly json?: true
}

async function compared(path: string, options: CompareOptions, output: CommandOutput): Promise<void> {
  const [left, right] = [instanceOf('left', { ...options }, null), instanceOf('right', { ...options }, null)]
  const { scores, limit = Number.POSITIVE_INFINITY, show: shown = SHOWN_DEFAULT, json = false } = options
  const { queries, skipped } = readQueries(textOf(path), limit)
  const asked = scores ? queries.map(withScores) : queries
  const outbound = openOutbound({ allowedNetworks: 'any', ...authoritiesOf(options) })
  try {
    const sides = { left: openPeer(outbound, left), right: openPeer(outbound, right) }
    const report = new Report(output, { asJson: json, shown })
    await compareAll(sides, asked, (query, found, isRefused) => {
      report.add(query, found, isRefused)
      output.progress('searches', report.asked, asked.length)
    })
    report.end(skipped)
    if (report.differing > 0 || report.isEmpty) output.finding()
  } finally {
    await outbound.close()
  }
}

interface Sides {
  readonly left: Peer
  readonly right: Peer
}

/**
 * Runs all searches, a few at a time.
 * @param compared called for each search in the order of the file; `isRefused`: both instances refuse it
 */
async function compareAll(
  { left, right }: Sides,
  queries: readonly Query[],
  compared: (query: Query, found: readonly Difference[], isRefused: boolean) => void,
): Promise<void> {
  await left.greet()
  await right.greet()
  const indexes = await listAll<{ uid: string; primaryKey: string | null }>(left, '/indexes', {
    uid: isText,
    primaryKey: maybe(isText),
  })
  const primaryKeys = new Map(indexes.map(({ uid, primaryKey }) => [uid, primaryKey]))
  const primaryKeyOf: PrimaryKeyOf = (uid) => primaryKeys.get(uid) ?? null
  for (let at = 0; at < queries.length; at += ASKED_AT_A_TIME) {
    const some = queries.slice(at, at + ASKED_AT_A_TIME)
    const pairs = await Promise.all(
      some.map((query) => Promise.all([answerOf(left, query), answerOf(right, query)])),
    )
    for (const [position, query] of some.entries()) {
      const [a, b] = pairs[position]!
      const isRefused = a.kind === 'refused' && b.kind === 'refused'
      compared(query, differencesOf(a, b, searchedIndex(query.path), primaryKeyOf), isRefused)
    }
  }
}

/** A refused search counts as an answer, since both sides may refuse it. A refused key is an error. */
async function answerOf(peer: Peer, { method, path, body }: Query): Promise<Answer> {
  try {
    const call = { isRepeatable: true, ...(body !== null && { body }) }
    return { kind: 'answered', body: await peer.json(method, path, call) }
  } catch (error) {
    const isRefusal = error instanceof PeerError && (error.status === 400 || error.status === 404)
    if (!isRefusal) throw error
    return { kind: 'refused', code: error.apiCode ?? String(error.status) }
  }
}

/** Prints differences when they are found, and counts them by kind. */
class Report {
  readonly #output: CommandOutput
  readonly #options: { readonly asJson: boolean; readonly shown: number }
  readonly #counts = new Map<string, number>()
  asked = 0
  differing = 0
  /** Searches that both instances refuse. Whether they are equal says nothing about hits. */
  #refused = 0

  constructor(output: CommandOutput, options: { readonly asJson: boolean; readonly shown: number }) {
    this.#output = output
    this.#options = options
  }

  /** True if no search was answered. */
  get isEmpty(): boolean {
    return this.#refused === this.asked
  }

  add({ line, path, body }: Query, found: readonly Difference[], isRefused: boolean): void {
    this.asked += 1
    if (isRefused) this.#refused += 1
    if (found.length === 0) return
    this.differing += 1
    for (const kind of new Set(found.map((difference) => difference.kind)))
      this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1)
    if (this.differing > this.#options.shown) return
    if (this.#options.asJson) {
      this.#output.line(JSON.stringify({ line, path, body, differences: found }))
      return
    }
    this.#output.line(`line ${line}: ${path} ${body === null ? '' : JSON.stringify(body)}`)
    for (const difference of found) {
      const { kind, query } = difference
      const where = query === null ? '' : ` of query ${query}`
      this.#output.line(`  ${kind}${where}: ${shortDiff(difference)}`)
    }
  }

  end(skipped: number): void {
    const counts = Object.fromEntries(
      kinds.filter((kind) => this.#counts.has(kind)).map((kind) => [kind, this.#counts.get(kind)]),
    )
    const { asked, differing } = this
    if (this.#options.asJson) {
      this.#output.line(
        JSON.stringify({
          ...{ asked, equal: asked - differing, differing, refused: this.#refused, skipped },
          kinds: counts,
        }),
      )
      return
    }
    if (differing > this.#options.shown)
      this.#output.line(`… and ${differing - this.#options.shown} more (--show prints more)`)
    const byKind = Object.entries(counts).map(([kind, count]) => `${kind} ${count}`)
    const others =
      skipped === 0
        ? ''
        : `, skipped ${counted(skipped, 'request')} that ${skipped === 1 ? 'is no search' : 'are no searches'}`
    const verb = differing === 1 ? 'differs' : 'differ'
    const refused = this.#refused === 0 ? '' : `, ${this.#refused} refused by both`
    this.#output.line(
      `${counted(asked, 'search', 'searches')}, ${asked - differing} equal, ${differing} ${verb}${refused}${others}`,
    )
    if (this.isEmpty)
      this.#output.note('no search was answered: check the uids of indexes and the parameters in the file')
    if (byKind.length > 0) this.#output.line(`by kind: ${byKind.join(', ')}`)
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path === '-' ? process.stdin.fd : path, 'utf8')
  } catch (error) {
    throw new LaunchError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`, 2)
  }
}
