/** Input field for filters. Completes attributes, operators and values, and marks the position of a mistake. */
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { ask, type Failure, indexPath } from '../api/client.ts'
import { count } from '../parts/text.ts'
import { useLoaded } from '../state/loading.ts'
import { connectives, operators, type Wanted, wantedAfter, written } from './completion.ts'

interface Suggestion {
  readonly text: string
  readonly note: string
}

interface FacetAnswer {
  readonly facetHits: readonly { readonly value: string; readonly count: number }[]
}

export function FilterField(props: {
  readonly index: string
  readonly filter: string
  readonly attributes: readonly string[]
  readonly change: (filter: string) => void
  /** The error of the server about the filter, or null. */
  readonly failure: Failure | null
}) {
  const { index, filter, attributes, change, failure } = props
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [caret, setCaret] = useState<number | null>(null)
  const [at, setAt] = useState(0)
  const wanted = caret === null ? null : wantedAfter(filter.slice(0, caret))
  const suggestions = useSuggestions(index, attributes, wanted)
  const isOpen = caret !== null && suggestions.length > 0
  const chosen = Math.min(at, suggestions.length - 1)

  const accept = (text: string): void => {
    if (wanted === null || caret === null) return
    const inserted = written(wanted.kind, text)
    const next = filter.slice(0, wanted.from) + inserted + filter.slice(caret).trimStart()
    change(next)
    const end = wanted.from + inserted.length
    setCaret(end)
    setAt(0)
    requestAnimationFrame(() => input.current?.setSelectionRange(end, end))
  }
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown' && caret === null) follow(event.currentTarget)
    else if (!isOpen) return
    else if (event.key === 'ArrowDown') setAt((chosen + 1) % suggestions.length)
    else if (event.key === 'ArrowUp') setAt((chosen - 1 + suggestions.length) % suggestions.length)
    else if (event.key === 'Enter') accept(suggestions[chosen]!.text)
    else if (event.key === 'Escape') setCaret(null)
    else return
    event.preventDefault()
  }
  const follow = (target: EventTarget | null): void => {
    setCaret((target as HTMLInputElement).selectionStart)
    setAt(0)
  }
  useEffect(() => {
    if (isOpen) document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: 'nearest' })
  }, [chosen, isOpen, id])
  return (
    <div class="filter combo">
      <label class="field">
        Filter
        <input
          ref={input}
          class="mono"
          role="combobox"
          aria-expanded={isOpen}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={isOpen ? `${id}-${chosen}` : undefined}
          aria-invalid={failure !== null}
          aria-describedby={failure === null ? undefined : `${id}-mistake`}
          autocomplete="off"
          spellcheck={false}
          placeholder={attributes.length > 0 ? `${attributes[0]} = …` : 'No filterable attribute'}
          value={filter}
          onInput={(event) => {
            change(event.currentTarget.value)
            follow(event.currentTarget)
          }}
          onKeyDown={press}
          onClick={(event) => follow(event.currentTarget)}
          onBlur={() => setCaret(null)}
        />
      </label>
      {isOpen && (
        <div class="options" role="listbox" id={`${id}-list`} aria-label="Completions">
          {suggestions.map(({ text, note }, i) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the active option
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys
            <div
              role="option"
              key={text}
              id={`${id}-${i}`}
              aria-selected={i === chosen}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => accept(text)}
            >
              <span>{text === '' ? '(empty text)' : text}</span>
              <span class="soft num">{note}</span>
            </div>
          ))}
        </div>
      )}
      {failure !== null && <Mistake id={`${id}-mistake`} message={failure.message} />}
    </div>
  )
}

const SUGGESTIONS_MAX = 12

function useSuggestions(
  index: string,
  attributes: readonly string[],
  wanted: Wanted | null,
): readonly Suggestion[] {
  const facet = wanted?.kind === 'value' && attributes.includes(wanted.attribute) ? wanted.attribute : null
  const typed = wanted?.typed ?? ''
  const body = { facetName: facet, facetQuery: typed }
  const path = indexPath(index, '/facet-search')
  const values = useLoaded(
    facet === null
      ? null
      : async (signal) => ({ facet, typed, ...(await ask<FacetAnswer>('POST', path, { body, signal })) }),
    [index, facet, typed],
    80,
  )
  if (wanted === null) return []
  const begun = typed.toLowerCase()
  if (wanted.kind === 'value') {
    const answer = values.value
    if (answer?.facet !== facet || values.failure !== null) return []
    // Until the next answer, Enter must not choose a value that does not begin with the typed text.
    return answer.facetHits
      .filter(({ value }) => answer.typed === typed || value.toLowerCase().startsWith(begun))
      .slice(0, SUGGESTIONS_MAX)
      .map((hit) => ({ text: hit.value, note: count(hit.count) }))
  }
  const choices =
    wanted.kind === 'attribute' ? attributes : wanted.kind === 'operator' ? operators : connectives
  return choices
    .filter((text) => text.toLowerCase().startsWith(begun) && text !== typed)
    .slice(0, SUGGESTIONS_MAX)
    .map((text) => ({ text, note: wanted.kind === 'attribute' ? 'attribute' : '' }))
}

/** Parses a message that ends with a line `start:end filter`. Positions count characters from 1. */
function Mistake({ id, message }: { readonly id: string; readonly message: string }) {
  const [, what, start, end, text] = /^([\s\S]*)\n(\d+):(\d+) ([\s\S]*)$/.exec(message) ?? []
  const characters = Array.from(text ?? '')
  const [from, to] = [Number(start) - 1, Math.max(Number(end) - 1, Number(start))]
  return (
    <div class="note bad small" id={id} role="alert">
      <p class="wrap">{what ?? message}</p>
      {text !== undefined && (
        <pre class="place">
          {characters.slice(0, from).join('')}
          <mark>{characters.slice(from, to).join('') || ' '}</mark>
          {characters.slice(to).join('')}
        </pre>
      )}
    </div>
  )
}
