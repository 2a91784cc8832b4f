const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** Format of sizes in answers: a number of bytes, or text with a binary unit and at most two decimals. */
export type SizeFormat = 'raw' | 'human'

export function size(bytes: number, format: SizeFormat): number | string {
  return format === 'raw' ? bytes : humanSize(bytes)
}

/** Returns text such as `19.64 MiB`. */
export function humanSize(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${Number(value.toFixed(2))} ${units[unit]}`
}
