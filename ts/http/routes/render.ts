import type { FastifyPluginAsync } from 'fastify'
import type { Access } from '../../auth/index.js'
import { documentContext, RenderThread, type TemplateContext, TemplateError } from '../../embedding/index.js'
import { encodeRequest } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import {
  anything,
  indexUid,
  integer,
  oneOf,
  optional,
  readIndex,
  required,
  shape,
  string,
  type Values,
} from '../../operations/index.js'
import { type IndexSettings, parsedSettings, renderSetting } from '../../settings/index.js'
import { anyJson, record, sendJson } from '../answers/index.js'
import { recordUse } from '../metrics/index.js'
import { serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'

const badTemplate = 'invalid_render_template'
const badInput = 'invalid_render_input'

/** The members that each kind of template requires in addition to `kind`. Members of other kinds are refused. */
const templateParts = {
  documentTemplate: ['indexUid', 'embedder'],
  chatDocumentTemplate: ['indexUid'],
  indexingFragment: ['indexUid', 'embedder', 'fragment'],
  searchFragment: ['indexUid', 'embedder', 'fragment'],
  inlineDocumentTemplate: ['inline'],
  inlineFragment: ['inline'],
} as const
/** The members that each kind of input requires. */
const inputParts = {
  indexDocument: ['indexUid', 'id'],
  inlineDocument: ['inline'],
  inlineSearch: ['inline'],
} as const
type TemplateKind = keyof typeof templateParts
type InputKind = keyof typeof inputParts
const namesOf = <T extends string>(parts: Readonly<Record<T, unknown>>): readonly T[] =>
  Object.keys(parts) as T[]

const templateFields = {
  kind: required(oneOf<TemplateKind>(namesOf(templateParts)), badTemplate),
  indexUid: optional(indexUid, badTemplate),
  embedder: optional(string, badTemplate),
  fragment: optional(string, badTemplate),
  inline: optional(anything, badTemplate),
  documentTemplateMaxBytes: optional(integer(), badTemplate),
} as const
const inputFields = {
  kind: required(oneOf<InputKind>(namesOf(inputParts)), badInput),
  indexUid: optional(indexUid, badInput),
  id: optional(string, badInput),
  inline: optional(anything, badInput),
} as const
const body = shape({
  template: required(shape(templateFields), badTemplate),
  input: optional(shape(inputFields), badInput),
})

type TemplateRequest = Values<typeof templateFields>
type InputRequest = Values<typeof inputFields>

/** A template, and the number of bytes that its rendered text is cut to. */
interface FoundTemplate {
  readonly template: unknown
  /** null: no limit. */
  readonly bytesMax: number | null
}

/** Renders the templates that turn documents and searches into the input of embedders. */
export const renderRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { engine, features, tasks } = services
  const thread = new RenderThread()
  app.addHook('onClose', () => thread.close())

  serve(
    app,
    services,
    {
      method: 'POST',
      url: '/render-template',
      summary: 'Try out a template',
      actions: ['settings.get', 'documents.get'],
      body,
      answers: { 200: record({ template: anyJson, rendered: anyJson }) },
    },
    async ({ request, reply, access, body: { template, input } }) => {
      features.require('renderRoute', 'rendering a template')
      recordUse(services, request, 'documentsRendered', {})
      requireParts('template', template, templateParts[template.kind], badTemplate)
      if (input !== null) requireParts('input', input, inputParts[input.kind], badInput)
      requireFeatures(template.kind, input?.kind ?? null)
      const settings = template.indexUid === null ? null : await settingsOf(template.indexUid, access)
      const found = findTemplate(template, settings)
      const rendered = await translated(async () => {
        await thread.check(found.template)
        if (input === null) return null
        const context = await contextOf(input, settings, access)
        if (template.kind.endsWith('Fragment')) return thread.fragment(found.template, context)
        return thread.text(String(found.template), context, found.bytesMax)
      })
      return sendJson(reply, { template: found.template, rendered })
    },
  )

  function requireFeatures(template: TemplateKind, input: InputKind | null): void {
    if (template === 'chatDocumentTemplate') features.require('chatCompletions', 'rendering a chat template')
    if (template.endsWith('Fragment') || input === 'inlineSearch') {
      features.require('multimodal', 'rendering a fragment')
    }
  }

  async function settingsOf(uid: string, access: Access): Promise<IndexSettings> {
    if (!access.allows(uid)) throw access.refusal(uid)
    return parsedSettings(await readIndex(tasks, uid, (entry) => engine.settings(entry.id)))
  }

  async function contextOf(
    input: InputRequest,
    settings: IndexSettings | null,
    access: Access,
  ): Promise<TemplateContext> {
    if (input.kind === 'inlineSearch') {
      const { q, media } = plainObject(input.inline)
      return { ...(q !== undefined && { q }), ...(media !== undefined && { media }) }
    }
    const searchable = settings?.searchableAttributes ?? ['*']
    if (input.kind === 'inlineDocument') return documentContext(plainObject(input.inline), searchable)
    const { indexUid: uid, id } = input as { readonly indexUid: string; readonly id: string }
    if (!access.allows(uid)) throw access.refusal(uid)
    const wanted = encodeRequest({ id, fields: null, retrieveVectors: false })
    const document = await readIndex(tasks, uid, (entry) => engine.document(entry.id, wanted))
    if (document === null) {
      throw new ApiError('render_document_not_found', `document \`${id}\` not found in index \`${uid}\``)
    }
    return documentContext(JSON.parse(Buffer.from(document).toString()), searchable)
  }
}

