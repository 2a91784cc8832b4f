import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { LaunchError, type LaunchOptions } from '../launch/index.js'
import type { Logger } from '../telemetry/index.js'
import { NewerFormatError } from './log/format.js'
import { MomentGoneError } from './log/until.js'
import {
  BucketError,
  bucketAddress,
  bucketKey,
  Log,
  type ObjectStore,
  openCredentials,
  probe,
  Reachability,
  type Repeating,
  type SourceSetup,
  s3Store,
  sealedStore,
  UnfitStoreError,
} from './object-store/index.js'

/** Milliseconds between two log lines about an unreachable bucket. */
const AWAY_LOG_MS = 30_000

/** A bucket, and the log in it. */
export interface OpenedBucket {
  readonly store: ObjectStore
  readonly log: Log
  readonly repeating: Repeating
  /** Tracks whether the bucket answers. */
  readonly reachability: Reachability
  /** Probes the store, unless it was found fit before. Calls at the same time share a probe. @throws UnfitStoreError, BucketError */
  requireFit(signal: AbortSignal): Promise<void>
  /** Sets the handler of failed calls; null: they are logged, at most one per `AWAY_LOG_MS`. */
  onFailure(failed: ((error: BucketError) => void) | null): void
}

/** Content of a bucket. */
export interface Origin {
  readonly instanceUid: string
  /** True if a checkpoint exists. Without one the log cannot be restored. */
  readonly hasCheckpoint: boolean
}

interface BucketRequest extends SourceSetup {
  readonly options: LaunchOptions & { readonly bucket: string }
  readonly log: Logger
}

/** @throws LaunchError if address or credentials cannot be used */
export function openBucket({ options, outbound, log, env, readText }: BucketRequest): OpenedBucket {
  const region = options.bucketRegion ?? env.AWS_REGION ?? null
  const address = bucketAddress(options.bucket, options.bucketEndpoint, region)
  const credentials = openCredentials({ env, readText, outbound })
  const reachability = new Reachability()
  const plain = reachability.noting(s3Store({ address, credentials, outbound }))
  const { bucketKeyFile } = options
  const store = bucketKeyFile === null ? plain : sealedStore(plain, bucketKey(bucketKeyFile, bytesIn))
  let loggedAt = Number.NEGATIVE_INFINITY
  const logFailure = (error: BucketError): void => {
    if (performance.now() - loggedAt < AWAY_LOG_MS) return
    loggedAt = performance.now()
    log.warn({ err: error }, 'the bucket does not answer; the call is retried')
  }
  let failed = logFailure
  const repeating: Repeating = {
    wait: (ms, stop) => sleep(ms, undefined, { signal: stop }),
    onRetry: (error) => failed(error),
  }
  let isFit = false
  let probing: Promise<void> | null = null
  return {
    async requireFit(signal) {
      while (!isFit) {
        if (probing !== null) {
          // If the other call was aborted, this one probes itself.
          await probing.catch(() => undefined)
          continue
        }
        probing = probe(store, repeating, signal)
        try {
          await probing
          isFit = true
        } finally {
          probing = null
        }
      }
    },
    store,
    log: new Log({ store, ...repeating }),
    repeating,
    reachability,
    onFailure: (next) => {
      failed = next ?? logFailure
    },
  }
}

/** @returns null if the file does not exist */
function bytesIn(path: string): Buffer | null {
  try {
    return readFileSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new LaunchError(`--bucket-key-file: ${path} cannot be read: ${code}`, 2)
  }
}

/** Returns null if the bucket is empty. @throws LaunchError if the bucket is damaged or refuses */
export async function originOf({ log }: OpenedBucket, signal: AbortSignal): Promise<Origin | null> {
  const newest = await log.newestCheckpoint(signal).catch((error: unknown) => {
    throw asLaunchError(error)
  })
  const record = await log.read(newest ?? 0, signal)
  return record && { instanceUid: record.instanceUid, hasCheckpoint: newest !== null }
}

/** Converts errors of the bucket to a `LaunchError`. Returns other errors unchanged. */
export function asLaunchError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const isOfBucket =
    error instanceof UnfitStoreError ||
    error instanceof BucketError ||
    error instanceof MomentGoneError ||
    error instanceof NewerFormatError ||
    error.name.startsWith('Damaged')
  if (!isOfBucket) return error
  return new LaunchError(`--bucket: ${error.message}`, 1, { cause: error })
}
