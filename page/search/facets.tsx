/** Facet values to choose from, with their number of hits. */
import { useState } from 'preact/hooks'
import { ask, type Failure, indexPath } from '../api/client.ts'
import type { SearchAnswer } from '../api/types.ts'
import { Problem } from '../parts/basics.tsx'
import { own } from '../parts/own.ts'
import { count, cut } from '../parts/text.ts'
import { asFailure, useLoaded } from '../state/loading.ts'
import { settle } from '../state/tasks.ts'
import { filterOf, type Lane } from './lane.ts'

/** Number of values shown at first, during a facet search, and at most. An index may have 100,000 values. */
const VALUES_STEP = 8
const VALUES_FOUND = 40
const VALUES_MAX = 400
const VALUE_CHARS_MAX = 120
const TYPING_MS = 120

interface Faceting {
  readonly maxValuesPerFacet: number
  readonly sortFacetValuesBy: Readonly<Record<string, 'alpha' | 'count'>>
}

interface Found {
  readonly facetHits: readonly { readonly value: string; readonly count: number }[]
}

export function Facets(props: {
  readonly lane: Lane
  readonly q: string
  readonly facets: readonly string[]
  readonly answer: SearchAnswer | null
  readonly change: (changes: Partial<Lane>) => void
  /** Searches again. */
  readonly recount: () => void
}) {
  const { lane, q, facets, answer, change, recount } = props
  const faceting = useLoaded(
    (signal) => ask<Faceting>('GET', indexPath(lane.index, '/settings/faceting'), { signal }),
    [lane.index],
  )
  const [failed, setFailed] = useState<{ readonly index: string; readonly failure: Failure } | null>(null)
  const countFrequent = async (facet: string): Promise<void> => {
    const body = { sortFacetValuesBy: { [facet]: 'count' } }
    try {
      await settle(ask('PATCH', indexPath(lane.index, '/settings/faceting'), { body }))
      setFailed(null)
    } catch (error) {
      setFailed({ index: lane.index, failure: asFailure(error) })
    }
    faceting.reload()
    recount()
  }
  return (
    <>
      {failed?.index === lane.index && <Problem failure={failed.failure} />}
      {facets.map((facet) => (
        <Facet
          key={facet}
          name={facet}
          lane={lane}
          q={q}
          counts={own(answer?.facetDistribution, facet) ?? {}}
          stats={own(answer?.facetStats, facet)}
          faceting={faceting.value}
          countFrequent={() => countFrequent(facet)}
          choose={(values) => change({ chosen: { ...lane.chosen, [facet]: values } })}
          bound={(range) => change({ ranges: { ...lane.ranges, [facet]: range } })}
        />
      ))}
    </>
  )
}

interface FacetProps {
  readonly name: string
  readonly lane: Lane
  readonly q: string
  readonly counts: Readonly<Record<string, number>>
  readonly stats: { readonly min: number; readonly max: number } | undefined
  /** Null until loaded. */
  readonly faceting: Faceting | null
  /** Changes the setting: the most frequent values of the facet are counted, not the first ones of the alphabet. */
  readonly countFrequent: () => void
  readonly choose: (values: readonly string[]) => void
  readonly bound: (range: readonly [string, string]) => void
}

