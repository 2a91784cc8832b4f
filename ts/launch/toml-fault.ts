import { TomlError } from 'smol-toml'

/** Returns place and reason of an error in TOML, on one line. */
export function tomlFault(error: unknown): string {
  const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  if (!(error instanceof TomlError)) return reason
  return `line ${error.line}, column ${error.column}: ${reason.replace('Invalid TOML document: ', '')}`
}
