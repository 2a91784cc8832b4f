/** Writes the indexes of another engine into a running siftd. */
import { counted } from '../../parse/index.js'
import type { MigrationOutput } from '../migrate/migration.js'
import { acceptedTask, finishedTask, isCount, type Peer, PeerError } from '../peer/index.js'
import { DocumentConverter } from './documents.js'
import type { Foreign, ForeignIndex } from './foreign.js'
import { UPLOAD_BYTES_AIM, UPLOAD_DOCUMENTS_MAX, UPLOAD_MS_MAX, UPLOADS_WAITING_MAX } from './limits.js'

const ADVICE = 'correct the source and start again: documents replace those with the same id'

/** Prints what `copyForeign` would do. */
export function describeForeign({ indexes, leftOut }: Foreign, output: MigrationOutput): void {
  for (const { uid, expected, settings, rules, leftOut: lost } of indexes) {
    const documents = expected === null ? 'documents' : counted(expected, 'document')
    output.line(`would copy index \`${uid}\`: ${documents}, ${counted(rules.length, 'rule')}`)
    output.line(`would set in \`${uid}\`: ${JSON.stringify(settings)}`)
    for (const line of lost) output.line(`would not carry over: \`${uid}\`: ${line}`)
  }
  for (const line of leftOut) output.line(`would not carry over: ${line}`)
}

/**
 * Copies everything. Settings come before documents, so that each document is indexed once.
 * @returns differences that remain, one line each
 * @throws PeerError if the target refuses something, ForeignError for invalid data of the source
 */
export async function copyForeign(
  to: Peer,
  { indexes, leftOut }: Foreign,
  output: MigrationOutput,
): Promise<readonly string[]> {
  const differences: string[] = []
  for (const index of indexes) {
    await makeIndex(to, index, output)
    const names = Object.keys(index.settings)
    if (names.length > 0) {
      await written(
        to,
        'PATCH',
        `${pathOf(index.uid)}/settings`,
        index.settings,
        `index \`${index.uid}\`: settings`,
      )
      output.line(`index \`${index.uid}\`: set ${names.join(', ')}`)
    }
    const converter = new DocumentConverter(index.form)
    const copied = await copyDocuments(to, index, converter, output)
    output.line(`index \`${index.uid}\`: ${counted(copied, 'document')} copied`)
    if (index.expected !== null && copied < index.expected)
      differences.push(
        `index \`${index.uid}\`: the source counted ${counted(index.expected, 'document')} and sent ${copied}: start again`,
      )
    const { numberOfDocuments } = await to.json<{ numberOfDocuments: number }>(
      'GET',
      `${pathOf(index.uid)}/stats`,
      { shape: { numberOfDocuments: isCount } },
    )
    if (numberOfDocuments < copied)
      differences.push(
        `index \`${index.uid}\`: ${counted(copied, 'document')} copied, ${numberOfDocuments} in the index`,
      )
    differences.push(...(await copyRules(to, index, output)))
    for (const line of [...index.leftOut, ...converter.remarks()])
      output.line(`not carried over: \`${index.uid}\`: ${line}`)
  }
  for (const line of leftOut) output.line(`not carried over: ${line}`)
  return differences
}

const pathOf = (uid: string): string => `/indexes/${encodeURIComponent(uid)}`

async function written(
  to: Peer,
  method: 'POST' | 'PATCH',
  path: string,
  body: object,
  doing: string,
): Promise<void> {
  const task = await to.json<{ taskUid: number }>(method, path, { body, shape: acceptedTask })
  await finishedTask(to, task, doing, ADVICE)
}

async function makeIndex(
  to: Peer,
  { uid, primaryKey }: ForeignIndex,
  output: MigrationOutput,
): Promise<void> {
  const found = await to.json<{ primaryKey?: string | null }>('GET', pathOf(uid)).catch((error: unknown) => {
    if (error instanceof PeerError && error.status === 404) return null
    throw error
  })
  const doing = `index \`${uid}\`: setting its primary key \`${primaryKey}\``
  if (found === null) {
    await written(to, 'POST', '/indexes', { uid, primaryKey }, doing)
    output.line(`index \`${uid}\`: created`)
  } else if (found.primaryKey !== primaryKey) await written(to, 'PATCH', pathOf(uid), { primaryKey }, doing)
}

async function copyDocuments(
  to: Peer,
  index: ForeignIndex,
  converter: DocumentConverter,
  output: MigrationOutput,
): Promise<number> {
  const path = `${pathOf(index.uid)}/documents?primaryKey=${encodeURIComponent(index.primaryKey)}`
  const waiting: { readonly taskUid: number; readonly end: number }[] = []
  let [lines, bytes, total]: [string[], number, number] = [[], 0, 0]
  const indexed = async (): Promise<void> => {
    const task = waiting.shift()
    if (task === undefined) return
    await finishedTask(to, task, `index \`${index.uid}\`: documents up to number ${task.end}`, ADVICE)
    output.progress(`index \`${index.uid}\`: documents`, task.end, index.expected ?? 0)
  }
  const upload = async (): Promise<void> => {
    const call = { body: lines.join('\n'), timeoutMs: UPLOAD_MS_MAX, isRepeatable: true, shape: acceptedTask }
    const { taskUid } = await to.json<{ taskUid: number }>('POST', path, call)
    waiting.push({ taskUid, end: total })
    ;[lines, bytes] = [[], 0]
    if (waiting.length >= UPLOADS_WAITING_MAX) await indexed()
  }
  for await (const json of index.documents()) {
    const line = converter.convert(json).replaceAll('\n', ' ')
    lines.push(line)
    bytes += line.length
    total++
    if (bytes >= UPLOAD_BYTES_AIM || lines.length >= UPLOAD_DOCUMENTS_MAX) await upload()
  }
  if (lines.length > 0) await upload()
  while (waiting.length > 0) await indexed()
  return total
}

/** @returns the rules that the target refuses, one line each */
async function copyRules(
  to: Peer,
  { uid, rules }: ForeignIndex,
  output: MigrationOutput,
): Promise<readonly string[]> {
  if (rules.length === 0) return []
  await to.json('PATCH', '/experimental-features', { body: { dynamicSearchRules: true } })
  const refused: string[] = []
  for (const rule of rules) {
    const path = `/dynamic-search-rules/${encodeURIComponent(rule.uid)}`
    try {
      await written(to, 'PATCH', path, rule.body, `rule \`${rule.uid}\``)
    } catch (error) {
      // For example, its words are too long. The other rules and indexes are still copied.
      if (!(error instanceof PeerError) || error.status !== 400) throw error
      refused.push(`index \`${uid}\`: rule \`${rule.uid}\` is not copied: ${error.message}`)
    }
  }
  output.line(`index \`${uid}\`: ${counted(rules.length - refused.length, 'rule')} written`)
  return refused
}
