/** Words of languages that are written without blanks between them, by dictionaries of optional packages. */
import { WordCutter } from './cutter.js'
import { readDictionaryName, readWordDictionary } from './dictionary.js'

/** Ids of dictionaries by three-letter code of their language. Two dictionaries with the same id cut texts alike. */
export type DictionaryIds = Readonly<Record<string, string>>

/** Returns true for an analysed word in letters of Japanese, Chinese or Korean, whose words a dictionary finds. */
export const needsDictionary = (word: string): boolean =>
  /^[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff]/.test(word)

/** An installed dictionary. It is read with the first text that needs it. */
interface Installed {
  readonly id: string
  readonly path: string
  cutter: WordCutter | null
}

/** Dictionaries by language. */
export class Dictionaries {
  readonly #installed: ReadonlyMap<string, Installed>

  private constructor(installed: ReadonlyMap<string, Installed>) {
    this.#installed = installed
  }

  static readonly none = new Dictionaries(new Map())

  /** @throws Error with the path, if a file is no dictionary */
  static of(paths: readonly string[]): Dictionaries {
    const entry = (path: string): readonly [string, Installed] => {
      const { language, id } = readDictionaryName(path)
      return [language, { id, path, cutter: null }]
    }
    return new Dictionaries(new Map(paths.map(entry)))
  }

  get ids(): DictionaryIds {
    return Object.fromEntries(Array.from(this.#installed, ([language, { id }]) => [language, id]))
  }

  /** The dictionaries of the languages in `ids`, also those with another id. */
  ofLanguages(ids: DictionaryIds): Dictionaries {
    return new Dictionaries(new Map([...this.#installed].filter(([language]) => language in ids)))
  }

  /** @throws Error with the path, if the file is damaged */
  cutter(language: string): WordCutter | null {
    const installed = this.#installed.get(language)
    if (installed === undefined) return null
    installed.cutter ??= new WordCutter(readWordDictionary(installed.path))
    return installed.cutter
  }
}

export const sameDictionaries = (a: DictionaryIds, b: DictionaryIds): boolean => {
  const languages = Object.keys(a)
  return (
    languages.length === Object.keys(b).length && languages.every((language) => a[language] === b[language])
  )
}
