/** Archive form of an API key. The line does not hold the value of the key. */
import type { StoredKey } from '../../tasks/index.js'
import { date, list, nullable, record, text } from './forms.js'

/** A line of `keys.jsonl`. */
export const keyForm = record<StoredKey>(
  {
    description: nullable(text),
    name: nullable(text),
    uid: text,
    actions: list(text),
    indexes: list(text),
    expiresAt: nullable(date),
    createdAt: date,
    updatedAt: date,
  },
  { expiresAt: 'expires_at', createdAt: 'created_at', updatedAt: 'updated_at' },
)
