/** Form for the settings, which shows the cost of a change before it is saved. */
import { useId, useState } from 'preact/hooks'
import { ask, type Failure, indexPath } from '../api/client.ts'
import type { IndexInfo, Settings } from '../api/types.ts'
import { Problem } from '../parts/basics.tsx'
import { count, plural } from '../parts/text.ts'
import { asFailure, useLoaded } from '../state/loading.ts'
import { settle } from '../state/tasks.ts'
import { changesOf, kindFor, type SettingRow, settingRows, typedFrom } from './settings-rows.ts'

type Cost = 'metadata' | 'columns' | 'documents'

interface DryRun {
  readonly documents: number
  readonly changes: readonly { readonly setting: string; readonly cost: Cost }[]
  readonly embeddings: Readonly<Record<string, unknown>>
}

const costs: Readonly<Record<Cost, string>> = {
  metadata: 'at once',
  columns: 'columns are rebuilt',
  documents: 'all text is reindexed',
}

const TYPING_MS = 400

export function SettingsForm(props: { readonly index: IndexInfo; readonly changed: () => void }) {
  const { index } = props
  const path = indexPath(index.uid, '/settings')
  const loaded = useLoaded((signal) => ask<Settings>('GET', path, { signal }), [index.uid])
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const [state, setState] = useState<'idle' | 'saving' | 'saved'>('idle')
  const [failure, setFailure] = useState<Failure | null>(null)
  const settings = loaded.value
  const { patch, mistakes } = settings === null ? { patch: {}, mistakes: {} } : changesOf(settings, typed)
  const names = Object.keys(patch)
  const dry = useLoaded(
    names.length === 0
      ? null
      : (signal) => ask<DryRun>('PATCH', `${path}?dryRun=true`, { body: patch, signal }),
    [JSON.stringify(patch)],
    TYPING_MS,
  )
  const save = async (): Promise<void> => {
    setState('saving')
    setFailure(null)
    try {
      await settle(ask('PATCH', path, { body: patch }))
      setTyped({})
      setState('saved')
      loaded.reload()
      props.changed()
    } catch (error) {
      setState('idle')
      setFailure(asFailure(error))
    }
  }
  if (loaded.failure !== null) return <Problem failure={loaded.failure} />
  if (settings === null) return <p class="soft">Loading …</p>
  const costOf = (name: string): string => {
    const cost = dry.value?.changes.find(({ setting }) => setting === name)?.cost
    return cost === undefined ? '' : costs[cost]
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      {settingRows
        .filter(({ name }) => settings[name] !== undefined)
        .map((row) => (
          <Setting
            key={row.name}
            row={row}
            kind={kindFor(row, settings[row.name])}
            typed={typed[row.name] ?? typedFrom(kindFor(row, settings[row.name]), settings[row.name])}
            isChanged={names.includes(row.name)}
            mistake={mistakes[row.name] ?? null}
            cost={costOf(row.name)}
            change={(text) => {
              setState('idle')
              setTyped((now) => ({ ...now, [row.name]: text }))
            }}
          />
        ))}
      <div class="stack savebar">
        {failure !== null && <Problem failure={failure} />}
        {dry.failure !== null && names.length > 0 && <Problem failure={dry.failure} />}
        <div class="row">
          <button
            type="submit"
            class="main"
            disabled={names.length === 0 || Object.keys(mistakes).length > 0 || state === 'saving'}
          >
            Save
          </button>
          <button type="button" disabled={Object.keys(typed).length === 0} onClick={() => setTyped({})}>
            Undo
          </button>
          <span role="status" class="soft small">
            {state === 'saving' && 'Saving; a large index takes a while …'}
            {state === 'saved' && 'Saved'}
            {state === 'idle' && names.length > 0 && total(names.length, dry.value)}
            {state === 'idle' && names.length === 0 && 'No changes'}
          </span>
        </div>
      </div>
    </form>
  )
}

/** Describes the cost of all changes: that of the most expensive change. */
function total(changes: number, dry: DryRun | null): string {
  const text = plural(changes, 'change')
  if (dry === null) return text
  const order: readonly Cost[] = ['documents', 'columns', 'metadata']
  const worst = order.find((cost) => dry.changes.some((change) => change.cost === cost))
  const vectors = Object.keys(dry.embeddings)
  const embedded = vectors.length > 0 ? `; new vectors from ${vectors.join(', ')}` : ''
  return `${text} in an index of ${count(dry.documents)} documents: ${worst === undefined ? 'nothing to do' : costs[worst]}${embedded}`
}

function Setting(props: {
  readonly row: SettingRow
  readonly kind: SettingRow['kind']
  readonly typed: string
  readonly isChanged: boolean
  readonly mistake: string | null
  readonly cost: string
  readonly change: (typed: string) => void
}) {
  const { row, kind, typed, isChanged, mistake, cost, change } = props
  const id = useId()
  const common = { id, 'aria-describedby': `${id}-note`, 'aria-invalid': mistake !== null }
  const lines = Math.min(12, typed.split('\n').length + 1)
  return (
    <div class={isChanged ? 'setting changed' : 'setting'}>
      <label for={id}>
        {row.title} <span class="hint">{row.hint}</span>
      </label>
      {kind === 'lines' || kind === 'json' ? (
        <textarea
          {...common}
          rows={lines}
          spellcheck={false}
          value={typed}
          onInput={(event) => change(event.currentTarget.value)}
        />
      ) : kind === 'toggle' ? (
        <span>
          <input
            {...common}
            type="checkbox"
            checked={typed === 'true'}
            onChange={(event) => change(String(event.currentTarget.checked))}
          />
        </span>
      ) : kind === 'text' || kind === 'number' ? (
        <input
          {...common}
          inputMode={kind === 'number' ? 'numeric' : 'text'}
          value={typed}
          onInput={(event) => change(event.currentTarget.value)}
        />
      ) : (
        <select {...common} value={typed} onChange={(event) => change(event.currentTarget.value)}>
          {kind.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      )}
      <span id={`${id}-note`} class="small soft">
        {mistake ?? (isChanged ? cost : '')}
      </span>
    </div>
  )
}
