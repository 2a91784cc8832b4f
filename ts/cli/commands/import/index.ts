/** `siftd import`: adds files of documents to an index of a server. */

import { LaunchError } from '../../../launch/index.js'
import { counted } from '../../../parse/index.js'
import type { Peer } from '../../../transfer/index.js'
import {
  type CommandOutput,
  defineCommand,
  examples,
  Option,
  type ServerOptions,
  StateFile,
  serverOf,
} from '../../command/index.js'
import { onServer, withServer } from '../service.js'
import { pathOf } from '../task-output.js'
import { batchesOf } from './batches.js'
import { BATCH_BYTES } from './limits.js'
import { Pace } from './pace.js'
import { describeInput, formats, type Input, openSource, type Source, type SourceOptions } from './source.js'
import { type Refused, Uploader } from './upload.js'

export const importDocuments = defineCommand('import', (command, output) =>
  onServer(command)
    .description(`Adds the documents of files to an index and waits until they are searchable.

Reads NDJSON, JSON and CSV, also compressed with gzip; - is the standard input. Files are read and sent in batches, so they
may be of any size. Refused documents are listed with the reason; all others are indexed. To continue an interrupted import,
run the same command again. The exit code is 0 if all documents are indexed, 1 if a document was refused or the server
failed, 2 for wrong usage.`)
    .argument('<files...>', 'The files')
    .requiredOption('--index <uid>', 'The index. It is created if it does not exist')
    .option(
      '--primary-key <field>',
      'The field that identifies documents (default: guessed from the first documents)',
    )
    .option('--update', 'Merges documents with the same id instead of replacing them')
    .addOption(
      new Option(
        '--format <format>',
        'Format of the input (default: from the file name, or the first bytes)',
      ).choices(formats),
    )
    .option(
      '--csv-delimiter <character>',
      'Delimiter of CSV cells (default: a comma, or a tab for .tsv)',
      delimiterOf,
    )
    .option('--batch-bytes <n>', `Bytes per request (default: ${BATCH_BYTES})`, bytesOf)
    .option(
      '--state <file>',
      'File with the progress until everything is imported (default: siftd-import-….json in the current directory)',
    )
    .option('--json', 'Prints the result as a JSON object')
    .addHelpText(
      'after',
      examples(`
        siftd import films.ndjson --index films --primary-key id
        siftd import part-*.csv.gz --index orders --url https://search.example.com --key-file admin.key
        zcat films.ndjson.gz | siftd import - --index films`),
    )
    .action((files, options) => imported(files, options, output)),
)

interface ImportOptions extends ServerOptions {
  readonly index: string
  readonly primaryKey?: string | undefined
  readonly update?: true | undefined
  readonly format?: SourceOptions['format'] | undefined
  readonly csvDelimiter?: string | undefined
  readonly batchBytes?: number | undefined
  readonly state?: string | undefined
  readonly json?: true | undefined
}

/** Import progress of an input. */
interface InputState {
  /** Number of documents from its beginning that are indexed or refused. */
  readonly documents: number
}

async function imported(
  files: readonly string[],
  options: ImportOptions,
  output: CommandOutput,
): Promise<void> {
  const inputs: Input[] = []
  for (const file of files) inputs.push(await describeInput(file))
  const interrupted = new AbortController()
  const interrupt = (): void => interrupted.abort()
  process.once('SIGINT', interrupt)
  const run = new Import(inputs, options, output)
  try {
    await withServer(options, (peer) => run.all(peer), { signal: interrupted.signal })
  } catch (error) {
    if (!interrupted.signal.aborted) throw error
    const isRepeatable = inputs.every(({ identity }) => identity !== null)
    const hint = isRepeatable ? '; the same command continues from there' : ''
    throw new LaunchError(`interrupted after ${run.summary}${hint}`, 1)
  } finally {
    process.off('SIGINT', interrupt)
  }
  run.report()
}

class Import {
  readonly #inputs: readonly Input[]
  readonly #options: ImportOptions
  readonly #output: CommandOutput
  readonly #refused: (Refused & { readonly file: string })[] = []
  readonly #pace: Pace
  #documents = 0

