/** The checks of the protocol: models with bounds, and models that lack a precaution. */

/** A constant of a module. */
type Value = string | number | boolean

export interface Check {
  readonly name: string
  /** Name of the module. Its configuration has all constants and properties. */
  readonly module: string
  /** Constants that differ from the configuration. */
  readonly constants: Readonly<Record<string, Value>>
  /** A line that is added to the configuration. */
  readonly line?: string
}

/** A precaution that is switched off, and the bounds in which a property fails then. */
interface Precaution extends Check {
  /** The precaution in words, for the report. */
  readonly rule: string
  /** The property that fails without it. */
  readonly property: string
}

const one = { MaxSlot: 4, MaxWrites: 1, MaxLost: 0, MaxRestarts: 0 }

const objects = { Contents: '{"object", "rows"}' }

/** Models that must have no violation. */
export const models: readonly Check[] = [
  { name: 'two servers, lost answers', module: 'Log', constants: { ...one, MaxLost: 1 } },
  { name: 'two servers, one restart each', module: 'Log', constants: { ...one, MaxRestarts: 1 } },
  {
    name: 'two servers, handovers',
    module: 'Log',
    constants: { ...one, Handovers: true },
  },
  {
    name: 'two servers, two checkpoints',
    module: 'Files',
    constants: { MaxRecords: 4, MaxCheckpoints: 2, MaxSweeps: 1 },
  },
  {
    name: 'one server, three checkpoints',
    module: 'Files',
    constants: { Servers: '{1}', MaxRecords: 5, MaxCheckpoints: 3, MaxSweeps: 2, ...objects },
  },
  { name: 'two servers, two reads', module: 'Reads', constants: { MaxRecords: 4, MaxWrites: 1 } },
  {
    name: 'a patient follower leads',
    module: 'Reads',
    constants: { Patient: '{2}', MaxReads: 0 },
    line: 'PROPERTY PatientLeads',
  },
]

/** The same with wider bounds, which take hours. */
export const widerModels: readonly Check[] = [
  { name: 'two servers, more writes', module: 'Log', constants: { ...one, MaxWrites: 2, MaxLost: 1 } },
  {
    name: 'two servers, handovers and more writes',
    module: 'Log',
    constants: { ...one, MaxWrites: 2, Handovers: true, EmptyRecords: true },
  },
  {
    name: 'two servers, all together',
    module: 'Log',
    constants: { MaxSlot: 5, MaxWrites: 2, MaxLost: 1, MaxRestarts: 1, Handovers: true, EmptyRecords: true },
  },
  {
    name: 'three servers',
    module: 'Log',
    constants: { ...one, Servers: '{1, 2, 3}', MaxWrites: 2, MaxRestarts: 1 },
  },
  { name: 'two servers, three checkpoints', module: 'Files', constants: {} },
  { name: 'two servers, four reads', module: 'Reads', constants: { MaxReads: 4 } },
  { name: 'three servers', module: 'Reads', constants: { Servers: '{1, 2, 3}' } },
]

type Constants = Readonly<Record<string, Value>>

/** @param bounds of all of them */
const without =
  (module: string, bounds: Constants) =>
  (name: string, rule: string, property: string, constants: Constants = {}): Precaution => ({
    ...{ name, rule, property, module },
    constants: { ...bounds, ...constants, [name]: false },
  })

const log = without('Log', one)
const files = without('Files', {
  Servers: '{1}',
  MaxRecords: 3,
  MaxObjects: 1,
  MaxCheckpoints: 1,
  MaxSweeps: 0,
  ...objects,
})
const reads = without('Reads', { MaxRecords: 4, MaxWrites: 1, MaxReads: 1 })

