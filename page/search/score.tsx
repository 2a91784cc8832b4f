/** Draws the score of a hit by rule, in the order of application. */
import type { Json, RuleScore } from '../api/types.ts'
import { Meter } from '../parts/basics.tsx'
import { short, words } from '../parts/text.ts'

export function ScoreDetails({ details }: { readonly details: Readonly<Record<string, RuleScore>> }) {
  const rules = Object.entries(details)
    .map(([name, rule]) => ({ name, rule, score: scoreOf(rule) }))
    .sort((a, b) => (a.rule.order ?? 0) - (b.rule.order ?? 0))
  return (
    <ol class="stack">
      {rules.map(({ name, rule, score }) => (
        <li key={name} class="rule">
          <span class="wrap">{words(name)}</span>
          <span class="num soft">{score === null ? '' : score.toFixed(3)}</span>
          {score !== null && <Meter value={score} label={`${name}: ${score.toFixed(3)} of 1`} />}
          <span class="small soft wrap">{saidOf(name, rule)}</span>
        </li>
      ))}
    </ol>
  )
}

function scoreOf(rule: RuleScore): number | null {
  if (typeof rule.score === 'number') return rule.score
  return typeof rule.similarity === 'number' ? rule.similarity : null
}

const said: Readonly<Record<string, (rule: RuleScore) => string>> = {
  words: ({ matchingWords, maxMatchingWords }) => `${matchingWords} of ${maxMatchingWords} words`,
  typo: ({ typoCount, maxTypoCount }) => `${typoCount} of at most ${maxTypoCount} typos`,
  exactness: ({ matchType, matchingWords, maxMatchingWords }) =>
    matchingWords === undefined
      ? words(String(matchType))
      : `${matchingWords} of ${maxMatchingWords} words exactly as typed`,
}

/** Describes the details of a rule, in words if the page knows the rule. */
function saidOf(name: string, rule: RuleScore): string {
  const known = Object.hasOwn(said, name) ? said[name] : undefined
  if (known !== undefined) return known(rule)
  return Object.entries(rule)
    .filter(([key]) => key !== 'order' && key !== 'score')
    .map(([key, value]) => `${words(key)} ${short(value as Json, 60)}`)
    .join(', ')
}