  constructor(inputs: readonly Input[], options: ImportOptions, output: CommandOutput) {
    this.#inputs = inputs
    this.#options = options
    this.#output = output
    const sizes = inputs.map(({ bytes }) => bytes)
    this.#pace = new Pace(
      output,
      sizes.includes(null) ? 0 : sizes.reduce((sum: number, one) => sum + one!, 0),
    )
  }

  get summary(): string {
    return counted(this.#documents, 'document')
  }

  async all(peer: Peer): Promise<void> {
    // Reports a wrong address at once, not after the retries that bridge a server restart.
    await peer.greet()
    const { index, state: path = null } = this.#options
    const identities = this.#inputs.map(({ path: file, identity }) => `${file} ${identity}`)
    // Two servers may differ only in the path of a proxy.
    const { href } = new URL(serverOf(this.#options).url)
    const state = await StateFile.open<InputState>(path, 'import', [href, index, ...identities])
    let before = 0
    for (const input of this.#inputs) {
      await this.#one(peer, input, state, before)
      before += input.bytes ?? 0
    }
    await state.remove()
  }

  /** @param before bytes of the inputs before this one */
  async #one(peer: Peer, input: Input, state: StateFile<InputState>, before: number): Promise<void> {
    const { format = null, csvDelimiter = null, batchBytes = BATCH_BYTES, update } = this.#options
    const source = await openSource(input, { format, csvDelimiter })
    const skipped = state.of(input.path)?.documents ?? 0
    if (skipped > 0) this.#output.note(`continues after ${counted(skipped, 'document')} of ${input.name}`)
    const uploader = new Uploader({
      peer,
      path: `${pathOf(this.#options.index)}/documents${this.#parameters(source)}`,
      method: update ? 'PUT' : 'POST',
      indexed: async ({ offset, documents, readBytes }) => {
        this.#documents += documents.length
        this.#pace.show(this.#documents, before + readBytes)
        if (input.identity !== null) await state.set(input.path, { documents: offset + documents.length })
      },
      refused: (refused) => {
        this.#refused.push({ file: input.name, ...refused })
        const { document, code, reason } = refused
        this.#output.note(`refused: document ${document} of ${input.name}: ${code} ${reason}`)
      },
    })
    for await (const batch of batchesOf(source, batchBytes, skipped)) await uploader.add(batch)
    await uploader.end()
  }

  #parameters({ csvDelimiter }: Source): string {
    const { primaryKey } = this.#options
    const given = [
      ...(primaryKey === undefined ? [] : [`primaryKey=${encodeURIComponent(primaryKey)}`]),
      ...(csvDelimiter === null ? [] : [`csvDelimiter=${encodeURIComponent(csvDelimiter)}`]),
    ]
    return given.length === 0 ? '' : `?${given.join('&')}`
  }

  /** Prints the result of the import. */
  report(): void {
    const { index, json } = this.#options
    const indexed = this.#documents - this.#refused.length
    const seconds = Math.round(this.#pace.seconds * 10) / 10
    const line = `${counted(indexed, 'document')} indexed in ${index}, ${shown(this.#refused.length)} refused, ${seconds} s`
    const facts = { index, indexed, refused: this.#refused, seconds }
    this.#output.line(json ? JSON.stringify(facts) : line)
    if (this.#refused.length > 0) this.#output.finding()
  }
}

/** The server accepts one ASCII character. */
function delimiterOf(text: string): string {
  if (Buffer.byteLength(text) === 1) return text
  throw new LaunchError(`--csv-delimiter: invalid value \`${text}\`, expected one ASCII character`, 2)
}

const shown = (count: number): string => count.toLocaleString('en')

function bytesOf(text: string): number {
  if (/^[1-9]\d{2,8}$/.test(text)) return Number(text)
  throw new LaunchError(`--batch-bytes: invalid value \`${text}\`, expected 100 to 999999999 bytes`, 2)
}
