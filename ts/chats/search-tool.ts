/** The one tool of the model, and its description of the indexes. */

import { ApiError } from '../errors/index.js'
import { filterNames } from '../mcp/index.js'
import type { SearchServices } from '../operations/index.js'
import {
  describedIndex,
  type IndexDescriptionWithExamples,
  type Reading,
  readIndex,
} from '../operations/index.js'
import { cutText } from '../parse/index.js'
import { type IndexSettings, parsedSettings, renderSetting } from '../settings/index.js'
import type { IndexEntry } from '../tasks/index.js'
import { DESCRIBED_INDEXES_MAX, INDEX_CHARS_MAX, INDEXES_CHARS_MAX, INDEXES_MAX } from './limits.js'
import type { WorkspaceSettings } from './settings.js'

export const SEARCH_TOOL = '_meiliSearchInIndex'

/** The setting `chat` of an index. */
interface ChatSetting {
  readonly description: string
  readonly documentTemplate: string
  readonly documentTemplateMaxBytes: number
  readonly searchParameters: Readonly<Record<string, unknown>>
}

export const chatSetting = (settings: IndexSettings): ChatSetting =>
  renderSetting(settings, 'chat') as ChatSetting

/** An index that the model can search. */
export interface OfferedIndex {
  readonly uid: string
  readonly description: string
  /** Filterable attributes with their operators and values; null: not described. */
  readonly filters: string | null
}

/** Returns the indexes that the caller may search, the first ones with their filterable attributes. */
export async function offeredIndexes(
  services: SearchServices,
  reading: Omit<Reading, 'alsoRead'>,
): Promise<readonly OfferedIndex[]> {
  const { tasks } = services
  const visible = tasks.indexes().filter(({ uid }) => reading.access.maySearch(uid))
  const offered: OfferedIndex[] = []
  for (const { uid } of visible.slice(0, INDEXES_MAX)) {
    const isDescribed = offered.length < DESCRIBED_INDEXES_MAX
    const found = await readIndex(tasks, uid, (entry, alsoRead) =>
      offeredIndex(services, entry, isDescribed, { ...reading, alsoRead }),
    ).catch((error: unknown) => {
      // An index that is damaged or was deleted meanwhile is not offered.
      if (error instanceof ApiError) return null
      throw error
    })
    if (found !== null) offered.push(found)
  }
  return offered
}

async function offeredIndex(
  services: SearchServices,
  entry: IndexEntry,
  isDescribed: boolean,
  reading: Reading,
): Promise<OfferedIndex> {
  const { uid } = entry
  const { description } = chatSetting(parsedSettings(await services.engine.settings(entry.id)))
  if (!isDescribed) return { uid, description, filters: null }
  const described = await describedIndex(services, entry, true, reading)
  return { uid, description, filters: filtersOf(described as IndexDescriptionWithExamples) }
}

function filtersOf(index: IndexDescriptionWithExamples): string {
  if (index.filterableAttributes.length === 0) return 'no filterable attributes'
  const ranges = new Map(index.fields.map(({ name, min, max }) => [name, { min, max }]))
  const lines = filterNames(index).map((shown, at) => {
    const name = index.filterableAttributes[at] ?? ''
    const { min, max } = ranges.get(name) ?? {}
    if (min !== undefined) return `  ${shown}: numbers from ${min} to ${max}`
    const values = (index.facets[name] ?? []).map((value) => JSON.stringify(value))
    return `  ${shown}${values.length > 0 ? `: ${values.join(', ')}` : ''}`
  })
  const examples = index.filterExamples.slice(0, 2).map((example) => `  example: ${example}`)
  return cut(['', ...lines, ...examples].join('\n'), INDEX_CHARS_MAX)
}

const cut = (text: string, charsMax: number): string =>
  text.length > charsMax ? `${cutText(text, charsMax)}…` : text

/** Returns the tool as the provider gets it. */
export function searchTool(
  { prompts }: Pick<WorkspaceSettings, 'prompts'>,
  indexes: readonly OfferedIndex[],
): Readonly<Record<string, unknown>> {
  const descriptions = indexes.map(({ uid, description }) =>
    description === '' ? `- ${uid}` : `- ${uid}: ${cut(description, INDEX_CHARS_MAX)}`,
  )
  const filters = indexes.flatMap(({ uid, filters: known }) => (known === null ? [] : [`- ${uid}: ${known}`]))
  const text = (prompt: string, lines: readonly string[]): string =>
    lines.length === 0 ? prompt : `${prompt}\n\nIndexes:\n${cut(lines.join('\n'), INDEXES_CHARS_MAX)}`
  return {
    type: 'function',
    function: {
      name: SEARCH_TOOL,
      description: text(prompts.searchDescription, descriptions),
      parameters: {
        type: 'object',
        properties: {
          index_uid: {
            type: 'string',
            enum: indexes.map(({ uid }) => uid),
            description: prompts.searchIndexUidParam,
          },
          q: { type: 'string', description: prompts.searchQParam },
          filter: { type: 'string', description: text(prompts.searchFilterParam, filters) },
        },
        required: ['index_uid', 'q', 'filter'],
        additionalProperties: false,
      },
      strict: true,
    },
  }
}
