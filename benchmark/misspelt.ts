/** Generates searches for film titles, correct and misspelt. */
import { type Film, generator } from './corpus.js'

export interface TitleQuery {
  /** `as written`, or the kind of mistake. */
  readonly spelling: string
  readonly q: string
  /** The only film with this title. */
  readonly id: number
}

/** Minimum length of a misspelt word. Every compared engine allows one mistake in such a word. */
const LETTERS_MIN = 6

type Misspell = (word: string, at: number, random: () => number) => string

/** Kinds of mistakes. Each changes a letter between the first and the last. */
const mistakes: Readonly<Record<string, Misspell>> = {
  'a letter left out': (word, at) => word.slice(0, at) + word.slice(at + 1),
  'another letter': (word, at, random) => {
    const other = String.fromCharCode(97 + Math.floor(random() * 26))
    const letter = other === word[at]?.toLowerCase() ? (other === 'z' ? 'y' : 'z') : other
    return word.slice(0, at) + letter + word.slice(at + 1)
  },
  'two letters swapped': (word, at) => {
    // Swapping two equal letters would change nothing.
    const places = [...word].flatMap((letter, place) =>
      place > 0 && place < word.length - 1 && letter !== word[place + 1] ? [place] : [],
    )
    const place = places.find((place) => place >= at) ?? places[0]
    if (place === undefined) return word
    return word.slice(0, place) + word[place + 1] + word[place] + word.slice(place + 2)
  },
}

/** @param perSpelling number of titles per spelling, the same titles for all spellings */
export function titleQueries(films: readonly Film[], perSpelling: number): readonly TitleQuery[] {
  const random = generator(20_27)
  const normal = (title: string) => title.toLowerCase()
  const counts = new Map<string, number>()
  for (const { title } of films) counts.set(normal(title), (counts.get(normal(title)) ?? 0) + 1)
  const long = new RegExp(`[A-Za-z]{${LETTERS_MIN},}`, 'g')
  const unique = films.filter(({ title }) => counts.get(normal(title)) === 1 && title.search(long) >= 0)
  const chosen = Array.from(
    { length: Math.min(perSpelling, unique.length) },
    () => unique.splice(Math.floor(random() * unique.length), 1)[0]!,
  )
  const spellings: readonly (readonly [string, Misspell | null])[] = [
    ['as written', null],
    ...Object.entries(mistakes),
  ]
  return spellings.flatMap(([spelling, misspell]) =>
    chosen.map(({ id, title }) => ({
      spelling,
      id,
      q:
        misspell === null
          ? title
          : title.replace(long, (word) =>
              misspell(word, 1 + Math.floor(random() * (word.length - 2)), random),
            ),
    })),
  )
}
