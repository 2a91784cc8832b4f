import { fileDamages } from './faults.js'
import { type Class, classes, type Verdict } from './trial.js'

/** Counts outcomes by kind of file and damage. Each class of outcome has a letter. */
export function outcomeTable(verdicts: readonly Verdict[]): string {
  const kinds = [...new Set(verdicts.map(({ fault }) => fault.kind))].toSorted()
  const cell = (kind: string, damage: string): string => {
    const found = verdicts.filter(({ fault }) => fault.kind === kind && fault.damage === damage)
    const counts = classes.map(
      (one) => [one, found.filter((verdict) => verdict.class === one).length] as const,
    )
    return counts.flatMap(([one, count]) => (count === 0 ? [] : [`${letters[one]}${count}`])).join(' ')
  }
  const rows = [
    ['', ...fileDamages],
    ...kinds.map((kind) => [kind, ...fileDamages.map((damage) => cell(kind, damage))]),
  ]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
  const totals = classes.map((one) => {
    const count = verdicts.filter((verdict) => verdict.class === one).length
    return `${letters[one]} ${one}: ${count}`
  })
  return [...lines, totals.join(', '), commandTotals(verdicts)].join('\n')
}

/** Summarises the results of `siftd verify` and `siftd repair`. */
function commandTotals(verdicts: readonly Verdict[]): string {
  const count = (test: (verdict: Verdict) => boolean) => verdicts.filter(test).length
  const changes = verdicts.filter((verdict) => verdict.class === 'reported' || verdict.class === 'refused')
  const named = changes.filter(({ isNamed }) => isNamed).length
  return [
    `verify named ${named} of ${changes.length} damages that change an answer`,
    `and ${count(({ class: found, isNamed }) => isNamed === true && (found === 'harmless' || found === 'rebuilt'))} others`,
    `repair restored everything after ${count(({ repair }) => repair === 'restored')}, lost something after ${count(({ repair }) => repair === 'set aside')}`,
  ].join('; ')
}

const letters: Readonly<Record<Class, string>> = {
  harmless: 'h',
  rebuilt: 'b',
  reported: 't',
  refused: 'r',
  'without effect': '-',
  'stack trace': 'S',
  hang: 'H',
  'not named': 'N',
  spread: 'P',
  'not repaired': 'R',
  'silently wrong': 'W',
}
