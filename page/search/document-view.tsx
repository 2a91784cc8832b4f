/** A document with its nested values and their types. */
import { useState } from 'preact/hooks'
import { ask, indexPath } from '../api/client.ts'
import type { Doc, Hit, Json } from '../api/types.ts'
import { plural } from '../parts/text.ts'
import { useLoaded } from '../state/loading.ts'

/** Entries of a list or an object at first, and per click on “More”. */
const ENTRIES_STEP = 50
/** Characters of a text at first. */
const TEXT_CHARS = 1000
/** Levels that are open at first. */
const OPEN_LEVELS = 2

export function DocumentView(props: {
  readonly index: string
  readonly id: string
  /** Shown if the key may not read documents: a hit has only the displayed fields. */
  readonly hit: Hit
}) {
  const { index, id, hit } = props
  const loaded = useLoaded(
    id === ''
      ? null
      : (signal) => ask<Doc>('GET', indexPath(index, `/documents/${encodeURIComponent(id)}`), { signal }),
    [index, id],
  )
  const displayed = Object.entries(hit).filter(
    ([name, value]) => value !== undefined && !/^_(formatted|matchesPosition|ranking|federation)/.test(name),
  ) as [string, Json][]
  const document = loaded.value ?? Object.fromEntries(displayed)
  if (loaded.isLoading && loaded.value === null) return <p class="soft">Loading …</p>
  return (
    <>
      {loaded.failure !== null && <p class="small soft">Only the displayed fields can be read.</p>}
      <Entries value={document} level={1} />
    </>
  )
}

function Entries({
  value,
  level,
}: {
  readonly value: readonly Json[] | { readonly [key: string]: Json }
  readonly level: number
}) {
  const [shown, setShown] = useState(ENTRIES_STEP)
  const entries = Object.entries(value)
  return (
    <div class="tree">
      {entries.slice(0, shown).map(([name, held]) => (
        <Entry key={name} name={name} value={held} level={level} />
      ))}
      {entries.length > shown && (
        <button type="button" class="plain small" onClick={() => setShown(shown + ENTRIES_STEP)}>
          {entries.length - shown} more
        </button>
      )}
    </div>
  )
}

function Entry(props: { readonly name: string; readonly value: Json; readonly level: number }) {
  const { name, value, level } = props
  const [isOpen, setIsOpen] = useState(level < OPEN_LEVELS)
  if (typeof value === 'object' && value !== null)
    return (
      <details open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
        <summary class="wrap">
          <b>{name}</b> <span class="small soft">{typeOf(value)}</span>
        </summary>
        {isOpen && <Entries value={value} level={level + 1} />}
      </details>
    )
  return (
    <div class="wrap">
      <b>{name}</b> <span class="small soft">{typeOf(value)}</span>
      <div>{typeof value === 'string' ? <Text text={value} /> : String(value)}</div>
    </div>
  )
}

function Text({ text }: { readonly text: string }) {
  const [isWhole, setIsWhole] = useState(text.length <= TEXT_CHARS)
  return (
    <span class="kept" dir="auto">
      {isWhole ? text : text.slice(0, TEXT_CHARS)}
      {!isWhole && (
        <button type="button" class="plain small" onClick={() => setIsWhole(true)}>
          … all {plural(text.length, 'character')}
        </button>
      )}
    </span>
  )
}

function typeOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `list of ${value.length}`
  return { string: 'text', number: 'number', boolean: 'true or false' }[typeof value as string] ?? 'object'
}
