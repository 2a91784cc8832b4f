/** Search: a query for one or several lanes, and a panel about a document. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Hit, IndexInfo, SearchAnswer } from '../api/types.ts'
import { FirstSteps } from '../first/first-steps.tsx'
import { Empty } from '../parts/basics.tsx'
import { addressOf } from '../state/route.ts'
import { compactState, LANES_MAX, type Lane, newLane, readState, readWhy, type SearchState } from './lane.ts'
import { LaneView } from './lane-view.tsx'
import { WhyPanel } from './why.tsx'

/** The document in the panel. */
export interface Asked {
  readonly lane: number
  /** Null for a typed document id, to see why the document is not a hit. */
  readonly hit: Hit | null
  /** Id that is typed at first. */
  readonly id?: string
  /** Absent: the panel explains why the document is a hit. */
  readonly part?: 'document'
}

export function SearchSection(props: {
  readonly indexes: readonly IndexInfo[]
  readonly index: IndexInfo | null
  readonly state: string | null
  /** Starts the import of files. */
  readonly take: (files: readonly File[]) => void
}) {
  const { indexes, index } = props
  const [state, setState] = useState<SearchState>(() => readState(props.state, index?.uid ?? ''))
  const [asked, setAsked] = useState<Asked | null>(() => {
    const id = readWhy(props.state)
    return id === null ? null : { lane: 0, hit: null, id }
  })
  const [first, setFirst] = useState<SearchAnswer | null>(null)
  const input = useRef<HTMLInputElement>(null)

  useEffect(() => {
    if (index === null) return
    const uid = state.lanes[0]?.index ?? index.uid
    history.replaceState(null, '', addressOf('search', uid, compactState(state, uid)))
  }, [state, index])
  useEffect(() => {
    const jump = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || isTyping(event.target)) return
      event.preventDefault()
      input.current?.focus()
      input.current?.select()
    }
    addEventListener('keydown', jump)
    return () => removeEventListener('keydown', jump)
  }, [])
  const close = useCallback(() => setAsked(null), [])

  if (index === null && indexes.length === 0) return <FirstSteps take={props.take} hasLink />
  if (index === null)
    return (
      <Empty title="This index does not exist">
        <p>
          <a href={addressOf('index', null)}>Choose another index</a>.
        </p>
      </Empty>
    )
  const change = (at: number, changes: Partial<Lane>): void =>
    setState((now) => ({
      ...now,
      lanes: now.lanes.map((lane, i) => (i === at ? { ...lane, ...changes } : lane)),
    }))
  const compare = (): void =>
    setState((now) => ({ ...now, lanes: [...now.lanes, now.lanes.at(-1) ?? newLane(index.uid)] }))
  const drop = (at: number): void => {
    setAsked(null)
    setState((now) => ({ ...now, lanes: now.lanes.filter((_, i) => i !== at) }))
  }
  const isSingle = state.lanes.length === 1
  const askedLane = asked === null ? undefined : state.lanes[asked.lane]
  return (
    <>
      <h1 class="hidden">Search</h1>
      <div class="ask">
        <input
          ref={input}
          type="search"
          dir="auto"
          aria-label="Query"
          aria-keyshortcuts="/"
          placeholder={`Search ${isSingle ? state.lanes[0]?.index : 'in every lane'}`}
          autocomplete="off"
          spellcheck={false}
          value={state.q}
          onInput={(event) => {
            const q = event.currentTarget.value
            setState((now) => ({ ...now, q }))
          }}
        />
        <button type="button" onClick={compare} disabled={state.lanes.length === LANES_MAX}>
          Compare
        </button>
      </div>
      <div class={askedLane === undefined ? '' : 'with-panel'}>
        <div class={`lanes ${isSingle ? 'single' : 'many'}`}>
          {state.lanes.map((lane, at) => (
            <LaneView
              key={at}
              at={at}
              lane={lane}
              q={state.q}
              isSingle={isSingle}
              indexes={indexes}
              change={(changes) => change(at, changes)}
              drop={() => drop(at)}
              asked={asked?.lane === at ? asked.hit : null}
              ask={(hit, part) => setAsked({ lane: at, hit, ...(part !== undefined && { part }) })}
              against={at === 0 ? null : first}
              report={at === 0 ? setFirst : null}
            />
          ))}
        </div>
        {asked !== null && askedLane !== undefined && (
          <WhyPanel
            key={askedLane.index}
            lane={askedLane}
            q={state.q}
            hit={asked.hit}
            typedId={asked.id ?? ''}
            part={asked.part ?? 'why'}
            primaryKey={indexes.find(({ uid }) => uid === askedLane.index)?.primaryKey ?? null}
            close={close}
          />
        )}
      </div>
    </>
  )
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, textarea, select, dialog') !== null
