/** Here is an index: how is it copied to another instance? */
import { documentPages } from '../engine/index.js'
import type { Outbound } from '../outbound/index.js'
import {
  embedderAsSet,
  embedderWithoutSecrets,
  type IndexSettings,
  parsedSettings,
  renderSettings,
} from '../settings/index.js'
import type { ExportIndex, ExportTarget } from '../tasks/index.js'
import { PAYLOAD_BYTES_MIN, PAYLOAD_MARGIN_BYTES } from './limits.js'
import { TargetInstance } from './target.js'

/**
 * Copies indexes over HTTP: first the settings, if the index is new there or the task overrides its settings, then the
 * documents with their vectors, in compressed requests. The export has finished when the other instance has accepted
 * all of them as tasks of its own.
 *
 * The documents of a request have at most `payloadBytesMax` bytes before compression, since a body's limit there counts
 * them so. A document that is longer by itself is sent alone, and the other instance decides.
 * @param bodyBytesMax bytes of a request body that this instance accepts; the other one is taken to be set up alike
 */
export function exporterOver(outbound: Outbound, bodyBytesMax: number): ExportIndex {
  const payloadBytesMax = Math.max(PAYLOAD_BYTES_MIN, bodyBytesMax - PAYLOAD_MARGIN_BYTES)
  return async ({ engine, pin }, source, target) => {
    const { index, filter, overrideSettings } = source
    const instance = new TargetInstance(outbound, target)
    // The settings are read first, so that nothing is created there for an index that cannot be read here.
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

/** The lines as one body, without the last line end. */
const bodyOf = (lines: readonly Buffer[]): Buffer => Buffer.concat(lines).subarray(0, -LINE_END_BYTES)

/** The lines of a page, each with its line end. */
function* linesOf(lines: Buffer): Generator<Buffer> {
  for (let start = 0; start < lines.length; ) {
    const end = lines.indexOf('\n', start) + LINE_END_BYTES
    yield lines.subarray(start, end)
    start = end
  }
}

/** The settings to send. Secrets are in clear if the target gets them, since it needs them to call its embedders. */
function settingsBody(settings: IndexSettings, { withSecrets }: Pick<ExportTarget, 'withSecrets'>): object {
  const {
    foreignKeys: _foreignKeys,
    chat: _chat,
    ...shown
  } = renderSettings(settings, {
    foreignKeys: false,
    chatCompletions: false,
    compositeEmbedders: true,
    multimodal: true,
  })
  const embedders = Object.entries(settings.embedders).map(([name, fields]) => {
    const set = embedderAsSet(fields)
    return [name, withSecrets ? set : embedderWithoutSecrets(set)]
  })
  return { ...shown, embedders: Object.fromEntries(embedders) }
}