function plainObject(value: unknown): Readonly<Record<string, unknown>> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new ApiError(badInput, `bad value at \`.input.inline\`: an object was expected`)
  }
  return value as Record<string, unknown>
}

function findTemplate(wanted: TemplateRequest, settings: IndexSettings | null): FoundTemplate {
  const bytesMax = wanted.documentTemplateMaxBytes
  const refuse = (reason: string): ApiError =>
    new ApiError(badTemplate, `bad value at \`.template\`: ${reason}`)
  if (settings === null) {
    if (wanted.kind === 'inlineDocumentTemplate' && typeof wanted.inline !== 'string') {
      throw refuse('`inline` is a string for this kind')
    }
    return { template: wanted.inline, bytesMax }
  }
  if (wanted.kind === 'chatDocumentTemplate') {
    const chat = renderSetting(settings, 'chat') as {
      documentTemplate: string
      documentTemplateMaxBytes: number
    }
    return {
      template: chat.documentTemplate,
      bytesMax: wanted.documentTemplateMaxBytes ?? chat.documentTemplateMaxBytes,
    }
  }
  const embedders = renderSetting(settings, 'embedders') as Readonly<Record<string, Embedder>>
  const name = wanted.embedder ?? ''
  const embedder = Object.hasOwn(embedders, name) ? embedders[name] : undefined
  if (embedder === undefined) throw refuse(`there is no embedder \`${name}\``)
  if (wanted.kind === 'documentTemplate') {
    const indexing = embedder.indexingEmbedder ?? embedder
    if (indexing.documentTemplate === undefined)
      throw refuse(`the embedder \`${name}\` has no document template`)
    const stored = indexing.documentTemplateMaxBytes ?? null
    return { template: indexing.documentTemplate, bytesMax: wanted.documentTemplateMaxBytes ?? stored }
  }
  const isIndexing = wanted.kind === 'indexingFragment'
  const owner = (isIndexing ? embedder.indexingEmbedder : embedder.searchEmbedder) ?? embedder
  const fragments = (isIndexing ? owner.indexingFragments : owner.searchFragments) ?? {}
  const fragment = wanted.fragment ?? ''
  const found = Object.hasOwn(fragments, fragment) ? fragments[fragment] : undefined
  if (found === undefined) throw refuse(`the embedder \`${name}\` has no fragment \`${fragment}\``)
  return { template: found.value, bytesMax }
}

/** The members of an embedder's settings that this route reads. */
interface Embedder {
  readonly documentTemplate?: string
  readonly documentTemplateMaxBytes?: number
  readonly indexingFragments?: Readonly<Record<string, { readonly value: unknown }>>
  readonly searchFragments?: Readonly<Record<string, { readonly value: unknown }>>
  readonly indexingEmbedder?: Embedder
  readonly searchEmbedder?: Embedder
}

/** Checks that `given` has exactly the members of its kind. @throws ApiError `code` */
function requireParts(
  where: 'template' | 'input',
  given: Readonly<Record<string, unknown>>,
  parts: readonly string[],
  code: typeof badTemplate | typeof badInput,
): void {
  for (const [name, value] of Object.entries(given)) {
    if (name === 'kind' || name === 'documentTemplateMaxBytes') continue
    const belongs = parts.includes(name)
    if (belongs === (value !== null)) continue
    const what = belongs ? 'is missing for' : 'does not belong to'
    throw new ApiError(code, `\`.${where}.${name}\` ${what} the kind \`${String(given.kind)}\``)
  }
}

async function translated<T>(render: () => Promise<T>): Promise<T> {
  try {
    return await render()
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    const code = error.when === 'parsing' ? 'template_parsing_error' : 'template_rendering_error'
    throw new ApiError(code, `the template fails: ${error.message}`)
  }
}
