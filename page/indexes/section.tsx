/** Index: documents, fields, settings, imports, vectors and judged queries. */
import { useState } from 'preact/hooks'
import { ask, Failure, indexPath } from '../api/client.ts'
import type { IndexInfo, IndexStats } from '../api/types.ts'
import { FirstSteps } from '../first/first-steps.tsx'
import { Judge } from '../judge/judge.tsx'
import { Dialog, Problem, Tabs } from '../parts/basics.tsx'
import { bytes, plural } from '../parts/text.ts'
import { SettingsForm } from '../settings/form.tsx'
import { asFailure, useLoaded } from '../state/loading.ts'
import { settle } from '../state/tasks.ts'
import { Documents } from './documents.tsx'
import { Fields } from './fields.tsx'
import { Import } from './import.tsx'
import { Vectors } from './vectors.tsx'

const tabs = [
  { name: 'documents', text: 'Documents' },
  { name: 'fields', text: 'Fields' },
  { name: 'settings', text: 'Settings' },
  { name: 'import', text: 'Import' },
  { name: 'vectors', text: 'Vectors' },
  { name: 'judge', text: 'Judge' },
] as const
type TabName = (typeof tabs)[number]['name']

export function IndexSection(props: {
  readonly indexes: readonly IndexInfo[]
  readonly index: IndexInfo | null
  /** The uid in the URL, if the index does not exist. */
  readonly missing: string | null
  readonly choose: (uid: string) => void
  readonly reload: () => void
  /** Starts the import of files. */
  readonly take: (files: readonly File[]) => void
}) {
  const { indexes, index, missing, choose, reload, take } = props
  const [tab, setTab] = useState<TabName>('documents')
  const [dialog, setDialog] = useState<'create' | 'delete' | null>(null)
  return (
    <div class="stack">
      <div class="row">
        <h1 class={index === null ? 'grow' : 'hidden'}>
          {index === null ? 'Indexes' : `Index ${index.uid}`}
        </h1>
        {indexes.length > 0 && (
          <label class="row">
            <span class="soft small">Index</span>
            <select
              class="picker"
              value={index?.uid ?? ''}
              onChange={(event) => choose(event.currentTarget.value)}
            >
              {index === null && <option value="">Choose …</option>}
              {indexes.map(({ uid }) => (
                <option key={uid}>{uid}</option>
              ))}
            </select>
          </label>
        )}
        <span class="grow" />
        <button type="button" onClick={() => setDialog('create')}>
          New index
        </button>
        {index !== null && (
          <button type="button" class="danger" onClick={() => setDialog('delete')}>
            Delete index
          </button>
        )}
      </div>
      {missing !== null && (
        <Problem
          failure={new Failure(404, '', `The index “${missing}” does not exist, or this key may not see it.`)}
        />
      )}
      {indexes.length === 0 && <FirstSteps take={take} hasLink={false} />}
      {index !== null && <Overview key={index.uid} index={index} tab={tab} setTab={setTab} reload={reload} />}
      {dialog === 'create' && (
        <CreateDialog
          close={() => setDialog(null)}
          done={(uid) => {
            setDialog(null)
            reload()
            choose(uid)
            setTab('import')
          }}
        />
      )}
      {dialog === 'delete' && index !== null && (
        <DeleteDialog
          uid={index.uid}
          close={() => setDialog(null)}
          done={() => {
            setDialog(null)
            location.hash = '#/index'
            reload()
          }}
        />
      )}
    </div>
  )
}

function Overview(props: {
  readonly index: IndexInfo
  readonly tab: TabName
  readonly setTab: (tab: TabName) => void
  readonly reload: () => void
}) {
  const { index, tab, setTab } = props
  const stats = useLoaded(
    (signal) => ask<IndexStats>('GET', indexPath(index.uid, '/stats'), { signal }),
    [index.uid],
  )
  const reload = (): void => {
    stats.reload()
    props.reload()
  }
  const facts = stats.value
  return (
    <>
      <p class="soft num">
        {facts === null
          ? ' '
          : `${plural(facts.numberOfDocuments, 'document')} · ${bytes(facts.indexSize)} on disk · primary key ${index.primaryKey ?? 'not set'}${facts.isIndexing ? ' · indexing' : ''}`}
      </p>
      <Tabs label="Parts of the index" tabs={tabs} chosen={tab} choose={setTab}>
        {tab === 'documents' && <Documents index={index} changed={reload} />}
        {tab === 'fields' && <Fields index={index} stats={facts} />}
        {tab === 'settings' && <SettingsForm index={index} stats={facts} changed={reload} />}
        {tab === 'import' && <Import index={index} changed={reload} />}
        {tab === 'vectors' && <Vectors index={index} stats={facts} />}
        {tab === 'judge' && <Judge index={index} />}
      </Tabs>
    </>
  )
}

function CreateDialog(props: { readonly close: () => void; readonly done: (uid: string) => void }) {
  const { close, done } = props
  const [uid, setUid] = useState('')
  const [primaryKey, setPrimaryKey] = useState('')
  const [failure, setFailure] = useState<Failure | null>(null)
  const submit = (event: Event): void => {
    event.preventDefault()
    const body = { uid, primaryKey: primaryKey || null }
    settle(ask('POST', '/indexes', { body })).then(
      () => done(uid),
      (error: unknown) => setFailure(asFailure(error)),
    )
  }
  return (
    <Dialog title="New index" close={close}>
      <form class="stack" onSubmit={submit}>
        <label class="field">
          Uid: letters, digits, - and _
          <input
            required
            autocomplete="off"
            value={uid}
            onInput={(event) => setUid(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          Primary key; left empty, it is found in the first documents
          <input
            autocomplete="off"
            value={primaryKey}
            onInput={(event) => setPrimaryKey(event.currentTarget.value)}
          />
        </label>
        {failure !== null && <Problem failure={failure} />}
        <div class="row">
          <button type="submit" class="main">
            Create
          </button>
        </div>
      </form>
    </Dialog>
  )
}

function DeleteDialog(props: {
  readonly uid: string
  readonly close: () => void
  readonly done: () => void
}) {
  const { uid, close, done } = props
  const [typed, setTyped] = useState('')
  const [failure, setFailure] = useState<Failure | null>(null)
  const submit = (event: Event): void => {
    event.preventDefault()
    settle(ask('DELETE', indexPath(uid))).then(done, (error: unknown) => setFailure(asFailure(error)))
  }
  return (
    <Dialog title={`Delete ${uid}?`} close={close}>
      <form class="stack" onSubmit={submit}>
        <p>This deletes its documents and settings permanently. Type the uid to confirm.</p>
        <label class="field">
          Uid of the index
          <input autocomplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        {failure !== null && <Problem failure={failure} />}
        <div class="row">
          <button type="submit" class="danger" disabled={typed !== uid}>
            Delete
          </button>
        </div>
      </form>
    </Dialog>
  )
}
