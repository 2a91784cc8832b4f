/** Paged documents, and an editor for a document. */
import { useEffect, useState } from 'preact/hooks'
import { ask, askText, Failure, indexPath } from '../api/client.ts'
import type { Doc, IndexInfo, Page } from '../api/types.ts'
import { Empty, Pager, Problem } from '../parts/basics.tsx'
import { indented, short } from '../parts/text.ts'
import { asFailure, useLoaded } from '../state/loading.ts'
import { settle } from '../state/tasks.ts'

const PAGE_SIZE = 25
const TYPING_MS = 250

export function Documents(props: { readonly index: IndexInfo; readonly changed: () => void }) {
  const { index, changed } = props
  const [offset, setOffset] = useState(0)
  const [filter, setFilter] = useState('')
  const [open, setOpen] = useState<string | null>(null)
  const path = indexPath(index.uid, '/documents/fetch')
  const body = { offset, limit: PAGE_SIZE, ...(filter.trim() !== '' && { filter }) }
  const page = useLoaded(
    (signal) => ask<Page<Doc>>('POST', path, { body, signal }),
    [index.uid, offset, filter],
    TYPING_MS,
  )
  const total = page.value?.total ?? 0
  const reload = (): void => {
    page.reload()
    changed()
  }
  return (
    <div class={open === null ? '' : 'split'}>
      <div class="stack">
        <div class="row beside">
          <label class="field grow">
            Filter
            <input
              class="mono"
              spellcheck={false}
              autocomplete="off"
              placeholder="All documents"
              value={filter}
              onInput={(event) => {
                setFilter(event.currentTarget.value)
                setOffset(0)
              }}
            />
          </label>
          <button type="button" onClick={() => setOpen('')}>
            New document
          </button>
        </div>
        {page.failure !== null && <Problem failure={page.failure} />}
        {page.value !== null && total === 0 && page.failure === null && (
          <Empty title={filter.trim() === '' ? 'The index is empty' : 'No document matches the filter'}>
            {filter.trim() === '' && <p>Drop a file in “Import”, or add a document here.</p>}
          </Empty>
        )}
        <ul aria-busy={page.isLoading}>
          {page.value?.results.map((document, i) => {
            const id = index.primaryKey === null ? '' : String(document[index.primaryKey] ?? '')
            return (
              <li key={id || i}>
                <button
                  type="button"
                  class="record"
                  aria-current={open !== null && open === id ? 'true' : undefined}
                  onClick={() => setOpen(id)}
                >
                  <span class="mono">{id}</span>
                  <span class="line">{lineOf(document, index.primaryKey)}</span>
                </button>
              </li>
            )
          })}
        </ul>
        {page.value !== null && <Pager offset={offset} size={PAGE_SIZE} total={total} turn={setOffset} />}
      </div>
      {open !== null && (
        <Editor key={open} index={index} id={open} close={() => setOpen(null)} changed={reload} />
      )}
    </div>
  )
}

const LINE_FIELDS_MAX = 6

const lineOf = (document: Doc, primaryKey: string | null): string =>
  Object.entries(document)
    .filter(([name]) => name !== primaryKey)
    .slice(0, LINE_FIELDS_MAX)
    .map(([, value]) => short(value, 80))
    .filter((text) => text !== '')
    .join(' · ')

/** @param id empty for a new document */
function Editor(props: {
  readonly index: IndexInfo
  readonly id: string
  readonly close: () => void
  readonly changed: () => void
}) {
  const { index, id, close, changed } = props
  const path = indexPath(index.uid, `/documents/${encodeURIComponent(id)}`)
  const loaded = useLoaded(
    id === '' ? null : async (signal) => indented(await askText('GET', path, { signal })),
    [path],
  )
  const [text, setText] = useState(id === '' ? `{\n  "${index.primaryKey ?? 'id'}": \n}` : '')
  const [failure, setFailure] = useState<Failure | null>(null)
  const [said, setSaid] = useState('')
  const [isConfirming, setIsConfirming] = useState(false)
  useEffect(() => {
    if (loaded.value !== null) setText(loaded.value)
  }, [loaded.value])

  const run = async (write: () => Promise<unknown>, word: string, after: () => void): Promise<void> => {
    setFailure(null)
    setSaid('Working …')
    try {
      await write()
      setSaid(word)
      changed()
      after()
    } catch (error) {
      setSaid('')
      setFailure(asFailure(error))
    }
  }
  // The text is sent unchanged, so that numbers beyond 2^53 keep their digits.
  const save = (): Promise<void> =>
    run(
      async () => {
        requireObject(text)
        await settle(ask('POST', indexPath(index.uid, '/documents'), { text }))
      },
      'Saved',
      () => undefined,
    )
  const remove = (): Promise<void> => run(() => settle(ask('DELETE', path)), 'Deleted', close)
  return (
    <section class="stack" aria-label={id === '' ? 'New document' : `Document ${id}`}>
      <div class="row">
        <h2 class="grow wrap">{id === '' ? 'New document' : `Document ${id}`}</h2>
        <button type="button" class="plain" onClick={close}>
          Close
        </button>
      </div>
      {loaded.failure !== null && <Problem failure={loaded.failure} />}
      <textarea
        rows={22}
        spellcheck={false}
        aria-label="Document as JSON"
        aria-invalid={failure !== null}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {failure !== null && <Problem failure={failure} />}
      <div class="row">
        <button type="button" class="main" onClick={save}>
          Save
        </button>
        {id !== '' && (
          <button
            type="button"
            class="danger"
            onClick={() => (isConfirming ? remove() : setIsConfirming(true))}
          >
            {isConfirming ? 'Delete for good?' : 'Delete'}
          </button>
        )}
        <span role="status" class="soft small">
          {said}
        </span>
      </div>
    </section>
  )
}

/** @throws {Failure} with the position of the error if the text is not a JSON object */
function requireObject(text: string): void {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Failure(400, 'page', `This is not valid JSON: ${(error as Error).message}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Failure(400, 'page', 'A document must be a JSON object, with braces around its fields.')
}
