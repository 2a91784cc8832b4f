/** Buttons on a hit that collect a judgment. */

/** Grades of the two thumbs. */
const GOOD = 1
const BAD = 0

export interface JudgedHit {
  /** null: not judged. */
  readonly grade: number | null
  /** @param grade null: removes the judgment */
  readonly judge: (grade: number | null) => void
}

export function Thumbs({ hit, title }: { readonly hit: JudgedHit; readonly title: string }) {
  const thumb = (grade: number, sign: string, word: string) => (
    <button
      type="button"
      class="plain small"
      aria-pressed={hit.grade === grade}
      aria-label={`${word} hit: ${title}`}
      title={`${word} hit for this query`}
      onClick={() => hit.judge(hit.grade === grade ? null : grade)}
    >
      <span aria-hidden="true">{sign}</span>
    </button>
  )
  return (
    <span class="thumbs">
      {thumb(GOOD, '👍', 'Good')}
      {thumb(BAD, '👎', 'Bad')}
    </span>
  )
}
