/** Here is an index: how is it copied to another instance? */
import { type Engine, encodeRequest } from '../engine/index.js'
import type { Outbound } from '../outbound/index.js'
import { type JsonNode, readJson, toText } from '../parse/index.js'
import { embedderAsSet, type IndexSettings, parsedSettings, renderSettings } from '../settings/index.js'
import type { ExportIndex, IndexExport } from '../tasks/index.js'
import { PAGE_DOCUMENTS, PAYLOAD_BYTES_MAX } from './limits.js'
import { TargetInstance } from './target.js'

/**
 * Copies indexes over HTTP: first the settings, if the index is new there or the task overrides its settings, then the
 * documents with their vectors, in compressed requests. The export has finished when the other instance has accepted
 * all of them as tasks of its own.
 */
export function exporterOver(outbound: Outbound): ExportIndex {
  return async (engine, source, target) => {
    const { index, overrideSettings } = source
    const instance = new TargetInstance(outbound, target)
    // The settings are read first, so that nothing is created there for an index that cannot be read here.
    const settings = parsedSettings(await engine.settings(index.id))
    const exists = await instance.hasIndex(index.uid)
    if (!exists) await instance.createIndex(index.uid, index.primaryKey)
    if (!exists || overrideSettings) {
      await instance.putSettings(index.uid, settingsBody(settings))
    }
    const bytesMax = target.payloadBytesMax ?? PAYLOAD_BYTES_MAX
    let chunk: string[] = []
    let bytes = 0
    let matched = 0
    const flush = async (): Promise<void> => {
      if (chunk.length > 0) await instance.addDocuments(index.uid, chunk.join('\n'), index.primaryKey)
      chunk = []
      bytes = 0
    }
    for await (const line of documentLines(engine, source)) {
      const size = Buffer.byteLength(line) + 1
      if (bytes + size > bytesMax) await flush()
      chunk.push(line)
      bytes += size
      matched++
    }
    await flush()
    return matched
  }
}

/** The settings to send. Secrets are in clear, since the other instance needs them to call its embedders. */
function settingsBody(settings: IndexSettings): object {
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
  const embedders = Object.entries(settings.embedders).map(([name, fields]) => [name, embedderAsSet(fields)])
  return { ...shown, embedders: Object.fromEntries(embedders) }
}

async function* documentLines(engine: Engine, { index, filter }: IndexExport): AsyncGenerator<string> {
  for (let offset = 0; ; offset += PAGE_DOCUMENTS) {
    const request = {
      indexUid: index.uid,
      offset,
      limit: PAGE_DOCUMENTS,
      fields: null,
      retrieveVectors: true,
      ids: null,
      filter,
      sort: null,
      features: { containsFilter: true, legacySearch: false, multimodal: true, foreignKeys: true },
    }
    const page = readJson(await engine.documents(index.id, encodeRequest(request)))
    const results = itemsOf(page)
    for (const document of results) yield toText(document)
    if (results.length < PAGE_DOCUMENTS) return
  }
}

function itemsOf(page: JsonNode): readonly JsonNode[] {
  const results = page.kind === 'object' ? page.entries.find(([key]) => key === 'results')?.[1] : undefined
  if (results?.kind !== 'array') throw new TypeError('the engine listed no documents')
  return results.items
}
