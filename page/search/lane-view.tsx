/** A search with its settings, facets and hits. */
import { useEffect, useState } from 'preact/hooks'
import { ask, indexPath } from '../api/client.ts'
import type { Field, Hit, IndexInfo, Page, SearchAnswer } from '../api/types.ts'
import { useCollected } from '../judge/collected.ts'
import { Empty, Problem, Said } from '../parts/basics.tsx'
import { own } from '../parts/own.ts'
import { count, milliseconds, plural } from '../parts/text.ts'
import { useLoaded } from '../state/loading.ts'
import { CopyDialog } from './copy.tsx'
import { Facets } from './facets.tsx'
import { FilterField } from './filter-field.tsx'
import { HitView } from './hit.tsx'
import { imagesAllowed, switchImages } from './images.ts'
import { idIn, type Lane, letterOf, newLane } from './lane.ts'
import { LaneSettings } from './lane-settings.tsx'
import { runLane } from './run.ts'
import { Timing } from './timing.tsx'

/** Maximum number of counted facets. An index may have thousands. */
const FACETS_MAX = 8
const FIELDS_MAX = 500
/** Pause in typing before a query is sent, in milliseconds. */
const TYPING_MS = 60
const LIMIT_STEP = 20

export interface LaneProps {
  readonly at: number
  readonly lane: Lane
  readonly q: string
  readonly isSingle: boolean
  readonly indexes: readonly IndexInfo[]
  readonly change: (changes: Partial<Lane>) => void
  readonly drop: () => void
  /** The hit in the panel. */
  readonly asked: Hit | null
  readonly ask: (hit: Hit | null, part?: 'document') => void
  /** Answer of the first lane, to show moved hits. */
  readonly against: SearchAnswer | null
  readonly report: ((answer: SearchAnswer | null) => void) | null
}

export function LaneView(props: LaneProps) {
  const { at, lane, q, isSingle, indexes, change, drop, report } = props
  const [isMore, setIsMore] = useState(false)
  const [isCopying, setIsCopying] = useState(false)
  const [isJudging, setIsJudging] = useState(false)
  const path = indexPath(lane.index, '/fields')
  const fields = useLoaded(
    async (signal) => {
      const page = await ask<Page<Field>>('POST', path, { body: { limit: FIELDS_MAX }, signal })
      return { index: lane.index, fields: page.results }
    },
    [lane.index],
  )
  const isFields = fields.value?.index === lane.index
  // A search-only key may not list fields. The search then has no facets.
  const known = isFields ? (fields.value?.fields ?? []) : []
  const filterable = known.filter((field) => field.filterable.enabled).map(({ name }) => name)
  const sortable = known.filter((field) => field.sortable.enabled).map(({ name }) => name)
  const facets = filterable.slice(0, FACETS_MAX)
  const isReady = isFields || fields.failure !== null
  const search = useLoaded(
    isReady
      ? async (signal) => ({ index: lane.index, answer: await runLane(lane, q, facets, signal) })
      : null,
    [JSON.stringify(lane), lane.ownQuery ?? q, facets.join('\0'), isReady],
    TYPING_MS,
  )
  // Hits of another index have other ids. They are not shown while the first answer is awaited, or if it fails.
  const answer = search.value?.index === lane.index ? search.value.answer : null
  useEffect(() => report?.(answer), [answer, report])
  const primaryKey = indexes.find(({ uid }) => uid === lane.index)?.primaryKey ?? null
  const isFilterWrong = search.failure?.code === 'invalid_search_filter'
  const letter = letterOf(at)
  // With several lanes and on small screens the facets are collapsed, so that the hits are visible.
  const isNarrow = matchMedia('(max-width: 44rem)').matches
  return (
    <section class="lane" aria-label={isSingle ? 'Search' : `Search ${letter}`} aria-busy={search.isLoading}>
      {!isSingle && (
        <div class="row">
          <h2 class="grow">{letter}</h2>
          <button type="button" class="plain" onClick={drop}>
            Remove<span class="hidden"> search {letter}</span>
          </button>
        </div>
      )}
      <div class="controls">
        <label class="field">
          Index
          <select
            value={lane.index}
            onChange={(event) => change({ ...newLane(event.currentTarget.value), ownQuery: lane.ownQuery })}
          >
            {indexes.map(({ uid }) => (
              <option key={uid}>{uid}</option>
            ))}
          </select>
        </label>
        <FilterField
          index={lane.index}
          filter={lane.filter}
          attributes={filterable}
          change={(filter) => change({ filter })}
          failure={isFilterWrong ? search.failure : null}
        />
        <label class="field">
          Sort
          <select value={lane.sort} onChange={(event) => change({ sort: event.currentTarget.value })}>
            <option value="">By relevance</option>
            {sortable.flatMap((name) => [
              <option key={`${name}:asc`} value={`${name}:asc`}>{`${name}, ascending`}</option>,
              <option key={`${name}:desc`} value={`${name}:desc`}>{`${name}, descending`}</option>,
            ])}
          </select>
        </label>
        <button type="button" aria-expanded={isMore} onClick={() => setIsMore(!isMore)}>
          More settings
        </button>
      </div>
      {isMore && <LaneSettings lane={lane} change={change} fields={known} />}
      <Chips lane={lane} change={change} />
      {search.failure !== null && !isFilterWrong && <Problem failure={search.failure} />}
      <div class={search.failure === null ? 'lane-body' : 'lane-body stale'}>
        {isSingle && !isNarrow ? (
          <aside aria-label="Facets">
            <Facets {...{ lane, q, facets, answer, change }} recount={search.reload} />
            {isReady && facets.length === 0 && <NoFacets />}
          </aside>
        ) : (
          facets.length > 0 && (
            <details>
              <summary>Facets</summary>
              <Facets {...{ lane, q, facets, answer, change }} recount={search.reload} />
            </details>
          )
        )}
        <div class="stack">
          <div class="outcome">
            <div class="row">
              <div class="grow">
                <Said>{saidOf(answer, search.failure !== null)}</Said>
              </div>
              <button
                type="button"
                class="plain small"
                aria-pressed={isJudging}
                onClick={() => setIsJudging(!isJudging)}
              >
                Judge hits
              </button>
              <button type="button" class="plain small" onClick={() => props.ask(null)}>
                Why not …?
              </button>
              <button type="button" class="plain small" onClick={() => setIsCopying(true)}>
                Copy as code
              </button>
              {isSingle && (
                <button
                  type="button"
                  class="plain small"
                  aria-pressed={imagesAllowed()}
                  onClick={switchImages}
                >
                  Load images
                </button>
              )}
            </div>
            {answer?.performanceDetails !== undefined && <Timing details={answer.performanceDetails} />}
          </div>
          {answer !== null && (
            <Hits {...props} answer={answer} primaryKey={primaryKey} isJudging={isJudging} />
          )}
        </div>
      </div>
      {isCopying && <CopyDialog lane={lane} q={q} close={() => setIsCopying(false)} />}
    </section>
  )
}

