const sizeUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** Formats bytes for humans, such as `68 KiB` or `1.5 MiB`. */
export function humanSize(bytes: number): string {
  let [size, unit] = [bytes, 0]
  while (size >= 1024 && unit < sizeUnits.length - 1) [size, unit] = [size / 1024, unit + 1]
  return `${Number(size.toFixed(size < 10 ? 1 : 0))} ${sizeUnits[unit]}`
}
