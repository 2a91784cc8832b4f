/** Embedders: source, model and template, with a preview of the template on a document. */
import { useState } from 'preact/hooks'
import { ask, type Failure, indexPath } from '../api/client.ts'
import type { Doc, IndexInfo, Json, Page } from '../api/types.ts'
import { Problem } from '../parts/basics.tsx'
import { decimal, TypedInput } from '../parts/typed-input.tsx'
import { asFailure } from '../state/loading.ts'
import { isObject } from './changes.ts'
import type { Editor } from './editor.ts'
import { Setting } from './setting.tsx'

interface Kind {
  readonly text: string
  /** Fields in the form. Others are edited as JSON. */
  readonly fields: readonly string[]
  /** Values of a new embedder. */
  readonly first: { readonly [key: string]: Json }
}

const template =
  'A document titled {{doc.title}}{% if doc.overview %} about {{doc.overview | truncatewords: 40}}{% endif %}'
/** The sources of vectors in the form. */
const kinds: Readonly<Record<string, Kind>> = {
  openAi: {
    text: 'OpenAI: a service; texts leave this server',
    fields: ['model', 'apiKey', 'dimensions', 'url', 'documentTemplate'],
    first: { model: 'text-embedding-3-small', documentTemplate: template },
  },
  huggingFace: {
    text: 'A model on this server',
    fields: ['model', 'documentTemplate'],
    first: { model: 'BAAI/bge-small-en-v1.5', documentTemplate: template },
  },
  ollama: {
    text: 'Ollama: a server of yours',
    fields: ['model', 'url', 'apiKey', 'dimensions', 'documentTemplate'],
    first: { model: 'nomic-embed-text', url: 'http://localhost:11434/api/embed', documentTemplate: template },
  },
  rest: {
    text: 'Any service by REST',
    fields: ['url', 'apiKey', 'dimensions', 'request', 'response', 'documentTemplate'],
    first: {
      url: 'http://localhost:8080/embed',
      request: { inputs: ['{{text}}', '{{..}}'] },
      response: ['{{embedding}}', '{{..}}'],
      documentTemplate: template,
    },
  },
  userProvided: {
    text: 'Vectors in the documents, from you',
    fields: ['dimensions'],
    first: { dimensions: 384 },
  },
}
const labels: Readonly<Record<string, string>> = {
  model: 'Model',
  apiKey: 'API key of the service',
  dimensions: 'Dimensions',
  url: 'URL',
  request: 'Request, as JSON',
  response: 'Answer, as JSON',
  documentTemplate: 'Template: the text of a document that becomes a vector, in Liquid',
}

export function Embedders({ editor, index }: { readonly editor: Editor; readonly index: IndexInfo }) {
  const value = editor.settings.embedders
  const embedders = isObject(value) ? value : {}
  const [name, setName] = useState('')
  const [source, setSource] = useState('huggingFace')
  const set = (changed: string, fields: Json): void =>
    editor.set('embedders', { ...embedders, [changed]: fields })
  const add = (): void => {
    set(name.trim() || 'default', { source, ...kinds[source]!.first })
    setName('')
  }
  const without = (removed: string): Json =>
    Object.fromEntries(Object.entries(embedders).filter(([other]) => other !== removed))
  return (
    <Setting
      editor={editor}
      name="embedders"
      title="Embedders"
      hint="They turn documents and queries into vectors, to search by meaning"
    >
      {Object.entries(embedders).map(([one, fields]) => (
        <fieldset key={one} class="embedder stack">
          <legend>{one}</legend>
          {isObject(fields) && (
            <EmbedderFields fields={fields} index={index} set={(changed) => set(one, changed)} />
          )}
          <div class="row">
            <button type="button" class="danger" onClick={() => editor.set('embedders', without(one))}>
              Remove {one}
            </button>
          </div>
        </fieldset>
      ))}
      <div class="row">
        <input
          class="picker"
          aria-label="Name of a new embedder"
          placeholder="default"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <select
          class="picker"
          aria-label="Source of a new embedder"
          value={source}
          onChange={(event) => setSource(event.currentTarget.value)}
        >
          {Object.entries(kinds).map(([kind, { text }]) => (
            <option key={kind} value={kind}>
              {text}
            </option>
          ))}
        </select>
        <button type="button" disabled={Object.hasOwn(embedders, name.trim() || 'default')} onClick={add}>
          Add an embedder
        </button>
      </div>
    </Setting>
  )
}

