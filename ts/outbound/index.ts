/** Here is a request to somewhere else, may it go there, and what came back? */
export { AddressRefusedError, type AllowedNetworks, addressPolicy, type Resolve } from './addresses.js'
export {
  type Backoff,
  isTransientStatus,
  pauseMs,
  type RetryPolicy,
  retryAfterMs,
  retrying,
  type Wait,
} from './backoff.js'
export * from './client.js'
export { readAnswer } from './json.js'
