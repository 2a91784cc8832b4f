/** Here is an API key: which line of an archive is it? Its value is not part of it. */
import type { StoredKey } from '../tasks/index.js'

/** A line of `keys.jsonl`. */
export function keyLine({ expiresAt, createdAt, updatedAt, ...rest }: StoredKey): object {
  const { description, name, uid, actions, indexes } = rest
  return {
    description,
    name,
    uid,
    actions,
    indexes,
    expires_at: expiresAt,
    created_at: createdAt,
    updated_at: updatedAt,
  }
}
