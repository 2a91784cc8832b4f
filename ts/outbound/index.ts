/** Makes HTTP requests to other hosts, if their addresses are allowed. */
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
export { certificateFault, trusting } from './certificate.js'
export * from './client.js'
export { readAnswer } from './json.js'
