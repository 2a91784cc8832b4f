/** Here is a line of a task or batch: what do the lines of all types have in common? */
import { type ErrorBody, isErrorCode } from '../errors/index.js'
import { unexpected } from './fields.js'
import { asItIs, choice, date, defaulted, nullable, object, record, text, uid } from './forms.js'

/** The error of a failed task. */
export const errorForm = record<ErrorBody>({
  message: text,
  code: asItIs((value, at) => {
    const code = text.read(value, at)
    if (!isErrorCode(code)) throw unexpected(value, at, 'a code of the table')
    return code
  }),
  type: choice(['invalid_request', 'internal', 'auth', 'system'] as const),
  link: text,
})

/** A line of `batches/queue.jsonl`. */
export const batchForm = record({
  uid,
  details: defaulted(object, {}),
  stats: defaulted(object, {}),
  startedAt: date,
  finishedAt: date,
  // Source: the API, in which `earliest` is the newest date.
  enqueuedAt: nullable(record({ earliest: date, oldest: date })),
  stopReason: defaulted(text, 'unspecified'),
})
