/** A hit: title, text with highlighted matches, facts, score. */
import { useState } from 'preact/hooks'
import type { Hit } from '../api/types.ts'
import { type JudgedHit, Thumbs } from '../judge/thumbs.tsx'
import { Meter } from '../parts/basics.tsx'
import { Marked, unmarked } from '../parts/marked.tsx'
import { mayLoad } from './images.ts'
import { shownHit } from './shown.ts'

export function HitView(props: {
  readonly hit: Hit
  readonly rank: number
  readonly primaryKey: string | null
  /** Its position among the hits of the first lane; null without a comparison. */
  readonly place: number | 'new' | null
  readonly isAsked: boolean
  readonly ask: () => void
  /** Opens the complete document. */
  readonly open: () => void
  /** null: hits are not judged. */
  readonly judged: JudgedHit | null
}) {
  const { hit, rank, primaryKey, place, isAsked, ask, open, judged } = props
  const [hasFailed, setHasFailed] = useState(false)
  const { title, image, text, facts, hiddenFacts } = shownHit(hit, primaryKey)
  const hasImage = image !== null && !hasFailed && mayLoad(image)
  const score = typeof hit._rankingScore === 'number' ? hit._rankingScore : null
  return (
    <li class={`hit${isAsked ? ' chosen' : ''}${hasImage ? ' with-image' : ''}`}>
      <span class="rank">{rank + 1}</span>
      {hasImage && (
        <img
          src={image}
          alt=""
          loading="lazy"
          referrerpolicy="no-referrer"
          onError={() => setHasFailed(true)}
        />
      )}
      <h3>
        <button type="button" class="title" dir="auto" onClick={open}>
          <Marked text={title} />
        </button>
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
      </div>
      <div class="text">
        {place !== null && <Moved rank={rank} place={place} />}
        {text !== null && (
          <p dir="auto">
            <Marked text={text} />
          </p>
        )}
        <dl class="facts">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd dir="auto">
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
