/** Archive forms shared by tasks and batches of all types. */
import type { RecordedError } from '../../errors/index.js'
import type { Fields } from './fields.js'
import {
  anything,
  date,
  defaulted,
  type Form,
  nullable,
  object,
  optional,
  record,
  text,
  uid,
} from './forms.js'

/** The error of a failed task. Accepts any code, because other services have more. */
export const errorForm = record<RecordedError>({ message: text, code: text, type: text, link: text })

/** A version: `v1.53.0` for clients, three numbers in an archive. Other values are left unchanged. */
export const version: Form<unknown> = {
  write: (value) =>
    typeof value === 'string'
      ? (/^v(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/.exec(value)?.slice(1).map(Number) ?? value)
      : value,
  read: (value) =>
    Array.isArray(value) &&
    value.length === 3 &&
    value.every((part) => Number.isInteger(part) && part >= 0 && part < 1e9)
      ? `v${value.join('.')}`
      : value,
}

export const upgradeDetails: Form<Fields> = {
  write: ({ upgradeFrom, upgradeTo, ...rest }) => ({
    from: version.write(upgradeFrom),
    to: version.write(upgradeTo),
    ...rest,
  }),
  read: (value, at) => {
    const { from, to, ...rest } = object.read(value, at)
    return { upgradeFrom: version.read(from, `${at}.from`), upgradeTo: version.read(to, `${at}.to`), ...rest }
  },
}

/** A line of `batches/queue.jsonl`. */
export const batchForm = record({
  uid,
  details: defaulted(object, {}),
  stats: defaulted(object, {}),
  // The API shows it as a member of the stats.
  embedderStats: optional(anything),
  startedAt: date,
  finishedAt: date,
  // Source: the API. There `earliest` is the newest date.
  enqueuedAt: nullable(record({ earliest: date, oldest: date })),
  stopReason: defaulted(text, 'unspecified'),
})
