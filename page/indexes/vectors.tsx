/** Vectors by embedder: their number, and those of some documents. */
import { useState } from 'preact/hooks'
import { ask, indexPath } from '../api/client.ts'
import type { Doc, IndexInfo, IndexStats, Json, Page } from '../api/types.ts'
import { Empty, Meter, Problem, Scroll } from '../parts/basics.tsx'
import { own } from '../parts/own.ts'
import { count, plural, short } from '../parts/text.ts'
import { useLoaded } from '../state/loading.ts'

const SAMPLE = 10
/** Maximum number of components to draw. */
const DRAWN_MAX = 256

export function Vectors(props: { readonly index: IndexInfo; readonly stats: IndexStats | null }) {
  const { index, stats } = props
  const [offset, setOffset] = useState(0)
  const embedders = useLoaded(
    (signal) => ask<Record<string, Doc>>('GET', indexPath(index.uid, '/settings/embedders'), { signal }),
    [index.uid],
  )
  const names = Object.keys(embedders.value ?? {})
  const path = indexPath(index.uid, '/documents/fetch')
  const body = {
    limit: SAMPLE,
    offset,
    retrieveVectors: true,
    fields: [index.primaryKey ?? 'id', '_vectors'],
  }
  const sample = useLoaded(
    names.length === 0 ? null : (signal) => ask<Page<Doc>>('POST', path, { body, signal }),
    [index.uid, names.length, offset],
  )
  if (embedders.failure !== null) return <Problem failure={embedders.failure} />
  if (embedders.value !== null && names.length === 0)
    return (
      <Empty title="No embedder is set">
        <p>
          Embedders turn documents and queries into vectors, to search by meaning. Add an embedder in
          “Settings”.
        </p>
      </Empty>
    )
  const documents = stats?.numberOfDocuments ?? 0
  return (
    <>
      {stats !== null && (
        <div class="row">
          <span class="num">
            {plural(stats.numberOfEmbeddings, 'vector')}, in {count(stats.numberOfEmbeddedDocuments)} of{' '}
            {plural(documents, 'document')}
          </span>
          <span class="grow">
            <Meter
              value={documents === 0 ? 0 : stats.numberOfEmbeddedDocuments / documents}
              label="Documents with vectors"
            />
          </span>
        </div>
      )}
      <Scroll label="Embedders">
        <table>
          <thead>
            <tr>
              <th scope="col">Embedder</th>
              <th scope="col">Source</th>
              <th scope="col">Model</th>
              <th scope="col" class="num">
                Dimensions
              </th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(embedders.value ?? {}).map(([name, settings]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{short(settings.source)}</td>
                <td class="wrap">{short(settings.model ?? settings.url)}</td>
                <td class="num">{short(settings.dimensions)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {sample.failure !== null && <Problem failure={sample.failure} />}
      <ul class="stack">
        {sample.value?.results.map((document, i) => (
          <li key={short(document[index.primaryKey ?? 'id']) || i}>
            <h3 class="mono">{short(document[index.primaryKey ?? 'id'])}</h3>
            {names.map((name) => (
              <Strip key={name} name={name} vectors={vectorsOf(document, name)} />
            ))}
          </li>
        ))}
      </ul>
      {(sample.value?.total ?? 0) > offset + SAMPLE && (
        <div class="row">
          <button type="button" onClick={() => setOffset(offset + SAMPLE)}>
            Next documents
          </button>
        </div>
      )}
    </>
  )
}

function vectorsOf(document: Doc, embedder: string): readonly (readonly number[])[] {
  const held = own(document._vectors as Record<string, Json> | undefined, embedder)
  const embeddings = (held as { embeddings?: unknown } | undefined)?.embeddings ?? held ?? []
  const list = Array.isArray(embeddings) ? embeddings : []
  return (Array.isArray(list[0]) ? list : [list]) as (readonly number[])[]
}

function Strip({
  name,
  vectors,
}: {
  readonly name: string
  readonly vectors: readonly (readonly number[])[]
}) {
  const first = vectors[0] ?? []
  if (first.length === 0) return <p class="small soft">{name}: no vector</p>
  const drawn = first.slice(0, DRAWN_MAX)
  const largest = Math.max(...drawn.map(Math.abs)) || 1
  const path = drawn.map((value, i) => `M${i + 0.5} 0V${((-value / largest) * 10).toFixed(2)}`).join('')
  return (
    <div>
      <p class="small soft num">
        {name}: {plural(vectors.length, 'vector')} of {plural(first.length, 'number')}, first{' '}
        {first
          .slice(0, 4)
          .map((value) => value.toFixed(3))
          .join(', ')}{' '}
        …
      </p>
      <svg
        class="strip"
        role="img"
        aria-label={`Components of the vector of ${name}`}
        viewBox={`0 -11 ${drawn.length} 22`}
        preserveAspectRatio="none"
      >
        <path d={path} />
      </svg>
    </div>
  )
}
