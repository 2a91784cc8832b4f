/** Result of a check of `siftd doctor`. */
export interface Finding {
  readonly subject: string
  /** `odd`: a server works, but not as well as it could. */
  readonly state: 'good' | 'odd' | 'bad'
  readonly found: string
  /** How to fix it; null: nothing to do. */
  readonly fix: string | null
}

export const good = (subject: string, found: string): Finding => ({
  subject,
  state: 'good',
  found,
  fix: null,
})
export const odd = (subject: string, found: string, fix: string): Finding => ({
  subject,
  state: 'odd',
  found,
  fix,
})
export const bad = (subject: string, found: string, fix: string): Finding => ({
  subject,
  state: 'bad',
  found,
  fix,
})

/** Bytes in the largest fitting unit. */
export function size(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = Math.min(Math.floor(Math.log2(Math.max(1, bytes)) / 10), units.length - 1)
  return `${Math.round((10 * bytes) / 2 ** (10 * power)) / 10} ${units[power]}`
}
