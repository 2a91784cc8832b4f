/** Settings of an index as a form or as JSON, with the cost of each change before it is saved. */
import { useEffect, useState } from 'preact/hooks'
import { ask, type Failure, indexPath } from '../api/client.ts'
import type { Field, IndexInfo, IndexStats, Json, Page, Settings } from '../api/types.ts'
import { Problem, type Tab, Tabs } from '../parts/basics.tsx'
import { plural } from '../parts/text.ts'
import { asFailure, useLoaded } from '../state/loading.ts'
import { settle } from '../state/tasks.ts'
import { isUnknown } from './attributes.ts'
import { completed, isObject, patchOf } from './changes.ts'
import type { Editor } from './editor.ts'
import { Embedders } from './embedders.tsx'
import { FieldSwitches } from './fields.tsx'
import { RankingRules } from './ranking.tsx'
import { RowControl } from './row-control.tsx'
import { otherRows, type SettingRow, searchRows, wordRows } from './rows.ts'
import { Synonyms, TypoTolerance, WordLanguages } from './words.tsx'

type Cost = 'metadata' | 'columns' | 'documents'

interface DryRun {
  readonly documents: number
  readonly changes: readonly { readonly setting: string; readonly cost: Cost }[]
  readonly embeddings: Readonly<Record<string, { readonly documentsMax: number }>>
}

const costs: Readonly<Record<Cost, (documents: number) => string>> = {
  metadata: () => 'no reindexing',
  columns: (documents) => `columns of ${plural(documents, 'document')} are rebuilt`,
  documents: (documents) => `${plural(documents, 'document')} are reindexed`,
}

const TYPING_MS = 400
const FIELDS_MAX = 1000

type View = 'fields' | 'ranking' | 'words' | 'vectors' | 'others' | 'json'
const views: readonly Tab<View>[] = [
  { name: 'fields', text: 'Attributes' },
  { name: 'ranking', text: 'Ranking' },
  { name: 'words', text: 'Words' },
  { name: 'vectors', text: 'Embedders' },
  { name: 'others', text: 'Others' },
  { name: 'json', text: 'JSON' },
]

