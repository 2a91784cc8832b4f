/** Runs the searches of the model with the rights of the caller. */
import { documentContext, renderText, TemplateError } from '../embedding/index.js'
import type { Answer } from '../engine/index.js'
import { ApiError } from '../errors/index.js'
import {
  type DisconnectSignal,
  filter,
  optional,
  type ParsedSearch,
  readBody,
  readIndex,
  required,
  type SearchAccess,
  type SearchServices,
  search,
  searchFields,
  shape,
  string,
} from '../operations/index.js'
import { cutText } from '../parse/index.js'
import { parsedSettings } from '../settings/index.js'
import type { IndexEntry } from '../tasks/index.js'
import type { Citation, Citations } from './citations.js'
import { HITS_BYTES_MAX, HITS_DEFAULT, HITS_MAX, RESULT_CHARS_MAX, SOURCES_CHARS_MAX } from './limits.js'
import { chatSetting, type OfferedIndex, SEARCH_TOOL } from './search-tool.js'
import type { Call } from './turn.js'

/** The client of a chat, whose rights hold for every search. */
export interface Caller {
  /** Returns the rights that the key has now. @throws ApiError if it is not valid any more */
  access(): Promise<SearchAccess>
  /** Runs a search when it is its turn, and counts it. */
  inTurn(
    indexUid: string,
    wanted: ParsedSearch,
    find: (stop: DisconnectSignal) => Promise<Answer>,
  ): Promise<Answer>
}

/** Result of a search. */
export interface Found {
  /** For the model. */
  readonly text: string
  /** For the client; null: the search failed. */
  readonly sources: readonly Source[] | null
  /** A failure that the model did not cause. */
  readonly failure: ApiError | null
}

/** A hit with its displayed fields. */
interface Source {
  readonly document: Readonly<Record<string, unknown>>
  readonly citation: Citation
}

export interface Searching {
  readonly services: SearchServices
  readonly caller: Caller
  readonly indexes: readonly OfferedIndex[]
  readonly citations: Citations
}

const callArguments = shape(
  {
    index_uid: required(string, 'bad_request'),
    q: optional(string, 'bad_request'),
    filter: optional(filter, 'invalid_search_filter'),
  },
  { ignoreUnknown: true },
)
const searchBody = shape(searchFields, { notesSent: true })

/**
 * Runs a call of the model. Mistakes of the model become a text that says how to repair the call.
 * @throws ApiError if the key of the caller is not valid any more
 */
export async function answerCall(call: Call, searching: Searching): Promise<Found> {
  if (call.name !== SEARCH_TOOL)
    return refused(`there is no tool \`${cutText(call.name, 100)}\`; the only tool is \`${SEARCH_TOOL}\``)
  let wanted: ReturnType<typeof callArguments.json>
  try {
    wanted = readBody(Buffer.from(call.arguments), callArguments)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return refused(
      `the arguments are not valid: ${error.message}; send {"index_uid", "q", "filter"} as short JSON`,
    )
  }
  const access = await searching.caller.access()
  try {
    return await found(wanted, access, searching)
  } catch (error) {
    if (error instanceof ApiError && isMistake(error))
      return refused(advised(error, wanted.index_uid, searching))
    const failure =
      error instanceof ApiError
        ? error
        : new ApiError('internal', 'an internal error happened; see the log of the server')
    return { ...refused('the search failed; try again, or answer without it'), failure }
  }
}

const refused = (reason: string): Found => ({ text: `error: ${reason}`, sources: null, failure: null })

/** Returns true for an error that another call of the model can avoid. */
const isMistake = ({ status }: ApiError): boolean => status >= 400 && status < 500

function advised({ code, message }: ApiError, uid: string, { indexes }: Searching): string {
  if (code !== 'invalid_search_filter') return message
  const filters = indexes.find((one) => one.uid === uid)?.filters ?? null
  return filters === null ? message : `${message}\nFilterable attributes of \`${uid}\`: ${filters.trim()}`
}

async function found(
  wanted: ReturnType<typeof callArguments.json>,
  access: SearchAccess,
  { services, caller, indexes, citations }: Searching,
): Promise<Found> {
  const { tasks } = services
  const uid = wanted.index_uid
  if (!access.maySearch(uid) || tasks.index(uid) === null) {
    const known = indexes.map((one) => `\`${one.uid}\``).join(', ')
    return refused(`there is no index \`${cutText(uid, 100)}\`; the indexes are ${known}`)
  }
  return readIndex(tasks, uid, async (entry, alsoRead) => {
    const settings = parsedSettings(await services.engine.settings(entry.id))
    const setting = chatSetting(settings)
    const hits = await hitsOf(entry, setting.searchParameters)
    const texts: string[] = []
    const sources: Source[] = []
    let [textChars, sourceChars] = [0, 0]
    for (const document of hits) {
      const json = JSON.stringify(document)
      const text = await rendered(document, setting, settings.searchableAttributes)
      textChars += text.length
      sourceChars += json.length
      const isTooLong = textChars > RESULT_CHARS_MAX || sourceChars > SOURCES_CHARS_MAX
      if (isTooLong && texts.length > 0) break
      const citation = citations.of(uid, json)
      texts.push(`[${citation.number}] ${cutText(text, RESULT_CHARS_MAX)}`)
      if (!isTooLong) sources.push({ document, citation })
    }
    return { text: texts.join('\n') || nothingFound, sources, failure: null }

    /** Searches with the parameters of the index. Asks for fewer hits if they are too large together. */
    async function hitsOf(
      index: IndexEntry,
      { limit = HITS_DEFAULT, ...parameters }: Readonly<Record<string, unknown>>,
    ): Promise<readonly Source['document'][]> {
      for (let most = Math.min(Number(limit), HITS_MAX); ; most = Math.floor(most / 4)) {
        const asked = { ...parameters, q: wanted.q, filter: wanted.filter || null, limit: most }
        const parsed = readBody(Buffer.from(JSON.stringify(asked)), searchBody)
        const { body } = await caller.inTurn(uid, parsed, (stop) =>
          search(services, index, parsed, { access, stop, alsoRead, includeMetadata: false }),
        )
        if (body.length <= HITS_BYTES_MAX || most <= 1)
          return (JSON.parse(Buffer.from(body).toString()) as { hits: readonly Source['document'][] }).hits
      }
    }
  })
}

const nothingFound = 'no document matches; try other words, fewer words, or no filter'

/** Renders a hit for the model. Shows its JSON if the template fails for it. */
async function rendered(
  document: Source['document'],
  { documentTemplate, documentTemplateMaxBytes }: ReturnType<typeof chatSetting>,
  searchable: readonly string[],
): Promise<string> {
  try {
    const context = documentContext(document, searchable)
    return (await renderText(documentTemplate, context, documentTemplateMaxBytes)).trim()
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    return cutText(JSON.stringify(document), documentTemplateMaxBytes)
  }
}
