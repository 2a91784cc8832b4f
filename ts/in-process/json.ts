export const jsonBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

/** Parses an answer of the engine. */
export const parsed = (body: Uint8Array): unknown => JSON.parse(Buffer.from(body).toString())
