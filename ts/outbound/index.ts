/** Here is a request to another host: is its address allowed, and what is the answer? */
export { AddressRefusedError, type AllowedNetworks, addressPolicy, type Resolve } from './addresses.js'
export {
  type Backoff,
  isTransientStatus,
  pauseMs,
  type RetryPolicy,
  retryAfterMs,
  retrying,
  type Wait,
  waitOnTimer,
} from './backoff.js'
export * from './client.js'
export { readAnswer } from './json.js'
