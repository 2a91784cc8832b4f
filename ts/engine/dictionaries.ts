import { createRequire } from 'node:module'
import { packageVersion } from '../launch/index.js'

/** Languages of optional word dictionaries: three-letter code → package. */
const packages: Readonly<Record<string, string>> = { jpn: '@siftd/words-ja', kor: '@siftd/words-ko' }

/** Paths of the dictionaries in installed packages. */
export function installedDictionaries(): string[] {
  const { resolve } = createRequire(import.meta.url)
  return Object.values(packages).flatMap((name) => {
    try {
      return [resolve(`${name}/${name.slice(name.indexOf('/') + 1)}.bin`)]
    } catch {
      return []
    }
  })
}

/** The command that installs the dictionary of a language; null if there is none. */
export function dictionaryCommand(language: string): string | null {
  const name = packages[language]
  return name === undefined ? null : `npm install ${name}@${packageVersion()}`
}
