/** Imports a dropped file into an index that is named after it, and proposes filters for a new one. */
import { useEffect, useState } from 'preact/hooks'
import { ask, type Failure, indexPath } from '../api/client.ts'
import type { IndexInfo } from '../api/types.ts'
import { Outcome } from '../indexes/outcome.tsx'
import { formatOf } from '../indexes/upload.ts'
import { useImport } from '../indexes/use-import.ts'
import { Dialog, Problem } from '../parts/basics.tsx'
import { bytes, plural } from '../parts/text.ts'
import { asFailure } from '../state/loading.ts'
import { addressOf } from '../state/route.ts'
import { settle } from '../state/tasks.ts'
import { firstFields, keyCandidates, uidOf } from './first-document.ts'

export function ImportDialog(props: {
  readonly file: File
  /** Number of files whose import follows. */
  readonly waiting: number
  readonly indexes: readonly IndexInfo[]
  readonly close: () => void
  readonly changed: () => void
}) {
  const { file, waiting, indexes, close, changed } = props
  const format = formatOf(file.name)
  const [uid, setUid] = useState(uidOf(file.name))
  const [fields, setFields] = useState<readonly string[]>([])
  const [primaryKey, setPrimaryKey] = useState('')
  const run = useImport(changed)
  useEffect(() => {
    firstFields(file, format).then(
      (found) => {
        const candidates = keyCandidates(found)
        setFields(found)
        if (candidates.length === 1) setPrimaryKey(candidates[0]!)
      },
      () => undefined,
    )
  }, [file, format])
  const existing = indexes.find((index) => index.uid === uid)
  const isDone = run.stage.kind === 'done' && run.stage.task.status === 'succeeded'
  const submit = (event: Event): void => {
    event.preventDefault()
    run.start({
      index: uid,
      file,
      format,
      primaryKey: existing?.primaryKey ? '' : primaryKey.trim(),
      isUpdate: false,
    })
  }
  return (
    <Dialog title={`Import ${file.name}`} close={close}>
      <form class="stack" onSubmit={submit}>
        <p class="soft small">
          {format}, {bytes(file.size)}
          {waiting > 0 && `; then ${plural(waiting, 'more file', 'more files')}`}
        </p>
        <label class="field">
          Index
          <input
            required
            pattern="[A-Za-z0-9_\-]+"
            title="Letters, digits, - and _"
            autocomplete="off"
            disabled={run.isBusy || isDone}
            value={uid}
            onInput={(event) => setUid(event.currentTarget.value)}
          />
        </label>
        {existing !== undefined && !run.isBusy && !isDone && (
          <p class="note">This index exists. Documents with the same id are replaced.</p>
        )}
        {!existing?.primaryKey && (
          <label class="field">
            Primary key
            <input
              list="fields-of-file"
              placeholder="The field that identifies a document"
              autocomplete="off"
              disabled={run.isBusy || isDone}
              value={primaryKey}
              onInput={(event) => setPrimaryKey(event.currentTarget.value)}
            />
            <datalist id="fields-of-file">
              {fields.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </datalist>
          </label>
        )}
        {!isDone && (
          <div class="row">
            <button type="submit" class="main" disabled={run.isBusy}>
              Import
            </button>
          </div>
        )}
      </form>
      <Outcome run={run} />
      {isDone && <Filters uid={uid} done={close} />}
    </Dialog>
  )
}

interface Described {
  readonly primaryKey: string | null
  readonly fields: readonly { readonly name: string; readonly type: string }[]
}

interface Enabled {
  readonly filterableAttributes: readonly unknown[]
  readonly sortableAttributes: readonly string[]
}

/** Types whose values are usually few enough to filter by. Texts are proposed, but not chosen. */
const chosenTypes = ['number', 'integer', 'boolean', 'array of string', 'array of number']

/**
 * Proposes attributes for filters and sorting, which only work once the settings list them. Settings that an index already
 * has are left as they are.
 */
function Filters({ uid, done }: { readonly uid: string; readonly done: () => void }) {
  const [fields, setFields] = useState<Described['fields']>([])
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [failure, setFailure] = useState<Failure | null>(null)
  const [isSaving, setIsSaving] = useState(false)
  useEffect(() => {
    Promise.all([
      ask<Described>('GET', indexPath(uid, '/description')),
      ask<Enabled>('GET', indexPath(uid, '/settings')),
    ]).then(
      ([{ fields: found, primaryKey }, { filterableAttributes, sortableAttributes }]) => {
        if (filterableAttributes.length + sortableAttributes.length > 0) return
        const others = found.filter(({ name }) => name !== primaryKey)
        setFields(others)
        setChosen(others.filter(({ type }) => chosenTypes.includes(type)).map(({ name }) => name))
      },
      () => undefined,
    )
  }, [uid])
  const open = (): void => {
    location.hash = addressOf('search', uid)
    done()
  }
  const save = async (): Promise<void> => {
    setIsSaving(true)
    try {
      const body = {
        filterableAttributes: chosen,
        // By default only the first values of the alphabet are counted, which are often punctuation.
        faceting: { sortFacetValuesBy: { '*': 'count' } },
        sortableAttributes: chosen.filter(
          (name) => !fields.find((field) => field.name === name)?.type.startsWith('array'),
        ),
      }
      await settle(ask('PATCH', indexPath(uid, '/settings'), { body }))
      open()
    } catch (error) {
      setFailure(asFailure(error))
      setIsSaving(false)
    }
  }
  const toggle = (name: string): void =>
    setChosen((now) => (now.includes(name) ? now.filter((other) => other !== name) : [...now, name]))
  return (
    <div class="stack">
      {fields.length > 0 && (
        <fieldset class="stack">
          <legend>Filter and sort by</legend>
          <div class="choices">
            {fields.map(({ name, type }) => (
              <label key={name} class="row">
                <input type="checkbox" checked={chosen.includes(name)} onChange={() => toggle(name)} />
                {name} <span class="soft small">{type}</span>
              </label>
            ))}
          </div>
        </fieldset>
      )}
      {failure !== null && <Problem failure={failure} />}
      <div class="row">
        {fields.length > 0 && (
          <button type="button" class="main" disabled={isSaving || chosen.length === 0} onClick={save}>
            Enable and search
          </button>
        )}
        <button type="button" onClick={open}>
          {fields.length > 0 ? 'Search without filters' : 'Search'}
        </button>
      </div>
    </div>
  )
}
