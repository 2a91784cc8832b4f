/** Judgments that the user collected on hits, kept in this browser by index. They are sent nowhere. */
import { useCallback, useEffect, useState } from 'preact/hooks'
import { plural } from '../parts/text.ts'
import type { Judgment } from './judgments.ts'

/** Most judgments per index, and longest query and id in characters. Browsers store about five million characters. */
const JUDGMENTS_MAX = 2_000
const CHARS_MAX = 500

const nameOf = (index: string): string => `siftd.judgments.${index}`
/** Event on `window` after a change in this tab. Browsers send `storage` to other tabs only. */
const CHANGED = 'siftd-judgments'

export interface Collected {
  readonly judgments: readonly Judgment[]
  /** Returns the grade of a document; null: not judged. */
  readonly gradeOf: (query: string, id: string) => number | null
  /** Replaces a judgment. @param grade null: removes it */
  readonly judge: (query: string, id: string, grade: number | null) => void
  readonly forget: () => void
  /** Reason why the last judgment was not kept. */
  readonly problem: string | null
}

export function useCollected(index: string): Collected {
  const [judgments, setJudgments] = useState<readonly Judgment[]>(() => stored(index))
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    const read = (): void => setJudgments(stored(index))
    read()
    addEventListener(CHANGED, read)
    addEventListener('storage', read)
    return () => {
      removeEventListener(CHANGED, read)
      removeEventListener('storage', read)
    }
  }, [index])
  const write = useCallback(
    (next: readonly Judgment[]): void => {
      try {
        if (next.length === 0) localStorage.removeItem(nameOf(index))
        else localStorage.setItem(nameOf(index), JSON.stringify(next))
        setProblem(null)
      } catch {
        setProblem(
          'The browser has no space for judgments, or refuses storage. Download and forget them, or allow storage.',
        )
      }
      dispatchEvent(new Event(CHANGED))
    },
    [index],
  )
  return {
    judgments,
    problem,
    gradeOf: (query, id) => judgments.find((one) => one.query === query && one.id === id)?.grade ?? null,
    judge(query, id, grade) {
      // Another tab may have changed them.
      const others = stored(index).filter((one) => one.query !== query || one.id !== id)
      if (grade === null) write(others)
      else if (query.length > CHARS_MAX || id.length > CHARS_MAX)
        setProblem(`Only queries and ids of up to ${CHARS_MAX} characters can be judged here.`)
      else if (others.length >= JUDGMENTS_MAX)
        setProblem(`At most ${plural(JUDGMENTS_MAX, 'judgment')} are kept. Download and forget them.`)
      else write([...others, { query, id, grade }])
    },
    forget: () => write([]),
  }
}

/** Reads the judgments of an index. The storage may have any content, and may be switched off. */
function stored(index: string): readonly Judgment[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(nameOf(index)) ?? '[]')
    return (Array.isArray(found) ? found : []).filter(isJudgment).slice(0, JUDGMENTS_MAX)
  } catch {
    return []
  }
}

function isJudgment(value: unknown): value is Judgment {
  const { query, id, grade } = (value ?? {}) as Partial<Record<keyof Judgment, unknown>>
  return typeof query === 'string' && typeof id === 'string' && typeof grade === 'number'
}
