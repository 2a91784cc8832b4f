/** Edits a rule: when it acts, what it pins and scales, with a preview of a search. */
import { useState } from 'preact/hooks'
import { ask, type Failure } from '../api/client.ts'
import type { IndexInfo, Json } from '../api/types.ts'
import { Problem } from '../parts/basics.tsx'
import { commaSeparated, decimal, TypedInput } from '../parts/typed-input.tsx'
import { asFailure } from '../state/loading.ts'
import { settle } from '../state/tasks.ts'
import { RulePreview } from './preview.tsx'
import { type Conditions, conditionText, conditionValue, type Pin, type Rule, type Scale } from './rule.ts'

export function RuleEditor(props: {
  readonly rule: Rule
  readonly indexes: readonly IndexInfo[]
  readonly index: IndexInfo | null
  readonly close: () => void
  readonly saved: () => void
}) {
  const { indexes, index, close, saved } = props
  const isNew = props.rule.uid === ''
  const [rule, setRule] = useState(props.rule)
  const [failure, setFailure] = useState<Failure | null>(null)
  const change = (changes: Partial<Rule>): void => setRule((now) => ({ ...now, ...changes }))
  const { pin = [], scale = [] } = rule.actions
  const setPins = (pins: readonly Pin[]): void => change({ actions: { ...rule.actions, pin: pins } })
  const setScales = (scales: readonly Scale[]): void =>
    change({ actions: { ...rule.actions, scale: scales } })
  const save = (event: Event): void => {
    event.preventDefault()
    const { uid, ...body } = rule
    setFailure(null)
    settle(ask('PATCH', `/dynamic-search-rules/${encodeURIComponent(uid)}`, { body: sent(body) })).then(
      saved,
      (error: unknown) => setFailure(asFailure(error)),
    )
  }
  return (
    <div class="split">
      <form class="stack" onSubmit={save}>
        <div class="row">
          <h1 class="grow wrap">{isNew ? 'New rule' : `Rule ${rule.uid}`}</h1>
          <button type="button" class="plain" onClick={close}>
            Back to the rules
          </button>
        </div>
        <div class="pair wide">
          {isNew && (
            <label class="field">
              Uid: letters, digits, - and _
              <input
                required
                pattern="[\-_A-Za-z0-9]+"
                autocomplete="off"
                value={rule.uid}
                onInput={(event) => change({ uid: event.currentTarget.value })}
              />
            </label>
          )}
          <label class="field">
            Description
            <input
              autocomplete="off"
              value={rule.description ?? ''}
              onInput={(event) => change({ description: event.currentTarget.value || null })}
            />
          </label>
          <TypedInput
            {...decimal}
            label="Precedence: lower comes first"
            value={rule.precedence}
            set={(precedence) => change({ precedence: precedence as number | null })}
            input={{ inputMode: 'numeric' }}
          />
        </div>
        <label class="check">
          <input
            type="checkbox"
            class="switch"
            checked={rule.active}
            onChange={() => change({ active: !rule.active })}
          />
          Active
        </label>
        <h2>It acts in searches</h2>
        <ConditionFields conditions={rule.conditions} set={(conditions) => change({ conditions })} />
        <h2>It pins documents</h2>
        {pin.map((one, at) => (
          <div class="row beside action" key={at}>
            <label class="field">
              Document id
              <input
                required
                autocomplete="off"
                value={one.id}
                onInput={(event) => setPins(pin.with(at, { ...one, id: event.currentTarget.value }))}
              />
            </label>
            <label class="field">
              Position
              <input
                type="number"
                min={1}
                required
                value={one.position + 1}
                onInput={(event) => {
                  const { valueAsNumber: place } = event.currentTarget
                  if (place >= 1) setPins(pin.with(at, { ...one, position: Math.floor(place) - 1 }))
                }}
              />
            </label>
            <IndexChoice indexes={indexes} action={one} set={(changed) => setPins(pin.with(at, changed))} />
            <button
              type="button"
              class="plain"
              aria-label={`Remove the pin of ${one.id}`}
              onClick={() => setPins(pin.toSpliced(at, 1))}
            >
              ×
            </button>
          </div>
        ))}
        <div class="row">
          <button type="button" onClick={() => setPins([...pin, { id: '', position: 0 }])}>
            Add a pin
          </button>
        </div>
        <h2>It scales scores</h2>
        {scale.map((one, at) => (
          <div class="row beside action" key={at}>
            <TypedInput
              {...decimal}
              label="Weight; 0 hides"
              value={one.weight}
              set={(weight) => setScales(scale.with(at, { ...one, weight: Number(weight) }))}
              input={{ inputMode: 'decimal' }}
            />
            <TypedInput
              {...commaSeparated}
              label="Document ids"
              value={one.ids ?? []}
              set={(ids) => setScales(scale.with(at, { ...one, ids: ids as readonly string[] }))}
            />
            <TypedInput
              {...filterText}
              label="or a filter"
              value={one.filter ?? null}
              set={(filter) => setScales(scale.with(at, { ...one, filter }))}
            />
            <IndexChoice
              indexes={indexes}
              action={one}
              set={(changed) => setScales(scale.with(at, changed))}
            />
            <button
              type="button"
              class="plain"
              aria-label={`Remove the weight ${one.weight}`}
              onClick={() => setScales(scale.toSpliced(at, 1))}
            >
              ×
            </button>
          </div>
        ))}
        <div class="row">
          <button type="button" onClick={() => setScales([...scale, { weight: 2 }])}>
            Add a weight
          </button>
        </div>
        <div class="stack savebar">
          {failure !== null && <Problem failure={failure} />}
          <div class="row">
            <button type="submit" class="main">
              Save
            </button>
            <button type="button" onClick={close}>
              Cancel
            </button>
          </div>
        </div>
      </form>
      <RulePreview
        rule={{ ...rule, ...sent(rule) }}
        indexes={indexes}
        index={index}
        pin={(id, position) => setPins([...pin.filter((one) => one.id !== id), { id, position }])}
        hide={(id) => setScales([...scale, { weight: 0, ids: [id] }])}
      />
    </div>
  )
}

