/**
 * Writes changes of dynamic search rules as lines that the reference reads.
 *
 * The reference keeps the form of its `dsrUpdate` tasks private and refuses a dump with another form. So a change made
 * here is written as a finished `dsrClear`, which has no fields and is not carried out again; a waiting change is written
 * as a canceled one. The member `ruleChange` holds the task itself. The reference ignores it, siftd reads it.
 */
import type { DumpedTask } from '../../tasks/index.js'
import type { Fields } from './fields.js'

/** True for a change of a rule that siftd made. Changes that the reference made keep their form. */
export const isOwnRuleChange = ({ task, foreign }: DumpedTask): boolean =>
  task.type === 'dsrUpdate' &&
  foreign === null &&
  (task.details === undefined || task.details.updatedRules !== undefined)

/** @param line of the task, in the form of siftd */
export function readableRuleChange(line: Fields): Fields {
  const { type, status, details, ...rest } = line
  const isWaiting = status === 'enqueued' || status === 'processing'
  return {
    ...rest,
    status: isWaiting ? 'canceled' : status,
    type: 'dsrClear',
    ...(isWaiting && { finishedAt: line.enqueuedAt }),
    ruleChange: { type, status, details },
  }
}

/** Returns the line that was given to `readableRuleChange`; other lines as they are. */
export function ruleChangeOf(line: Fields): Fields {
  const { ruleChange, ...rest } = line
  if (typeof ruleChange !== 'object' || ruleChange === null || rest.type !== 'dsrClear') return line
  return { ...rest, ...(ruleChange as Fields) }
}
