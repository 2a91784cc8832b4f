/** Object stores: S3 client, credentials, encryption, and a log with a single writer. */

export {
  copyNames,
  DamagedPartError,
  fetchFiles,
  keepOnly,
  partsOnDisk,
  type ReadPart,
  removeFiles,
  withoutCommits,
} from '../follow/fetch-files.js'
export * from '../log/file-parts.js'
export * from '../log/log.js'
export { DamagedRecordError, decodeRecord, encodeRecord, type LogRecord } from '../log/log-record.js'
export { FilePublisher, InlineParts } from '../publish/publish-files.js'
export { type BucketAddress, bucketAddress } from './address.js'
export { bucketKey } from './bucket-key.js'
export { type Credentials, credentialsFrom } from './credentials.js'
export { READ_AHEAD } from './limits.js'
export * from './object-store.js'
export { openCredentials } from './open-credentials.js'
export { partsAhead } from './parts-ahead.js'
export { probe, UnfitStoreError } from './probe.js'
export { Reachability } from './reachability.js'
export { type Repeating, repeated, repeatingStore } from './repeating.js'
export { type S3Setup, s3Store } from './s3.js'
export { isSealed, SEALED_MESSAGE, sealedStore } from './sealed-store.js'
export type { SourceSetup } from './temporary-credentials.js'
