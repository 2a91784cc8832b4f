import type { Engine } from '../../engine/index.js'
import { shapes } from '../../parse/index.js'
import type { LogRecord } from '../object-store/index.js'
import { DamagedBodyError } from './body.js'

/** The body of a fence: facts about the writer that starts with it. */
export interface About {
  /** The engine that writes the index files. No other engine can read them. */
  readonly engine: Engine['kind']
  /** Version of the program, for display. */
  readonly version: string
  /** True if the writer sends heartbeats while it is idle. Absent: it sends none. */
  readonly heartbeats?: boolean
}

/** A decoded fence. */
export interface Fence extends About {
  readonly seq: number
  readonly writer: string
  readonly address: string | null
}

const engines = shapes.oneOf('native', 'fallback')

const shape = shapes.object({ engine: engines, version: shapes.text }, { heartbeats: shapes.flag })

export const fenceShape = shapes.object(
  {
    seq: shapes.integer(),
    writer: shapes.text,
    address: shapes.orNull(shapes.text),
    engine: engines,
    version: shapes.text,
  },
  { heartbeats: shapes.flag },
)

export const encodeAbout = (about: About): Buffer => Buffer.from(JSON.stringify(about))

/** @throws DamagedBodyError */
export function fenceOf(seq: number, { body, writer, address }: LogRecord): Fence {
  const damaged = (message: string) => new DamagedBodyError(message)
  const json = Buffer.from(body).toString()
  const { engine, version, heartbeats } = shapes.readShape<About>(
    json,
    `log record ${seq}, a fence`,
    shape,
    damaged,
  )
  return { seq, writer, address, engine, version, ...(heartbeats !== undefined && { heartbeats }) }
}
