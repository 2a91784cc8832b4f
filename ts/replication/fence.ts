import type { Entry } from '../bucket/index.js'
import type { Engine } from '../engine/index.js'
import { DamagedBodyError } from './body.js'

/** What a fence says of the writer that begins with it, beside what every entry says. */
export interface About {
  /** The engine that writes the files of the indexes. No other one can read them. */
  readonly engine: Engine['kind']
  /** Version of the program, for people. */
  readonly version: string
}

/** A fence that was read. */
export interface Fence extends About {
  readonly seq: number
  readonly writer: string
  readonly address: string | null
}

export const encodeAbout = (about: About): Buffer => Buffer.from(JSON.stringify(about))

/** @throws DamagedBodyError */
export function fenceOf(seq: number, { body, writer, address }: Entry): Fence {
  try {
    const { engine, version } = JSON.parse(Buffer.from(body).toString()) as About
    if (engine === 'native' || engine === 'fallback') return { seq, writer, address, engine, version }
  } catch {
    // Text that is no JSON is told of like JSON that names no engine.
  }
  throw new DamagedBodyError(`entry ${seq}, a fence, does not tell which engine writes`)
}
