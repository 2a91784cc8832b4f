import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
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
  s3Store,
  sealedStore,
  UnfitStoreError,
} from '../../bucket/index.js'
import { LaunchError, type LaunchOptions } from '../../launch/index.js'
import type { Outbound } from '../../outbound/index.js'
import { MomentGoneError } from '../../replication/index.js'
import type { Logger } from '../../telemetry/index.js'
import { textOf } from '../text-of.js'

/** Milliseconds between two lines of the log about a bucket that does not answer. */
const TOLD_MS = 30_000

/** A bucket, and the log in it. */
export interface OpenedBucket {
  readonly store: ObjectStore
  readonly log: Log
  readonly repeating: Repeating
  /** Tells whether the bucket answers. */
  readonly reachability: Reachability
  /** Probes the store once. @throws UnfitStoreError, BucketError */
  requireFit(signal: AbortSignal): Promise<void>
  /** Has failures of calls told from now on; null: they are logged, one in `TOLD_MS`. */
  onFailure(failed: ((error: BucketError) => void) | null): void
}

/** What a bucket holds. */
export interface Origin {
  readonly instanceUid: string
  /** Whether there is a base. Without one nothing can be made from the log. */
  readonly hasBase: boolean
}

/** @throws LaunchError if address or credentials cannot be used */
export function openBucket(
  options: LaunchOptions & { readonly bucket: string },
  outbound: Outbound,
  log: Logger,
): OpenedBucket {
  const region = options.bucketRegion ?? process.env.AWS_REGION ?? null
  const address = bucketAddress(options.bucket, options.bucketEndpoint, region)
  const credentials = openCredentials({ env: process.env, readText: textOf, outbound })
  const reachability = new Reachability()
  const plain = reachability.noting(s3Store({ address, credentials, outbound }))
  const { bucketKeyFile } = options
  const store = bucketKeyFile === null ? plain : sealedStore(plain, bucketKey(bucketKeyFile, bytesIn))
  let toldAt = Number.NEGATIVE_INFINITY
  const tell = (error: BucketError): void => {
    if (performance.now() - toldAt < TOLD_MS) return
    toldAt = performance.now()
    log.warn({ err: error }, 'the bucket does not answer; it is asked again')
  }
  let failed = tell
  const repeating: Repeating = {
    wait: (ms, stop) => sleep(ms, undefined, { signal: stop }),
    onRetry: (error) => failed(error),
  }
  let isFit = false
  return {
    async requireFit(signal) {
      if (!isFit) await probe(store, repeating, signal)
      isFit = true
    },
    store,
    log: new Log({ store, ...repeating }),
    repeating,
    reachability,
    onFailure: (next) => {
      failed = next ?? tell
    },
  }
}

/** @returns null if there is no such file */
function bytesIn(path: string): Buffer | null {
  try {
    return readFileSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new LaunchError(`--bucket-key-file: ${path} cannot be read: ${code}`, 2)
  }
}

/** null: the bucket is empty. @throws LaunchError if it is damaged or refuses */
export async function originOf({ log }: OpenedBucket, signal: AbortSignal): Promise<Origin | null> {
  const newest = await log.newestBase(signal).catch((error: unknown) => {
    throw asLaunchError(error)
  })
  const entry = await log.read(newest ?? 0, signal)
  return entry && { instanceUid: entry.instanceUid, hasBase: newest !== null }
}

/** A fault of the bucket as a `LaunchError`, any other error as it is. */
export function asLaunchError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const isOfBucket =
    error instanceof UnfitStoreError ||
    error instanceof BucketError ||
    error instanceof MomentGoneError ||
    error.name.startsWith('Damaged')
  if (!isOfBucket) return error
  return new LaunchError(`--bucket: ${error.message}`, 1, { cause: error })
}
