/** Here is an API key: which line of an archive is it, and back? Its value is not part of it. */
import type { StoredKey } from '../tasks/index.js'
import { dateOf, fieldsOf, listOf, orNull, textOf } from './fields.js'

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

/** The way back. @throws DumpError */
export function keyOf(value: unknown, at: string): StoredKey {
  const { uid, name, description, actions, indexes, expires_at, created_at, updated_at } = fieldsOf(value, at)
  return {
    uid: textOf(uid, `${at}: uid`),
    name: orNull(name, `${at}: name`, textOf),
    description: orNull(description, `${at}: description`, textOf),
    actions: listOf(actions, `${at}: actions`, textOf),
    indexes: listOf(indexes, `${at}: indexes`, textOf),
    expiresAt: orNull(expires_at, `${at}: expires_at`, dateOf),
    createdAt: dateOf(created_at, `${at}: created_at`),
    updatedAt: dateOf(updated_at, `${at}: updated_at`),
  }
}