/** Leaves out conditions and members without a value. The API refuses some, such as an empty list of ids. */
function sent<T extends Pick<Rule, 'conditions' | 'actions'>>(rule: T): T {
  const { pin = [], scale = [] } = rule.actions
  const scales = scale.map(({ ids = [], filter = null, ...others }) => ({
    ...others,
    ...(ids.length > 0 && { ids }),
    ...(filter !== null && { filter }),
  }))
  const pins = pin.filter(({ id }) => id.trim() !== '')
  return { ...rule, actions: { pin: pins, scale: scales } }
}

const filterText = {
  show: (value: Json): string =>
    typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value),
  read: (text: string): Json => {
    if (text.trim() === '') return null
    return text.trim().startsWith('[') ? (JSON.parse(text) as Json) : text
  },
}

function IndexChoice<T extends { readonly indexUid?: string }>(props: {
  readonly indexes: readonly IndexInfo[]
  readonly action: T
  readonly set: (action: T) => void
}) {
  const { indexes, action, set } = props
  const choose = (uid: string): void => {
    const { indexUid: _, ...others } = action
    set((uid === '' ? others : { ...others, indexUid: uid }) as T)
  }
  return (
    <label class="field">
      Index
      <select value={action.indexUid ?? ''} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">every index</option>
        {indexes.map(({ uid }) => (
          <option key={uid}>{uid}</option>
        ))}
      </select>
    </label>
  )
}

function ConditionFields(props: {
  readonly conditions: Conditions
  readonly set: (conditions: Conditions) => void
}) {
  const { conditions, set } = props
  const { time, query, filter } = conditions
  const [attribute, setAttribute] = useState('')
  const [value, setValue] = useState('')
  const entries = Object.entries(filter?.values ?? {})
  const put = <K extends keyof Conditions>(name: K, held: Conditions[K] | null): void => {
    const { [name]: _, ...others } = conditions
    set(held === null || Object.keys(held ?? {}).length === 0 ? others : { ...others, [name]: held })
  }
  const setValues = (values: readonly (readonly [string, Json])[]): void =>
    put('filter', values.length === 0 ? null : { values: Object.fromEntries(values) })
  const setTime = (name: 'start' | 'end', typed: string): void => {
    const { [name]: _, ...others } = time ?? {}
    put('time', typed === '' ? others : { ...others, [name]: new Date(typed).toISOString() })
  }
  return (
    <>
      <label class="field">
        with all of these words; empty: any
        <input
          autocomplete="off"
          disabled={query?.isEmpty === true}
          value={query?.words ?? ''}
          onInput={(event) => {
            const words = event.currentTarget.value
            put('query', words === '' ? null : { words })
          }}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={query?.isEmpty === true}
          onChange={() => put('query', query?.isEmpty === true ? null : { isEmpty: true })}
        />
        only without words
      </label>
      <div class="pair wide">
        {(['start', 'end'] as const).map((name) => (
          <label class="field" key={name}>
            {name === 'start' ? 'from' : 'until'}
            <input
              type="datetime-local"
              value={localTime(time?.[name])}
              onChange={(event) => setTime(name, event.currentTarget.value)}
            />
          </label>
        ))}
      </div>
      {entries.map(([name, held]) => (
        <div class="row" key={name}>
          <span class="wrap">
            filtered by {name} = {conditionText(held)}
          </span>
          <button
            type="button"
            class="plain"
            aria-label={`Remove the condition ${name}`}
            onClick={() => setValues(entries.filter(([other]) => other !== name))}
          >
            ×
          </button>
        </div>
      ))}
      <div class="row beside">
        <label class="field">
          filtered by attribute
          <input
            autocomplete="off"
            value={attribute}
            onInput={(event) => setAttribute(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          value
          <input autocomplete="off" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
        </label>
        <button
          type="button"
          disabled={attribute.trim() === '' || value.trim() === ''}
          onClick={() => {
            setValues([
              ...entries.filter(([name]) => name !== attribute.trim()),
              [attribute.trim(), conditionValue(value)],
            ])
            setAttribute('')
            setValue('')
          }}
        >
          Add
        </button>
      </div>
    </>
  )
}

/** Returns a moment as the value of a field for local time. */
function localTime(iso: string | undefined): string {
  if (iso === undefined) return ''
  const at = new Date(iso)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
