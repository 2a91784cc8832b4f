import type { LaunchOption } from './option.js'

/** Prefixes of variables; the first one wins. */
export const prefixes = ['SVC_', 'MEILI_'] as const

/** `httpAddr` → `http-addr`: the flag without its dashes, and the name of a credential. */
export const kebab = (name: string): string =>
  name.replace(/[A-Z]|(?<=[a-z])\d+/g, (part) => `-${part.toLowerCase()}`)

/** `httpAddr` → `http_addr`: the key in the configuration file. */
export const snake = (name: string): string => kebab(name).replaceAll('-', '_')

const upper = (name: string): string => snake(name).toUpperCase()

/** The names of an option besides its own. */
export const otherNamesOf = ({
  aliases = [],
  formerNames = [],
}: LaunchOption<unknown>): readonly string[] => [...aliases, ...formerNames]

/** Returns the flags of an option without dashes, the usual one first; empty for a variable. */
export const flagsOf = (name: string, option: LaunchOption<unknown>): readonly string[] =>
  option.isVariable ? [] : [kebab(name), ...otherNamesOf(option)]

/** Returns the variable that the help shows. */
export const variableOf = (name: string, { envName }: LaunchOption<unknown>): string =>
  prefixes[0] + (envName ?? upper(name))

/** Returns the variables that set an option, in order of precedence. */
export function variablesOf(name: string, option: LaunchOption<unknown>): readonly string[] {
  const words = [option.envName ?? upper(name), ...otherNamesOf(option).map(upper)]
  const prefixed = prefixes.flatMap((prefix) => words.map((word) => prefix + word))
  return option.foreignVariable === undefined ? prefixed : [...prefixed, option.foreignVariable]
}
