/** An idle leader overwrites a counter in the bucket. Any new log record is a sign of life too. */
import { type ObjectStore, type Repeating, repeated } from '../object-store/index.js'
import { SIGN_BYTES_MAX } from './limits.js'

type Place = { readonly store: Pick<ObjectStore, 'get' | 'put'>; readonly repeating: Repeating }

const keyOf = (epoch: number): string => `heartbeat/${String(epoch).padStart(20, '0')}`

/** @throws BucketError */
export const beat = (
  { store, repeating }: Place,
  epoch: number,
  count: number,
  signal: AbortSignal,
): Promise<void> =>
  repeated(repeating, signal, () => store.put(keyOf(epoch), Buffer.from(String(count)), signal))

/** Returns the last heartbeat of an epoch; empty: none. @throws BucketError */
export const heartbeatOf = async (
  { store, repeating }: Place,
  epoch: number,
  signal: AbortSignal,
): Promise<string> => {
  const bytes = await repeated(repeating, signal, () =>
    store.get(keyOf(epoch), { bytesMax: SIGN_BYTES_MAX, signal }),
  )
  return bytes?.toString('latin1') ?? ''
}