function saidOf(answer: SearchAnswer | null, hasFailed: boolean): string {
  if (answer === null) return hasFailed ? 'Not searched' : 'Searching …'
  return hasFailed ? 'Hits of the previous search' : summary(answer)
}

function summary({ estimatedTotalHits: total, processingTimeMs, semanticHitCount }: SearchAnswer): string {
  const meaning = semanticHitCount === undefined ? '' : `, ${count(semanticHitCount)} by meaning`
  const about = total >= 1000 ? 'About ' : ''
  return `${about}${plural(total, 'hit')}${meaning} in ${milliseconds(Math.max(1, processingTimeMs))}`
}

function Hits(
  props: LaneProps & {
    readonly answer: SearchAnswer
    readonly primaryKey: string | null
    readonly isJudging: boolean
  },
) {
  const { answer, primaryKey, isJudging, lane, change, against, asked } = props
  const collected = useCollected(lane.index)
  // The typed query may be newer than the hits.
  const query = answer.query.trim()
  const canJudge = isJudging && primaryKey !== null && query !== ''
  const idOf = (hit: Hit): string => idIn(hit, primaryKey)
  const places =
    against === null || primaryKey === null ? null : new Map(against.hits.map((hit, i) => [idOf(hit), i]))
  if (answer.hits.length === 0)
    return (
      <Empty title="No document matches">
        <p>Try fewer words, or check the filter. “Why not …?” shows why a document is not found.</p>
      </Empty>
    )
  return (
    <>
      {isJudging && (
        <p class="note small">
          {canJudge
            ? `${plural(collected.judgments.length, 'judgment')} in this browser. “Judge” in the section Index runs them.`
            : 'Type a query, then mark its good and bad hits.'}
        </p>
      )}
      {collected.problem !== null && <Problem failure={{ code: '', message: collected.problem }} />}
      <ol class="hits">
        {answer.hits.map((hit, i) => (
          <HitView
            key={idOf(hit) || i}
            hit={hit}
            rank={i}
            primaryKey={primaryKey}
            place={places === null ? null : (places.get(idOf(hit)) ?? 'new')}
            isAsked={asked !== null && (asked === hit || (idOf(hit) !== '' && idOf(asked) === idOf(hit)))}
            ask={() => props.ask(hit)}
            open={() => props.ask(hit, 'document')}
            judged={
              canJudge && idOf(hit) !== ''
                ? {
                    grade: collected.gradeOf(query, idOf(hit)),
                    judge: (grade) => collected.judge(query, idOf(hit), grade),
                  }
                : null
            }
          />
        ))}
      </ol>
      {answer.estimatedTotalHits > answer.hits.length && answer.hits.length === lane.limit && (
        <div class="row">
          <button type="button" onClick={() => change({ limit: lane.limit + LIMIT_STEP })}>
            More hits
          </button>
        </div>
      )}
    </>
  )
}

function Chips({ lane, change }: Pick<LaneProps, 'lane' | 'change'>) {
  const chips = Object.entries(lane.chosen).flatMap(([facet, values]) =>
    values.map((value) => [facet, value] as const),
  )
  if (chips.length === 0) return null
  const drop = (facet: string, value: string): void => {
    const left = (own(lane.chosen, facet) ?? []).filter((one) => one !== value)
    change({ chosen: { ...lane.chosen, [facet]: left } })
  }
  return (
    <div class="chips">
      {chips.map(([facet, value]) => (
        <button
          type="button"
          class="chip"
          key={`${facet}\0${value}`}
          aria-label={`Remove ${facet} ${value}`}
          onClick={() => drop(facet, value)}
        >
          {facet}: {value} ×
        </button>
      ))}
      <button type="button" class="plain small" onClick={() => change({ chosen: {}, ranges: {} })}>
        Clear
      </button>
    </div>
  )
}

const NoFacets = () => (
  <p class="small soft">No filterable attributes. Add some in the settings of the index.</p>
)
