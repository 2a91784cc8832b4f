/** Here are the parts of the lines of tasks and batches that are the same for all types. */
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
  // The names are the API's: `earliest` is the newest.
  enqueuedAt: nullable(record({ earliest: date, oldest: date })),
  stopReason: defaulted(text, 'unspecified'),
})
