/** Figures of judged queries, and a table with the worst first. */
import { useState } from 'preact/hooks'
import { Meter, Said, Scroll } from '../parts/basics.tsx'
import { count, cut, plural } from '../parts/text.ts'
import { newLane } from '../search/lane.ts'
import { addressOf } from '../state/route.ts'
import { NDCG_DEPTH, RECALL_DEPTH } from './metrics.ts'
import type { QueryScore } from './run.ts'

/** Queries in the table at first, and more of them per click. */
const SHOWN_STEP = 50
const MISSING_SHOWN = 5
const QUERY_CHARS_MAX = 160

export function Scores(props: {
  readonly index: string
  /** Name of the file. */
  readonly name: string
  /** Worst first. */
  readonly scores: readonly QueryScore[]
  /** Judged ids that no document has. */
  readonly missing: readonly string[]
}) {
  const { index, name, scores, missing } = props
  const [shown, setShown] = useState(SHOWN_STEP)
  const mean = (value: (score: QueryScore) => number): number =>
    scores.reduce((sum, score) => sum + value(score), 0) / scores.length
  const [ndcg, recall] = [mean((score) => score.ndcg), mean((score) => score.recall)]
  const empty = scores.filter(({ hits }) => hits === 0).length
  return (
    <section class="stack" aria-label="Figures">
      <Said>
        {name}: nDCG@{NDCG_DEPTH} {ndcg.toFixed(3)}, recall@{RECALL_DEPTH} {recall.toFixed(3)},{' '}
        {plural(scores.length, 'query', 'queries')}
        {empty > 0 && `, ${count(empty)} without a hit`}
      </Said>
      {missing.length > 0 && (
        <p class="note small wrap">
          {plural(missing.length, 'judged document')} not in this index:{' '}
          {missing.slice(0, MISSING_SHOWN).join(', ')}
          {missing.length > MISSING_SHOWN && ', …'}. Their judgments are ignored.
        </p>
      )}
      <Scroll label="Judged queries">
        <table>
          <thead>
            <tr>
              <th scope="col">Query</th>
              <th scope="col">nDCG@{NDCG_DEPTH}</th>
              <th scope="col" class="num">
                recall@{RECALL_DEPTH}
              </th>
              <th scope="col">Costliest document</th>
            </tr>
          </thead>
          <tbody>
            {scores.slice(0, shown).map((score) => (
              <Row key={score.query} index={index} score={score} />
            ))}
          </tbody>
        </table>
      </Scroll>
      {scores.length > shown && (
        <div class="row">
          <button type="button" onClick={() => setShown(shown + SHOWN_STEP)}>
            More queries
          </button>
        </div>
      )}
    </section>
  )
}

function Row({ index, score }: { readonly index: string; readonly score: QueryScore }) {
  const { query, ndcg, recall, costly } = score
  const search = { q: query, lanes: [newLane(index)] }
  return (
    <tr>
      <th scope="row" class="wrap">
        <a href={addressOf('search', index, search)}>{cut(query, QUERY_CHARS_MAX)}</a>
      </th>
      <td class="num">
        {ndcg.toFixed(3)}
        <Meter value={ndcg} label={`nDCG ${ndcg.toFixed(3)} of 1`} />
      </td>
      <td class="num">{recall.toFixed(3)}</td>
      <td class="wrap">
        {costly !== null && (
          <>
            <a href={addressOf('search', index, { ...search, why: costly.id })}>Why {costly.id}?</a>{' '}
            <span class="soft small">
              grade {costly.grade},{' '}
              {costly.position === null ? `not in ${RECALL_DEPTH} hits` : `hit ${costly.position + 1}`}
            </span>
          </>
        )}
      </td>
    </tr>
  )
}
