import { PositionWatch, type Replicated } from '../../ts/replication/index.js'

const refuse = (): never => {
  throw new Error('this server calls no others')
}

/** The parts of a replicated server that calls no other servers. */
export const alone: Pick<
  Replicated,
  | 'catchesUp'
  | 'handOver'
  | 'isCutOff'
  | 'isStrong'
  | 'leader'
  | 'nudge'
  | 'peers'
  | 'pollHeader'
  | 'settles'
  | 'watch'
> = {
  catchesUp: async () => true,
  handOver: async () => null,
  isCutOff: () => false,
  isStrong: false,
  leader: async () => 'self',
  nudge: () => undefined,
  settles: async () => true,
  watch: new PositionWatch(),
  peers: { call: async () => refuse(), pass: async () => refuse() },
  pollHeader: 'x-siftd-poll',
}
