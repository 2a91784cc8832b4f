/** Reads the text format of Prometheus, as far as the page draws it. */

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

/** The one sample of a name; null if it is not reported. */
export const valueNamed = (samples: readonly Sample[], name: string): number | null =>
  samples.find((sample) => sample.name === name)?.value ?? null

/** Values by the label `kind`. */
export const byKind = (samples: readonly Sample[], name: string): ReadonlyMap<string, number> =>
  new Map(
    samples.filter((sample) => sample.name === name).map(({ labels, value }) => [labels.kind ?? '', value]),
  )