export function SettingsForm(props: {
  readonly index: IndexInfo
  readonly stats: IndexStats | null
  readonly changed: () => void
}) {
  const { index, stats } = props
  const path = indexPath(index.uid, '/settings')
  const loaded = useLoaded((signal) => ask<Settings>('GET', path, { signal }), [index.uid])
  const known = useLoaded(
    (signal) =>
      ask<Page<Field>>('POST', indexPath(index.uid, '/fields'), { body: { limit: FIELDS_MAX }, signal }),
    [index.uid],
  )
  const [draft, setDraft] = useState<Settings>({})
  const [view, setView] = useState<View>('fields')
  /** Counts saves and undos, which clear half-typed texts. */
  const [round, setRound] = useState(0)
  const [state, setState] = useState<'idle' | 'saving' | 'saved'>('idle')
  const [failure, setFailure] = useState<Failure | null>(null)
  const [mistake, setMistake] = useState<string | null>(null)
  const stored = loaded.value === null ? {} : completed(loaded.value)
  const patch = patchOf(stored, draft)
  const names = Object.keys(patch)
  const dry = useLoaded(
    names.length === 0
      ? null
      : (signal) => ask<DryRun>('PATCH', `${path}?dryRun=true`, { body: patch, signal }),
    [JSON.stringify(patch)],
    TYPING_MS,
  )
  const clear = (): void => {
    setDraft({})
    setMistake(null)
    setRound((now) => now + 1)
  }
  const save = async (): Promise<void> => {
    setState('saving')
    setFailure(null)
    try {
      await settle(ask('PATCH', path, { body: patch }))
      clear()
      setState('saved')
      loaded.reload()
      props.changed()
    } catch (error) {
      setState('idle')
      setFailure(asFailure(error))
    }
  }
  if (loaded.failure !== null) return <Problem failure={loaded.failure} />
  if (loaded.value === null) return <p class="soft">Loading …</p>
  const fields = (known.value?.results ?? []).map(({ name }) => name)
  const held = new Set([...fields, ...Object.keys(stats?.fieldDistribution ?? {})])
  const change = (changes: Settings): void => {
    setState('idle')
    setDraft((now) => ({ ...now, ...changes }))
  }
  const editor: Editor = {
    settings: { ...stored, ...draft },
    set: (name, value) => change({ [name]: value }),
    costOf: (name) => (names.includes(name) ? costOf(name, dry.value) : ''),
    isChanged: (name) => names.includes(name),
    fields,
    isUnknown: (name) => (stats?.numberOfDocuments ?? 0) > 0 && held.size > 0 && isUnknown(name, held),
  }
  const rows = (shown: readonly SettingRow[]) =>
    shown
      .filter(({ name }) => editor.settings[name] !== undefined)
      .map((row) => <RowControl key={`${row.name} ${round}`} editor={editor} row={row} />)
  return (
    <form
      class="stack"
      // Enter in a field of a list would save the form before the entry is added.
      onKeyDown={(event) => {
        if (event.key === 'Enter' && event.target instanceof HTMLInputElement) event.preventDefault()
      }}
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      <datalist id="setting-fields">
        {fields.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Tabs label="Kinds of settings" tabs={views} chosen={view} choose={setView}>
        {view === 'fields' && <FieldSwitches editor={editor} />}
        {view === 'ranking' && (
          <div>
            <RankingRules editor={editor} />
            {rows(searchRows)}
          </div>
        )}
        {view === 'words' && (
          <div>
            <Synonyms editor={editor} />
            <TypoTolerance editor={editor} />
            <WordLanguages editor={editor} />
            {rows(wordRows)}
          </div>
        )}
        {view === 'vectors' && <Embedders editor={editor} index={index} />}
        {view === 'others' && <div>{rows(otherRows)}</div>}
        {view === 'json' && (
          <JsonView
            key={round}
            settings={editor.settings}
            change={(settings) => {
              setState('idle')
              setDraft(settings)
            }}
            mistake={mistake}
            setMistake={setMistake}
          />
        )}
      </Tabs>
      <div class="stack savebar">
        {failure !== null && <Problem failure={failure} />}
        {dry.failure !== null && names.length > 0 && <Problem failure={dry.failure} />}
        <div class="row">
          <button
            type="submit"
            class="main"
            disabled={names.length === 0 || mistake !== null || state === 'saving'}
          >
            Save
          </button>
          <button type="button" disabled={names.length === 0 && mistake === null} onClick={clear}>
            Undo
          </button>
          <span role="status" class="soft small">
            {state === 'saving' && 'Saving; a large index takes a while …'}
            {state === 'saved' && 'Saved'}
            {state === 'idle' && names.length > 0 && total(names, dry.value)}
            {state === 'idle' && names.length === 0 && 'No changes'}
          </span>
        </div>
      </div>
    </form>
  )
}

function costOf(name: string, dry: DryRun | null): string {
  if (dry === null) return ''
  const vectors = name === 'embedders' ? vectorsOf(dry) : ''
  const cost = dry.changes.find(({ setting }) => setting === name)?.cost ?? 'metadata'
  return vectors === '' ? costs[cost](dry.documents) : vectors
}

const vectorsOf = ({ embeddings }: DryRun): string =>
  Object.entries(embeddings)
    .map(([name, { documentsMax }]) => `at most ${plural(documentsMax, 'new vector')} from ${name}`)
    .join(', ')

/** Describes the cost of all changes: that of the most expensive change. */
function total(names: readonly string[], dry: DryRun | null): string {
  const text = plural(names.length, 'change')
  if (dry === null) return text
  const order: readonly Cost[] = ['documents', 'columns', 'metadata']
  const worst = order.find((cost) => dry.changes.some((change) => change.cost === cost)) ?? 'metadata'
  const vectors = vectorsOf(dry)
  return `${text}: ${costs[worst](dry.documents)}${vectors === '' ? '' : `; ${vectors}`}`
}

function JsonView(props: {
  readonly settings: Settings
  readonly change: (settings: Settings) => void
  readonly mistake: string | null
  readonly setMistake: (mistake: string | null) => void
}) {
  const { settings, change, mistake, setMistake } = props
  const [text, setText] = useState(() => JSON.stringify(settings, null, 2))
  // Another view drops a text with a mistake, and shows no mistake.
  useEffect(() => () => setMistake(null), [setMistake])
  const read = (typed: string): void => {
    setText(typed)
    try {
      const value = JSON.parse(typed) as Json
      if (!isObject(value)) throw new SyntaxError('Settings are an object in braces.')
      change(value)
      setMistake(null)
    } catch (error) {
      setMistake((error as Error).message)
    }
  }
  return (
    <label class="field">
      All settings. Those that you leave out stay as they are.
      <textarea
        rows={24}
        spellcheck={false}
        aria-invalid={mistake !== null}
        value={text}
        onInput={(event) => read(event.currentTarget.value)}
      />
      {mistake !== null && <span class="warn">{mistake}</span>}
    </label>
  )
}
