/** Parses the parts of the Prometheus text format that the page uses. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export function samplesOf(text: string): readonly Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (name === undefined) return []
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, held]) => [key, held])
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }]
  })
}

/** Returns the value of a metric without labels; null if it is missing. */
export const valueNamed = (samples: readonly Sample[], name: string): number | null =>
  samples.find((sample) => sample.name === name)?.value ?? null

/** Returns the values of a metric by the label `kind`. */
export const byKind = (samples: readonly Sample[], name: string): ReadonlyMap<string, number> =>
  new Map(
    samples.filter((sample) => sample.name === name).map(({ labels, value }) => [labels.kind ?? '', value]),
  )
