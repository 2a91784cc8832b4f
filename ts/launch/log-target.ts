/** Here is a text such as `warn,tasks=debug`: which lines does it let through? */

/** Levels from the quietest to the most verbose. */
export const logLevels = ['off', 'error', 'warn', 'info', 'debug', 'trace'] as const

export type LogLevel = (typeof logLevels)[number]

/** Parts of the server whose lines have a level of their own. */
export const logModules = [
  'bucket',
  'cli',
  'engine',
  'http',
  'instance',
  'queries',
  'tasks',
  'webhooks',
] as const

export type LogModule = (typeof logModules)[number]

/** The least severe lines that are let through. */
export interface LogTarget {
  /** Of modules that `modules` does not name. */
  readonly others: LogLevel
  readonly modules: Readonly<Partial<Record<LogModule, LogLevel>>>
}

/** Names that stand for every module, or for another: operators of the reference know its crates. */
const aliases: Readonly<Record<string, LogModule | 'all'>> = {
  siftd: 'all',
  meilisearch: 'all',
  actix_web: 'http',
  index_scheduler: 'tasks',
  milli: 'engine',
}

const isModule = (word: string): word is LogModule => (logModules as readonly string[]).includes(word)

/** A target, and the names in it that are no module. */
export interface ReadLogTarget extends LogTarget {
  readonly unknown: readonly string[]
}

/**
 * Reads a comma-separated list of `level` and `module=level`, in any case; the last entry of a module counts. A module
 * may be named by its path, such as `siftd::tasks`.
 *
 * @param unnamed the level of modules that the list does not name, unless an entry is a level alone
 * @returns null if the text is not such a list
 */
export function readLogTarget(text: string, unnamed: LogLevel): ReadLogTarget | null {
  let others = unnamed
  const modules: Partial<Record<LogModule, LogLevel>> = {}
  const unknown: string[] = []
  for (const part of text.split(',')) {
    const [, name, word = ''] = /^(?:([\w:-]+)=)?(\w+)$/.exec(part.trim().toLowerCase()) ?? []
    const level = logLevels.find((one) => one === word)
    if (level === undefined) return null
    const module = name === undefined ? 'all' : moduleOf(name)
    if (module === 'all') others = level
    else if (module === null) unknown.push(name ?? '')
    else modules[module] = level
  }
  return { others, modules, unknown }
}

/** The module of a name or path; null: there is none of that name. */
function moduleOf(name: string): LogModule | 'all' | null {
  const [crate = '', inner] = name.split('::')
  if (crate === 'siftd' && inner !== undefined) return isModule(inner) ? inner : null
  if (isModule(crate)) return crate
  return Object.hasOwn(aliases, crate) ? (aliases[crate] ?? null) : null
}
