import { LaunchError, type LaunchOptions } from '../launch/index.js'
import { choices, suggestion } from '../parse/index.js'

const ENGINES = ['auto', 'native', 'fallback'] as const

/**
 * Merges the options of a program into the defaults. Ignores those that are `undefined`. A program without types may give
 * anything.
 * @throws LaunchError with the code `invalid_option` for an unknown name, another type than that of the default, or a number
 * that is negative or not finite
 */
export function withDefaults(
  given: Readonly<Record<string, unknown>>,
  defaults: LaunchOptions,
): LaunchOptions {
  const known = new Map<string, unknown>(Object.entries(defaults))
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  for (const [name, value] of set) {
    if (!known.has(name)) {
      const near = suggestion(name, [
        ...known.keys(),
        'directory',
        'engine',
        'readOnly',
        'logLevel',
        'keepAlive',
      ])
      refuse(`unknown option \`${name}\`${near === null ? '' : `, did you mean \`${near}\`?`}`)
    }
    const standard = known.get(name)
    const isOfType = standard === null || standard === undefined || typeof standard === typeof value
    if (!isOfType) refuse(`option \`${name}\` is ${kindOf(value)}, but must be a ${typeof standard}`)
    if (typeof value === 'number' && !(Number.isFinite(value) && value >= 0))
      refuse(`option \`${name}\` is ${value}, but must be a finite number from 0 on`)
  }
  return { ...defaults, ...Object.fromEntries(set) }
}

/** @throws LaunchError with the code `invalid_option` */
export function requirePlace(directory: unknown, engine: unknown): void {
  if (typeof directory !== 'string' || directory === '')
    refuse('option `directory` must be the path of a data directory, and not empty')
  if (!ENGINES.some((one) => one === engine))
    refuse(`option \`engine\` is \`${String(engine)}\`: ${choices(String(engine), ENGINES)}`)
}

const kindOf = (value: unknown): string => (value === null ? 'null' : `a ${typeof value}`)

function refuse(message: string): never {
  throw new LaunchError(message, 2, { code: 'invalid_option' })
}