function Facet({ name, lane, q, counts, stats, faceting, countFrequent, choose, bound }: FacetProps) {
  const [wanted, setWanted] = useState(VALUES_STEP)
  const [needle, setNeedle] = useState('')
  const shown = needle === '' ? wanted : Math.max(wanted, VALUES_FOUND)
  const chosen = own(lane.chosen, name) ?? []
  const range = own(lane.ranges, name) ?? ['', '']
  const all = Object.entries(counts)
  const isCut = faceting !== null && all.length >= faceting.maxValuesPerFacet
  const order = own(faceting?.sortFacetValuesBy, name) ?? faceting?.sortFacetValuesBy['*'] ?? 'alpha'
  const found = useFound(lane, q, name, needle)
  // The server also finds values that it did not count, but it cannot search numeric facets.
  const fitting =
    needle === ''
      ? all
      : (found ?? all.filter(([value]) => value.toLowerCase().includes(needle.toLowerCase())))
  const byCount = [...fitting].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  // Chosen values come first and stay, even without hits.
  const first = chosen.map((value) => [value, own(counts, value) ?? 0] as const)
  const rest = byCount.filter(([value]) => !chosen.includes(value))
  const drawn = [...first, ...rest.slice(0, Math.min(shown, VALUES_MAX))]
  const toggle = (value: string): void =>
    choose(chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value])
  return (
    <details class="facet" open>
      <summary>{name}</summary>
      <fieldset>
        <legend class="hidden">{name}</legend>
        {stats !== undefined && (
          <div class="range">
            <Bound
              name={`${name}, from`}
              hint={stats.min}
              value={range[0]}
              set={(from) => bound([from, range[1]])}
            />
            <span class="soft">to</span>
            <Bound
              name={`${name}, to`}
              hint={stats.max}
              value={range[1]}
              set={(to) => bound([range[0], to])}
            />
          </div>
        )}
        {(all.length > VALUES_STEP || needle !== '') && (
          <input
            type="search"
            aria-label={`Find a value of ${name}`}
            placeholder={isCut ? 'Find others' : `Find among ${count(all.length)}`}
            value={needle}
            onInput={(event) => setNeedle(event.currentTarget.value)}
          />
        )}
        <ul>
          {drawn.map(([value, hits]) => (
            <li key={value}>
              <label>
                <input type="checkbox" checked={chosen.includes(value)} onChange={() => toggle(value)} />
                <span>{value === '' ? '(empty text)' : cut(value, VALUE_CHARS_MAX)}</span>
                <span class="soft num">{count(hits)}</span>
              </label>
            </li>
          ))}
        </ul>
        {drawn.length === 0 && <p class="small soft">No values</p>}
        {rest.length > shown && shown < VALUES_MAX && (
          <button type="button" class="plain small" onClick={() => setWanted(shown * 4)}>
            More values<span class="hidden"> of {name}</span>
          </button>
        )}
        {rest.length > VALUES_MAX && shown >= VALUES_MAX && (
          <p class="small soft">The {VALUES_MAX} most frequent are shown.</p>
        )}
        {isCut && order === 'alpha' && needle === '' && (
          <p class="small soft">
            From the first {count(faceting.maxValuesPerFacet)} values in alphabetical order, the limit in the
            settings.{' '}
            <button type="button" class="plain small" onClick={countFrequent}>
              Count the most frequent ones<span class="hidden"> of {name}</span>
            </button>
          </p>
        )}
      </fieldset>
    </details>
  )
}

/** Searches values that begin with the typed text. Null without a text or if the server cannot search them. */
function useFound(
  lane: Lane,
  q: string,
  facet: string,
  needle: string,
): readonly (readonly [string, number])[] | null {
  const filter = filterOf(lane, facet)
  const body = {
    facetName: facet,
    facetQuery: needle,
    q: lane.ownQuery ?? q,
    ...(filter.length > 0 && { filter }),
  }
  const found = useLoaded(
    needle === ''
      ? null
      : (signal) => ask<Found>('POST', indexPath(lane.index, '/facet-search'), { body, signal }),
    [lane.index, JSON.stringify(body)],
    TYPING_MS,
  )
  const hits = found.failure === null ? found.value?.facetHits : undefined
  return hits === undefined || hits.length === 0 ? null : hits.map((hit) => [hit.value, hit.count] as const)
}

/** An end of a range. Applies when the field is left or on Enter; until then a redraw keeps the typed text. */
function Bound(props: {
  readonly name: string
  readonly hint: number
  readonly value: string
  readonly set: (value: string) => void
}) {
  const [typed, setTyped] = useState<string | null>(null)
  return (
    <input
      aria-label={props.name}
      inputMode="decimal"
      class="num"
      placeholder={String(props.hint)}
      value={typed ?? props.value}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onChange={(event) => props.set(event.currentTarget.value)}
      onBlur={() => setTyped(null)}
    />
  )
}
