/** Shows the duration of a search by stage. */
import { Parts } from '../parts/basics.tsx'
import { milliseconds, millisecondsOf } from '../parts/text.ts'

/** This stage is listed separately, but its time is also included in the total, `search`. */
const QUEUE = 'wait in queue'

/** Returns the stages at the second level of `a > b`, and the remaining time of their parent. */
function stagesOf(details: Readonly<Record<string, string>>): readonly (readonly [string, number])[] {
  const times = Object.entries(details).map(([name, text]) => [name, millisecondsOf(text)] as const)
  const isParent = (name: string): boolean => times.some(([other]) => other.startsWith(`${name} > `))
  const stages = times.flatMap(([name, ms]): (readonly [string, number])[] => {
    if (name.split(' > ').length > 2) return []
    if (!isParent(name)) return [[name.split(' > ').at(-1) ?? name, ms]]
    if (name.includes(' > ')) return [[name.split(' > ')[1] ?? name, ms]]
    const inside = times.filter(
      ([other]) => other.startsWith(`${name} > `) && other.split(' > ').length === 2,
    )
    const waited = name === 'search' ? (times.find(([other]) => other === QUEUE)?.[1] ?? 0) : 0
    const rest = ms - waited - inside.reduce((sum, [, part]) => sum + part, 0)
    return rest > 0.005 ? [['the rest', rest]] : []
  })
  return stages
}

export function Timing({ details }: { readonly details: Readonly<Record<string, string>> }) {
  const parts = stagesOf(details).map(([name, value]) => ({ name, value, text: milliseconds(value) }))
  return parts.length === 0 ? null : <Parts label="Time of each stage" parts={parts} />
}
