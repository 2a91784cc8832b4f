/** Exports indexes to other instances over HTTP. */
import { isDeepStrictEqual } from 'node:util'
import { documentPages } from '../../engine/index.js'
import type { Outbound } from '../../outbound/index.js'
import {
  dimensionsOf,
  type EmbedderFields,
  embedderAsSet,
  embedderWithoutSecrets,
  type IndexSettings,
  parsedSettings,
  renderSettings,
  rerankersWithoutSecrets,
} from '../../settings/index.js'
import type { ExportIndex, ExportTarget } from '../../tasks/index.js'
import { PAYLOAD_BYTES_MIN, PAYLOAD_MARGIN_BYTES } from './limits.js'
import { TargetInstance } from './target.js'

/**
 * Copies indexes over HTTP: first the settings, if the index is new on the target or the task overrides its settings,
 * then the documents with their vectors, in compressed requests. The export is finished when the target has accepted
 * all requests as tasks.
 *
 * The documents of a request have at most `payloadBytesMax` bytes before compression, like the body limit of the target
 * counts them. A longer document is sent alone, and the target may refuse it.
 * @param bodyBytesMax body limit of this instance, assumed to be the same on the target
 */
export function exporterOver(outbound: Outbound, bodyBytesMax: number): ExportIndex {
  const payloadBytesMax = Math.max(PAYLOAD_BYTES_MIN, bodyBytesMax - PAYLOAD_MARGIN_BYTES)
  return async ({ engine, pin }, source, target) => {
    const { index, filter, overrideSettings } = source
    const instance = new TargetInstance(outbound, target)
    // Reads the settings first, so that nothing is created on the target if the index cannot be read.
    const settings = parsedSettings(await engine.pinnedSettings(pin))
    const exists = await instance.hasIndex(index.uid)
    if (!exists) await instance.createIndex(index.uid, index.primaryKey)
    if (!exists || overrideSettings) {
      await instance.putSettings(index.uid, settingsBody(settings, target))
    }
    const bytesMax = target.payloadBytesMax ?? payloadBytesMax
    const list = (request: Uint8Array) => engine.pinnedDocuments(pin, request)
    let chunk: Buffer[] = []
    let bytes = 0
    let matched = 0
    const flush = async (): Promise<void> => {
      if (chunk.length > 0) await instance.addDocuments(index.uid, bodyOf(chunk), index.primaryKey)
      chunk = []
      bytes = 0
    }
    for await (const page of documentPages(list, index.uid, filter)) {
      for (const line of linesOf(page.lines)) {
        if (bytes + line.length - LINE_END_BYTES > bytesMax) await flush()
        chunk.push(line)
        bytes += line.length
      }
      matched += page.documents
    }
    await flush()
    return matched
  }
}

const LINE_END_BYTES = 1

/** Joins lines to a body, without the last line end. */
const bodyOf = (lines: readonly Buffer[]): Buffer => Buffer.concat(lines).subarray(0, -LINE_END_BYTES)

/** Yields the lines of a page, each with its line end. */
function* linesOf(lines: Buffer): Generator<Buffer> {
  for (let start = 0; start < lines.length; ) {
    const end = lines.indexOf('\n', start) + LINE_END_BYTES
    yield lines.subarray(start, end)
    start = end
  }
}

/**
 * Returns the settings to send. With `withSecrets`, secrets are not masked, since the target needs them for its
 * embedders. Settings of features are only sent if they are set, since the target refuses them while the feature is off.
 */
function settingsBody(
  settings: IndexSettings,
  { withSecrets, features }: Pick<ExportTarget, 'withSecrets' | 'features'>,
): object {
  const shown = renderSettings(settings, {
    foreignKeys: false,
    chatCompletions: false,
    compositeEmbedders: true,
    multimodal: true,
  })
  const embedders = Object.entries(settings.embedders).map(([name, fields]) => [
    name,
    withSecrets ? embedderAsSet(fields) : embedderWithoutCalls(fields),
  ])
  const { rerankers = {}, foreignKeys, chat } = settings
  return {
    ...shown,
    ...(features.foreignKeys && foreignKeys.length > 0 && { foreignKeys }),
    ...(features.chatCompletions && Object.keys(chat).length > 0 && { chat }),
    embedders: Object.fromEntries(embedders),
    ...(Object.keys(rerankers).length > 0 && {
      rerankers: withSecrets ? rerankers : rerankersWithoutSecrets(rerankers),
    }),
  }
}

/**
 * Returns an embedder without secrets. The target must not call its provider for it: the call would be refused, and with it
 * all settings of the index. The documents have their vectors.
 */
function embedderWithoutCalls(fields: EmbedderFields): EmbedderFields {
  const set = embedderAsSet(fields)
  const shown = embedderWithoutSecrets(set)
  const { source, distribution, binaryQuantized } = set
  const dimensions = dimensionsOf(fields)
  if (dimensions === null) return shown
  // The target would compare both halves by calls.
  if (source === 'composite' && !isDeepStrictEqual(shown, set))
    return { source: 'userProvided', dimensions, distribution, binaryQuantized }
  return source === 'rest' || source === 'ollama' ? { ...shown, dimensions } : shown
}
