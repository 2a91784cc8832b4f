/** Renders an explanation of the server: reasons, evaluated filters, and the words of the query. */
import type { ComponentChildren } from 'preact'
import type { Explanation, JudgedClause, Reason, Spelling, WordStep } from '../api/explanation.ts'
import { count, plural } from '../parts/text.ts'

export function ReasonList({ reasons }: { readonly reasons: readonly Reason[] }) {
  return (
    <ul class="stack">
      {reasons.map((reason, i) => (
        <li key={i}>{sentenceOf(reason)}</li>
      ))}
    </ul>
  )
}

function sentenceOf(reason: Reason): ComponentChildren {
  switch (reason.kind) {
    case 'filter':
      return (
        <>
          It does not match the filter.
          <ClauseView clause={reason.clause} />
        </>
      )
    case 'excludedWords':
      return 'It contains a word that the query excludes with a minus.'
    case 'missingWords':
      return (
        <>
          It does not contain {reason.words.map((word) => `“${word}”`).join(', ')}, which every hit must
          contain.
        </>
      )
    case 'rankingScoreThreshold':
      return `Its score of ${reason.score.toFixed(3)} is below the threshold of ${reason.threshold}.`
    case 'rule':
      return `The dynamic search rule ${reason.uid} hides it.`
    case 'distinct':
      return `The better hit ${reason.id} has the same ${reason.attribute}, and the search shows only one hit per value.`
    case 'searchCutoff':
      return 'The search reached its time limit searchCutoffMs before this document.'
    case 'tooFarDown':
      return `It comes after ${count(reason.hitsLookedAt)} hits; pagination.maxTotalHits is ${count(reason.maxTotalHits)}.`
    default:
      return 'The page does not know the reason from the server.'
  }
}

function ClauseView({ clause }: { readonly clause: JudgedClause }) {
  return (
    <div class="step">
      <p class="wrap">
        <span class={clause.passes ? 'verdict pass' : 'verdict fail'}>{clause.passes ? '✓' : '✗'}</span>
        <span class="hidden">{clause.passes ? ' passes: ' : ' fails: '}</span>{' '}
        {clause.clauses.length > 0 ? (
          <span class="soft small">{clause.operator.toUpperCase()} of</span>
        ) : (
          <code>{clause.filter}</code>
        )}
      </p>
      {clause.clauses.length > 0 && (
        <div class="tree">
          {clause.clauses.map((inner, i) => (
            <ClauseView key={i} clause={inner} />
          ))}
        </div>
      )}
    </div>
  )
}

export function StepList({ query }: { readonly query: Explanation['query'] }) {
  // Shows concatenated words only if the document contains the concatenation.
  const steps = query.steps.filter((step) => step.parts === null || step.isInDocument)
  return (
    <div class="stack">
      {steps.length === 0 && (
        <p class="small soft">The query contains no words, so every document matches.</p>
      )}
      <ul class="stack">
        {steps.map((step, i) => (
          <li key={i} class="step">
            <StepView step={step} />
          </li>
        ))}
      </ul>
      {query.ignoredWords.length > 0 && (
        <p class="small soft">Ignored stop words: {query.ignoredWords.join(', ')}</p>
      )}
      {query.languages.length > 0 && (
        <p class="small soft">Languages from the settings or the search: {query.languages.join(', ')}</p>
      )}
      {query.excludedWords.length > 0 && <p class="small soft">Excluded: {query.excludedWords.join(', ')}</p>}
    </div>
  )
}

function StepView({ step }: { readonly step: WordStep }) {
  const text = step.phrase === null ? step.text : `“${step.phrase.map((word) => word ?? '…').join(' ')}”`
  const inDocument = step.spellings.filter(({ places }) => places.length > 0)
  const others = step.spellings.filter(({ places }) => places.length === 0)
  const allowed = [
    step.typosMax > 0 ? `up to ${plural(step.typosMax, 'typo')}` : 'no typo',
    ...(step.isUnfinished ? ['any ending'] : []),
    ...(step.isOptional ? ['may be missing'] : []),
  ]
  return (
    <>
      <p class="wrap">
        <span class={step.isInDocument ? 'verdict pass' : 'verdict fail'}>
          {step.isInDocument ? '✓' : '✗'}
        </span>{' '}
        <strong>{text}</strong> <span class="soft small">{allowed.join(', ')}</span>
      </p>
      {inDocument.map((spelling) => (
        <p key={`${spelling.kind} ${spelling.text}`} class="small wrap">
          found{' '}
          {spelling.kind === 'exact' ? (
            'as typed'
          ) : (
            <>
              as “{spelling.text}”, {kinds[spelling.kind]}
            </>
          )}
          {spelling.typos > 0 &&
            !['stem', 'compound', 'pinyin'].includes(spelling.kind) &&
            ` (${plural(spelling.typos, 'typo')})`}{' '}
          in {placesOf(spelling)}
        </p>
      ))}
      {!step.isInDocument && <p class="small">not in this document</p>}
      {others.length > 0 && (
        <p class="small soft wrap">
          Elsewhere in the index:{' '}
          {others
            .slice(0, 6)
            .map(({ text: other, documents }) => `${other} (${count(documents)})`)
            .join(', ')}
          {step.spellingsTotal > step.spellings.length ? ' …' : ''}
        </p>
      )}
    </>
  )
}

const kinds: Readonly<Record<Spelling['kind'], string>> = {
  exact: 'as typed',
  phrase: 'a phrase',
  prefix: 'which begins with it',
  synonym: 'a synonym',
  stem: 'another form of it',
  compound: 'a compound with it',
  pinyin: 'which is read so',
  typo: 'a similar spelling',
  split: 'split in two',
}

function placesOf({ places }: Spelling): string {
  const byAttribute = new Map<string, number>()
  for (const { attribute } of places) byAttribute.set(attribute, (byAttribute.get(attribute) ?? 0) + 1)
  return [...byAttribute].map(([name, times]) => (times > 1 ? `${name} (${times} times)` : name)).join(', ')
}
