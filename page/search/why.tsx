/** The panel about a document: why it is a hit at its position, or why it is not a hit. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ask, indexPath } from '../api/client.ts'
import type { Explanation } from '../api/explanation.ts'
import type { Hit, RuleScore } from '../api/types.ts'
import { Problem, Tabs } from '../parts/basics.tsx'
import { useLoaded } from '../state/loading.ts'
import { DocumentView } from './document-view.tsx'
import { ReasonList, StepList } from './explanation.tsx'
import { idIn, type Lane, plainBody } from './lane.ts'
import { ScoreDetails } from './score.tsx'

const TYPING_MS = 300
const parts = [
  { name: 'document', text: 'Document' },
  { name: 'why', text: 'Why' },
] as const
type Part = (typeof parts)[number]['name']

export function WhyPanel(props: {
  readonly lane: Lane
  readonly q: string
  readonly hit: Hit | null
  /** Id that is typed at first. */
  readonly typedId: string
  readonly part: Part
  readonly primaryKey: string | null
  readonly close: () => void
}) {
  const { lane, q, hit, typedId, primaryKey, close } = props
  const [typed, setTyped] = useState(typedId)
  const [part, setPart] = useState(props.part)
  useEffect(() => setPart(props.part), [props.part, hit])
  const id = hit === null ? typed.trim() : idIn(hit, primaryKey)
  const search = plainBody(lane, q)
  const explained = useLoaded(
    id === '' || (hit !== null && part === 'document')
      ? null
      : (signal) =>
          ask<Explanation>('POST', indexPath(lane.index, '/explain'), { body: { ...search, id }, signal }),
    [id, lane.index, JSON.stringify(search), part],
    TYPING_MS,
  )
  const heading = useRef<HTMLHeadingElement>(null)
  const field = useRef<HTMLInputElement>(null)
  // The panel takes the focus when it opens, before the next key, and restores it when it closes.
  useLayoutEffect(() => {
    const before = document.activeElement
    ;(hit === null ? field : heading).current?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [hit])
  useEffect(() => {
    const leave = (event: KeyboardEvent): void => {
      if (
        event.key === 'Escape' &&
        !event.defaultPrevented &&
        document.querySelector('dialog[open]') === null
      )
        close()
    }
    addEventListener('keydown', leave)
    return () => removeEventListener('keydown', leave)
  }, [close])
  // Other servers do not have this route.
  const isUnknown =
    explained.failure !== null && [404, 405].includes(explained.failure.status) && !explained.failure.code
  const answer = explained.value?.id === id ? explained.value : null
  const details =
    (hit?._rankingScoreDetails as Readonly<Record<string, RuleScore>> | undefined) ??
    answer?.rankingScoreDetails ??
    null
  const headingOf = (): string => {
    if (hit === null) return 'Why is a document not found?'
    return part === 'document' ? `Document ${id}` : `Why is ${id || 'this document'} a hit?`
  }
  const why = () => (
    <>
      {explained.failure !== null && !isUnknown && id !== '' && <Problem failure={explained.failure} />}
      {isUnknown && <p class="note small">This server explains only scores, not words and filters.</p>}
      {answer !== null && <Verdict answer={answer} />}
      {answer !== null && answer.reasons.length > 0 && (
        <section aria-label="Reasons">
          <h3>Reasons</h3>
          <ReasonList reasons={answer.reasons} />
        </section>
      )}
      {details !== null && (
        <section aria-label="Score">
          <h3>Score, rule by rule</h3>
          {Object.keys(details).length === 0 ? (
            <p class="small soft">The query has no words, so no rule applies.</p>
          ) : (
            <ScoreDetails details={details} />
          )}
        </section>
      )}
      {answer !== null && (
        <section aria-label="Words">
          <h3>Interpretation of the query</h3>
          <StepList query={answer.query} />
        </section>
      )}
    </>
  )
  return (
    <aside class="panel" aria-label="Explanation">
      <header>
        <h2 ref={heading} tabIndex={-1} class="wrap">
          {headingOf()}
        </h2>
        <button type="button" class="plain" onClick={close}>
          Close
        </button>
      </header>
      {hit === null && (
        <label class="field">
          Id of the document{primaryKey === null || primaryKey === 'id' ? '' : `, its ${primaryKey}`}
          <input
            ref={field}
            autocomplete="off"
            spellcheck={false}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
      )}
      {hit === null ? (
        why()
      ) : (
        <Tabs label="Parts of the panel" tabs={parts} chosen={part} choose={setPart}>
          {part === 'document' ? <DocumentView index={lane.index} id={id} hit={hit} /> : why()}
        </Tabs>
      )}
    </aside>
  )
}

function Verdict({ answer }: { readonly answer: Explanation }) {
  const by = { words: ', by its words', vectors: ', by its meaning', rule: ', by a rule that pins it' }[
    answer.foundBy ?? 'words'
  ]
  if (answer.isHit)
    return (
      <p>
        <span class="verdict pass">It is a hit</span>
        {answer.position === null ? '' : `, number ${answer.position + 1}`}
        {answer.foundBy === null ? '' : by}
        {answer.rankingScore === null ? '.' : `, with a score of ${answer.rankingScore.toFixed(3)}.`}
      </p>
    )
  return (
    <p>
      <span class="verdict fail">It is not a hit.</span>{' '}
      {answer.reasons.length > 1 ? 'Each of these reasons is sufficient.' : ''}
    </p>
  )
}
