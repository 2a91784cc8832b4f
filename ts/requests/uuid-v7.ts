import { randomUUID } from 'node:crypto'

/** A UUID of version 7: 48 bits of milliseconds, the rest random. Source: RFC 9562 §5.7. */
export function uuidV7(): string {
  // The platform keeps random bytes in store for UUIDs; only the front of one has to change.
  const millis = Date.now().toString(16).padStart(12, '0')
  return `${millis.slice(0, 8)}-${millis.slice(8)}-7${randomUUID().slice(15)}`
}