export const precautions: readonly Precaution[] = [
  log('AtomicCreate', 'the store creates an object only if it does not exist', 'NothingLost'),
  log('WriteIds', 'a server tells its own record from another by its id', 'NothingLost'),
  log('KeepFences', 'fences are never garbage', 'NothingLost'),
  log('CheckCheckpoint', 'after its fence, a server checks that no checkpoint covers it', 'OneLeader', {
    MaxWrites: 2,
  }),
  log('CheckFences', 'a reader checks the same of each fence', 'LeaderHasAll', { MaxRestarts: 1 }),
  log('ReadToEnd', 'a candidate has applied all records', 'LeaderHasAll'),
  log('StopWhenFenced', 'a server appends nothing behind the record of another', 'OneLeader'),
  log('NoticeTakeover', 'a restarted leader does not lead if another has since', 'LeaderHasAll', {
    MaxRestarts: 1,
  }),
  log('AckAfterAppend', 'a client is answered once the record is in the log', 'NothingLost'),
  log('AckAfterCheckpoint', 'no client is answered before the first checkpoint', 'NothingLost'),
  log('ImageInLog', 'a checkpoint waits until the log has what its image has', 'NothingInvented'),
  log('KeepOutbox', 'a write leaves the outbox once the log has it', 'NothingForgotten', { MaxRestarts: 1 }),
  log('RefuseInHandover', 'no write is taken during a handover', 'HandoverKeepsAll', { Handovers: true }),
  log('DrainBeforeHandover', 'the successor is named when everything is sent', 'HandoverKeepsAll', {
    Handovers: true,
  }),
  files('UploadFirst', 'an object is uploaded before its record is created', 'LeaderFindsFile'),
  files('ImageFirst', 'an image is uploaded before its checkpoint is created', 'CheckpointsComplete'),
  files('KeepSecondNewest', 'records behind the second newest checkpoint are kept', 'MomentsComplete', {
    ...{ MaxRecords: 5, MaxObjects: 0, MaxCheckpoints: 2, MaxSweeps: 1 },
  }),
  files('MarkBefore', 'a deleted object was unused before the second newest checkpoint', 'MomentsComplete', {
    ...{ MaxRecords: 6, MaxObjects: 2, MaxCheckpoints: 2, MaxSweeps: 1 },
  }),
  files(
    'AppendAfterNewest',
    'a record of the leader follows the newest checkpoint before a delete',
    'LeaderFindsFile',
    {
      ...{ Servers: '{1, 2}', MaxRecords: 4, MaxObjects: 0, MaxCheckpoints: 3, MaxSweeps: 1 },
      Contents: '{"inline", "rows"}',
    },
  ),
  {
    ...files(
      'ReadAfterFence',
      'a new leader reads the newest checkpoint after its fence',
      'LeaderFindsFile',
      {
        ...{ Servers: '{1, 2}', MaxRecords: 5, MaxObjects: 0, MaxCheckpoints: 3, MaxSweeps: 1 },
        Contents: '{"inline", "rows"}',
      },
    ),
    line: 'ACTION_CONSTRAINT Calm',
  },
  {
    ...files('KeepAhead', 'objects uploaded ahead of their record are in use', 'MomentsComplete', {
      ...{ MaxRecords: 7, MaxCheckpoints: 4, MaxSweeps: 2 },
    }),
    line: 'ACTION_CONSTRAINT Calm',
  },
  reads('PositionsHaveFence', 'a position has the epoch of its write', 'PositionsHonest', { MaxWrites: 2 }),
  reads('CompareOutbox', 'the fence of a restart does not mean that writes are lost', 'PositionsHonest'),
  reads('PollAfterRequest', 'a strong read waits for a poll that began after it', 'StrongReadsComplete', {
    MaxRecords: 3,
  }),
  reads('LeaderLooks', 'a leader reads its next slot before it answers a strong read', 'StrongReadsComplete'),
  reads('LeaderSends', 'a leader sends what a strong read shows before it answers', 'StrongReadsComplete', {
    MaxReads: 2,
  }),
  reads('AckInLog', 'a client is answered once the log has its write', 'AckedInLog', { MaxReads: 0 }),
]

/** Returns the configuration of a check. @param text the configuration of its module */
export const configOf = (text: string, { constants, line = '' }: Check): string =>
  `${configured(text, constants)}${line}\n`

/** Sets constants in a configuration. */
export function configured(text: string, constants: Readonly<Record<string, Value>>): string {
  let result = text
  for (const [name, value] of Object.entries(constants)) {
    const line = new RegExp(`^  ${name} = .*$`, 'm')
    if (!line.test(result)) throw new Error(`the configuration has no constant ${name}`)
    result = result.replace(
      line,
      `  ${name} = ${String(value).replace(/^(true|false)$/, (text) => text.toUpperCase())}`,
    )
  }
  return result
}
