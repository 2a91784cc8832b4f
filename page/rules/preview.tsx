/** Shows the hits of a search with a rule, next to their positions without it. */
import { useState } from 'preact/hooks'
import { ask, indexPath } from '../api/client.ts'
import type { Hit, IndexInfo, SearchAnswer } from '../api/types.ts'
import { Empty, Problem } from '../parts/basics.tsx'
import { Marked } from '../parts/marked.tsx'
import { plural } from '../parts/text.ts'
import { idIn } from '../search/lane.ts'
import { shownHit } from '../search/shown.ts'
import { useLoaded } from '../state/loading.ts'
import type { Rule } from './rule.ts'

const HITS = 10
const TYPING_MS = 300

export function RulePreview(props: {
  readonly rule: Rule
  readonly indexes: readonly IndexInfo[]
  readonly index: IndexInfo | null
  readonly pin: (id: string, position: number) => void
  readonly hide: (id: string) => void
}) {
  const { rule, indexes, pin, hide } = props
  const [uid, setUid] = useState(props.index?.uid ?? '')
  const [typed, setTyped] = useState<string | null>(null)
  const [filter, setFilter] = useState('')
  const q = typed ?? rule.conditions.query?.words ?? ''
  const primaryKey = indexes.find((one) => one.uid === uid)?.primaryKey ?? null
  // The rule of a search replaces the stored one with its uid.
  const inline = { uid: rule.uid || 'preview', precedence: rule.precedence, conditions: rule.conditions }
  const search = { q, limit: HITS, ...(filter.trim() !== '' && { filter }) }
  const ruled = { ...search, inlineRule: { ...inline, active: true, actions: rule.actions } }
  const loaded = useLoaded(
    uid === ''
      ? null
      : async (signal) => {
          const run = (body: unknown): Promise<SearchAnswer> =>
            ask<SearchAnswer>('POST', indexPath(uid, '/search'), { body, signal })
          const answers = await Promise.all([
            run({ ...search, inlineRule: { ...inline, active: false } }),
            run(ruled),
          ])
          return { uid, answers }
        },
    [uid, JSON.stringify(ruled)],
    TYPING_MS,
  )
  const idOf = (hit: Hit): string => idIn(hit, primaryKey)
  // A hit of another index would pin or hide a document of this one.
  const [before, after] = loaded.value?.uid === uid ? loaded.value.answers : []
  const places = new Map(before?.hits.map((hit, at) => [idOf(hit), at]))
  const gone = before?.hits.filter((hit) => !after?.hits.some((other) => idOf(other) === idOf(hit))) ?? []
  const isSame = before !== undefined && JSON.stringify(before.hits) === JSON.stringify(after?.hits)
  return (
    <section class="stack" aria-label="Preview">
      <h2>Preview</h2>
      <div class="pair">
        <label class="field">
          Index
          <select value={uid} onChange={(event) => setUid(event.currentTarget.value)}>
            {indexes.map((one) => (
              <option key={one.uid}>{one.uid}</option>
            ))}
          </select>
        </label>
        <label class="field">
          Query
          <input
            type="search"
            autocomplete="off"
            value={q}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          Filter
          <input
            autocomplete="off"
            spellcheck={false}
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </label>
      </div>
      {loaded.failure !== null && <Problem failure={loaded.failure} />}
      {after !== undefined && (
        <p role="status" class="small soft">
          {isSame
            ? 'The rule changes nothing in this search.'
            : `${plural(after.estimatedTotalHits, 'hit')} with the rule, ${before?.estimatedTotalHits} without.`}
        </p>
      )}
      {after?.hits.length === 0 && <Empty title="No document matches" />}
      <ol class="hits">
        {after?.hits.map((hit, at) => (
          <li class="preview" key={idOf(hit) || at}>
            <span class="rank">{at + 1}</span>
            <span class="grow wrap">
              <Marked text={shownHit(hit, primaryKey).title} /> <span class="small soft">{idOf(hit)}</span>{' '}
              <span class="moved">{movedText(places.get(idOf(hit)), at)}</span>
            </span>
            <button
              type="button"
              class="plain small"
              onClick={() => pin(idOf(hit), at)}
              disabled={idOf(hit) === ''}
            >
              Pin<span class="hidden"> {idOf(hit)} here</span>
            </button>
            <button
              type="button"
              class="plain small"
              onClick={() => hide(idOf(hit))}
              disabled={idOf(hit) === ''}
            >
              Hide<span class="hidden"> {idOf(hit)}</span>
            </button>
          </li>
        ))}
      </ol>
      {gone.length > 0 && (
        <p class="small soft wrap">
          No longer among the first {HITS}: {gone.map((hit) => idOf(hit)).join(', ')}
        </p>
      )}
    </section>
  )
}

function movedText(before: number | undefined, at: number): string {
  if (before === undefined) return 'new'
  return before === at ? '' : `${before > at ? '↑' : '↓'} ${Math.abs(before - at)}`
}
