/** A hit: title, text with highlighted matches, facts, score. */
import type { Hit } from '../api/types.ts'
import { type JudgedHit, Thumbs } from '../judge/thumbs.tsx'
import { Meter } from '../parts/basics.tsx'
import { Marked, unmarked } from '../parts/marked.tsx'
import { imagesAllowed } from './images.ts'
import { shownHit } from './shown.ts'

export function HitView(props: {
  readonly hit: Hit
  readonly rank: number
  readonly primaryKey: string | null
  /** Its position among the hits of the first lane; null without a comparison. */
  readonly place: number | 'new' | null
  readonly isAsked: boolean
  readonly ask: () => void
  /** null: hits are not judged. */
  readonly judged: JudgedHit | null
}) {
  const { hit, rank, primaryKey, place, isAsked, ask, judged } = props
  const { title, image, text, facts, hiddenFacts } = shownHit(hit, primaryKey)
  const score = typeof hit._rankingScore === 'number' ? hit._rankingScore : null
  return (
    <li class={isAsked ? 'hit chosen' : 'hit'}>
      <span class="rank">{rank + 1}</span>
      <h3>
        <Marked text={title} />
      </h3>
      <div class="side">
        {score !== null && (
          <span class="small soft num" title="Ranking score">
            <span class="hidden">Score </span>
            {score.toFixed(3)}
          </span>
        )}
        {score !== null && <Meter value={score} label={`Score ${score.toFixed(3)} of 1`} />}
        <button type="button" class="plain small" aria-expanded={isAsked} onClick={ask}>
          Why?<span class="hidden"> {unmarked(title).slice(0, 60)}</span>
        </button>
        {judged !== null && <Thumbs hit={judged} title={unmarked(title).slice(0, 60)} />}
        {image !== null && imagesAllowed() && (
          <img src={image} alt="" loading="lazy" referrerpolicy="no-referrer" />
        )}
      </div>
      <div class="text">
        {place !== null && <Moved rank={rank} place={place} />}
        {text !== null && (
          <p>
            <Marked text={text} />
          </p>
        )}
        <dl class="facts">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Marked text={value} />
              </dd>
            </div>
          ))}
          {hiddenFacts > 0 && (
            <div>
              <dt>and {hiddenFacts} more</dt>
              <dd class="hidden">fields</dd>
            </div>
          )}
        </dl>
      </div>
    </li>
  )
}

function Moved({ rank, place }: { readonly rank: number; readonly place: number | 'new' }) {
  if (place === 'new') return <p class="moved">not a hit in A</p>
  if (place === rank) return <p class="moved">same position as in A</p>
  const steps = Math.abs(place - rank)
  return (
    <p class="moved">
      {place > rank ? '↑' : '↓'} {steps} against A
    </p>
  )
}