function EmbedderFields(props: {
  readonly fields: { readonly [key: string]: Json }
  readonly index: IndexInfo
  readonly set: (fields: Json) => void
}) {
  const { fields, index, set } = props
  const source = String(fields.source ?? 'openAi')
  const kind = Object.hasOwn(kinds, source) ? kinds[source] : undefined
  if (kind === undefined) return <p class="small soft">Source {source}: change it as JSON.</p>
  const change = (name: string, value: Json): void => {
    const { [name]: _, ...others } = fields
    set(value === '' || value === null ? others : { ...others, [name]: value })
  }
  return (
    <>
      <p class="small soft">{kind.text}</p>
      <div class="pair wide">
        {kind.fields
          .filter((name) => name !== 'documentTemplate')
          .map((name) => (
            <FieldInput key={name} name={name} value={fields[name]} set={(value) => change(name, value)} />
          ))}
      </div>
      {kind.fields.includes('documentTemplate') && (
        <>
          <label class="field">
            {labels.documentTemplate}
            <textarea
              rows={3}
              spellcheck={false}
              value={String(fields.documentTemplate ?? '')}
              onInput={(event) => change('documentTemplate', event.currentTarget.value)}
            />
          </label>
          <Preview template={String(fields.documentTemplate ?? '')} index={index} />
        </>
      )}
    </>
  )
}

function FieldInput(props: {
  readonly name: string
  readonly value: Json | undefined
  readonly set: (value: Json) => void
}) {
  const { name, value = null, set } = props
  const form = name === 'request' || name === 'response' ? json : name === 'dimensions' ? decimal : text
  return <TypedInput {...form} label={labels[name] ?? name} value={value} set={set} />
}

const json = {
  show: (value: Json): string => JSON.stringify(value),
  read: (typed: string): Json => JSON.parse(typed) as Json,
}
const text = {
  show: (value: Json): string => (typeof value === 'string' ? value : ''),
  read: (typed: string): string | null => typed.trim() || null,
}

function Preview({ template, index }: { readonly template: string; readonly index: IndexInfo }) {
  const [id, setId] = useState('')
  const [rendered, setRendered] = useState<string | null>(null)
  const [failure, setFailure] = useState<Failure | null>(null)
  const render = async (): Promise<void> => {
    setFailure(null)
    setRendered(null)
    try {
      const shown = id.trim() || (await firstId(index))
      setId(shown)
      const body = {
        template: { kind: 'inlineDocumentTemplate', inline: template },
        input: { kind: 'indexDocument', indexUid: index.uid, id: shown },
      }
      setRendered(String((await ask<{ rendered: Json }>('POST', '/render-template', { body })).rendered))
    } catch (error) {
      setFailure(asFailure(error))
    }
  }
  const enable = (): void => {
    ask('PATCH', '/experimental-features', { body: { renderRoute: true } }).then(render, (error: unknown) =>
      setFailure(asFailure(error)),
    )
  }
  const isOff = failure?.code === 'feature_not_enabled'
  return (
    <>
      <div class="row">
        <input
          class="picker"
          aria-label="Id of the document in the preview"
          placeholder="id; empty: first document"
          value={id}
          onInput={(event) => setId(event.currentTarget.value)}
        />
        <button type="button" onClick={render}>
          Preview the text
        </button>
      </div>
      {isOff && (
        <div class="row">
          <span class="soft small">Previews need the feature renderRoute, which is off.</span>
          <button type="button" onClick={enable}>
            Switch it on
          </button>
        </div>
      )}
      {failure !== null && !isOff && <Problem failure={failure} />}
      {rendered !== null && (
        <section aria-label="Text of the document">
          <pre class="note">{rendered}</pre>
        </section>
      )}
    </>
  )
}

/** Returns the id of the first document; empty if there is none. */
async function firstId({ uid, primaryKey }: IndexInfo): Promise<string> {
  const { results } = await ask<Page<Doc>>('GET', indexPath(uid, '/documents?limit=1'))
  return String(results[0]?.[primaryKey ?? 'id'] ?? '')
}
