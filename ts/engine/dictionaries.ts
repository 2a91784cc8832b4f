import { createRequire } from 'node:module'
import { installAdvice } from '../launch/index.js'
import { parsedSettings } from '../settings/index.js'
import type { Operation } from './batches.js'
import type { Engine } from './engine.js'
import type { EngineLog } from './setup.js'

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

/**
 * Wraps an engine without some dictionaries: the first settings that name their language are logged, with the command
 * that installs the dictionary.
 * @param installed paths of dictionaries
 */
export function advising(engine: Engine, installed: readonly string[], log: EngineLog): Engine {
  const missing = new Map(Object.entries(packages).filter(([, name]) => !isInstalled(name, installed)))
  if (missing.size === 0) return engine
  return {
    ...engine,
    prepare: (index, batch, stop) => {
      for (const language of batch.operations.flatMap(languagesOf)) {
        const name = missing.get(language)
        if (name === undefined) continue
        missing.delete(language)
        const advice = installAdvice(name)
        log.warn({ index, language }, `no word dictionary of this language is installed: run ${advice}`)
      }
      return engine.prepare(index, batch, stop)
    },
  }
}

const isInstalled = (name: string, installed: readonly string[]): boolean => {
  const file = `${name.slice(name.indexOf('/') + 1)}.bin`
  return installed.some((path) => path.endsWith(file))
}

/** Languages in the localized attributes of new settings. */
function languagesOf(operation: Operation): readonly string[] {
  if (operation.kind !== 'settings') return []
  return parsedSettings(operation.settings).localizedAttributes?.flatMap(({ locales }) => locales) ?? []
}
