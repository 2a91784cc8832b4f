import { immutable, indexUid, optional, required, shape, string } from '../requests/index.js'

const primaryKey = optional(string, 'invalid_index_primary_key')

/** Body of a request to create an index. */
export const creationBody = shape({
  uid: required(indexUid, 'invalid_index_uid', 'missing_index_uid'),
  primaryKey,
})

/** Body of a request to rename an index or set its primary key. */
export const updateBody = shape({
  primaryKey,
  uid: optional(indexUid, 'invalid_index_uid'),
  createdAt: immutable('immutable_index_created_at'),
  updatedAt: immutable('immutable_index_updated_at'),
})
