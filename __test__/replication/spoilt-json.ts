/** Objects of a log with invalid JSON and valid checksums. */
import { crc32 } from 'node:zlib'
import { decodeRecord, encodeRecord, type LogRecord } from '../../ts/replication/index.js'

/** The invalid part: rows or body of changes, a fence, the head of a record, or a checkpoint. */
export type Spoilt = 'rows' | 'body' | 'fence' | 'head' | 'base'

/** Returns the invalid value for valid JSON. A text is used as the JSON itself. */
type Spoil = (json: Json) => unknown

// biome-ignore lint/suspicious/noExplicitAny: the cases build values that no type allows
type Json = any

export interface SpoiltCase {
  readonly of: Spoilt
  readonly what: string
  readonly spoil: Spoil
  /** Expected message, in addition to the number of the record. */
  readonly told: RegExp
}

const cases = (of: Spoilt, rows: readonly (readonly [string, Spoil, RegExp])[]): readonly SpoiltCase[] =>
  rows.map(([what, spoil, told]) => ({ of, what, spoil, told }))

const firstOf = (json: Json): Json => Object.values(json)[0]

/** The first part of a file in a body or checkpoint. */
const partOf = (json: Json): Json =>
  'changed' in firstOf(json.files)
    ? firstOf(json.files).changed.find(({ parts }: Json) => parts.length > 0).parts[0]
    : (Object.values(firstOf(json.files)) as Json[]).find((parts) => parts.length > 0)[0]

const edited =
  (edit: (json: Json) => void): Spoil =>
  (json) => {
    edit(json)
    return json
  }

const anywhere: readonly (readonly [string, Spoil, RegExp])[] = [
  ['no JSON', () => '{', /is no JSON/],
  ['no text at all', () => '', /is no JSON/],
  ['null', () => null, /is not an object/],
  ['a list', () => '[]', /is not an object/],
  ['a number', () => 7, /is not an object/],
]

const polluting = (json: Json): string => `{"__proto__":{"polluted":true},${JSON.stringify(json).slice(1)}`

const ofParts = [
  [
    'a part that is null',
    edited((json) => Object.assign(firstParts(json), [null])),
    /\[0\] is not an object/,
  ],
  [
    'a part before its file',
    edited((json) => Object.assign(partOf(json), { from: -1 })),
    /from is not a count/,
  ],
  [
    'a part without a place',
    edited((json) => Object.assign(partOf(json), { location: {} })),
    /location(\.key)? is /,
  ],
  ['a part at a number', edited((json) => Object.assign(partOf(json), { location: { key: 1 } })), /location/],
  [
    'a part of 1 TB',
    edited((json) => Object.assign(partOf(json), { bytes: 2 ** 40 })),
    /bytes is not an int/,
  ],
  ['a part of a text', edited((json) => Object.assign(partOf(json), { bytes: '9' })), /bytes is not an int/],
  ['a checksum of a text', edited((json) => Object.assign(partOf(json), { crc: 'x' })), /crc is not an int/],
  ['no checksum', edited((json) => delete partOf(json).crc), /crc is missing/],
  ['files that are null', edited((json) => Object.assign(json, { files: null })), /files is not an object/],
  ['files that are a list', edited((json) => Object.assign(json, { files: [[]] })), /files is not an object/],
  [
    'files of an index above its directory',
    edited((json) => Object.assign(json, { files: { '../../x': firstOf(json.files) } })),
    /files\["\.\.\/\.\.\/x"\] is not the id of an index/,
  ],
] as const

function firstParts(json: Json): Json {
  const of = firstOf(json.files)
  return 'changed' in of ? of.changed[0].parts : Object.values(of)[0]
}

const withFile = (file: object) => edited((json) => Object.assign(firstOf(json.files).changed[0], file))

export const spoiltCases: readonly SpoiltCase[] = [
  ...cases('body', [
    ...anywhere,
    ...ofParts,
    ['no outbox', edited((json) => delete json.outbox), /outbox is missing/],
    ['an outbox of a number', edited((json) => Object.assign(json, { outbox: 1 })), /outbox is not a text/],
    ['a last of a text', edited((json) => Object.assign(json, { last: '1' })), /last is not a count/],
    ['half a transaction', edited((json) => Object.assign(json, { last: 1.5 })), /last is not a count/],
    ['too high a number', edited((json) => Object.assign(json, { last: 1e300 })), /last is not a count/],
    ['a schema of a text', edited((json) => Object.assign(json, { schema: 'x' })), /schema is not a count/],
    ['open by a number', edited((json) => Object.assign(json, { isOpen: 1 })), /isOpen is not a boolean/],
    ['adopted by null', edited((json) => Object.assign(json, { adopted: null })), /adopted is not a list/],
    [
      'adopted numbers',
      edited((json) => Object.assign(json, { adopted: [1] })),
      /adopted\[0\] is not a list/,
    ],
    [
      'an adopted index above its directory',
      edited((json) => Object.assign(json, { adopted: [['a', '../../x']] })),
      /adopted\[0\]\[1\] is not the id of an index/,
    ],
    [
      'an index of null',
      edited((json) => Object.assign(json.files, { [Object.keys(json.files)[0]!]: null })),
      /\] is not an object/,
    ],
    [
      'changed of null',
      edited((json) => Object.assign(firstOf(json.files), { changed: null })),
      /changed is not a list/,
    ],
    [
      'changed numbers',
      edited((json) => Object.assign(firstOf(json.files), { changed: [1] })),
      /changed\[0\] is not an object/,
    ],
    [
      'gone numbers',
      edited((json) => Object.assign(firstOf(json.files), { gone: [1] })),
      /gone\[0\] is not the name/,
    ],
    [
      'gone of null',
      edited((json) => Object.assign(firstOf(json.files), { gone: null })),
      /gone is not a list/,
    ],
    [
      'a gone file elsewhere',
      edited((json) => Object.assign(firstOf(json.files), { gone: ['../x'] })),
      /gone\[0\] is not the name/,
    ],
    ['a file elsewhere', withFile({ name: '../../x' }), /name is not the name of a file/],
    ['a file named by a number', withFile({ name: 3 }), /name is not the name of a file/],
    ['parts of null', withFile({ parts: null }), /parts is not a list/],
    ['parts of an object', withFile({ parts: { length: 1 } }), /parts is not a list/],
    ['whole by a text', withFile({ isWhole: 'yes' }), /isWhole is not a boolean/],
    [
      'an index named as a prototype',
      (json) => ({ ...json, files: JSON.parse('{"__proto__":{"changed":[],"gone":[]}}') as unknown }),
      /__proto__"\] is not the id of an index/,
    ],
  ]),
  ...cases('rows', [
    ...anywhere.filter(([what]) => what !== 'no text at all'),
    ['an unknown table', () => ({ sqlite_schema: { rows: [], gone: [] } }), /sqlite_schema"\] is not known/],
    ['a table named as a prototype', polluting, /__proto__"\] is not known/],
    ['a table of null', (json) => ({ ...json, tasks: null }), /tasks is not an object/],
    ['rows of null', (json) => ({ ...json, tasks: { rows: null, gone: [] } }), /rows is not a list/],
    ['a row of null', (json) => ({ ...json, tasks: { rows: [null], gone: [] } }), /rows\[0\] is not a list/],
    [
      'a short row',
      (json) => ({ ...json, tasks: { rows: [[1]], gone: [] } }),
      /rows\[0\] is not a list with/,
    ],
    ['no gone rows', (json) => ({ ...json, tasks: { rows: [] } }), /gone is missing/],
    ['gone numbers', (json) => ({ ...json, tasks: { rows: [], gone: [1] } }), /gone\[0\] is not a list/],
    [
      'a gone object',
      (json) => ({ ...json, tasks: { rows: [], gone: [[{}]] } }),
      /gone\[0\]\[0\] is not a text/,
    ],
    [
      'a cell of an object',
      (json) => ({ ...json, keys: { rows: [['a', {}, 1]], gone: [] } }),
      /rows\[0\]\[1\] is not a text, a number or null/,
    ],
    [
      'a row without a key',
      (json) => ({ ...json, keys: { rows: [[null, '', 1]], gone: [] } }),
      /rows\[0\]\[0\] is not/,
    ],
    [
      'an index above its directory',
      (json) => ({ ...json, catalogue: { rows: [['a', '../../x', null, 1, 1, 1]], gone: [] } }),
      /rows\[0\]\[1\] is not the id of an index/,
    ],
  ]),
  ...cases('fence', [
    ...anywhere,
    ['an unknown engine', () => ({ engine: 'steam', version: '1' }), /engine is not one of native, fallback/],
    ['no engine', () => ({ version: '1' }), /engine is missing/],
    ['a version of a number', () => ({ engine: 'fallback', version: 1 }), /version is not a text/],
    [
      'an engine by its prototype',
      () => '{"__proto__":{"engine":"native","version":"1"}}',
      /engine is missing/,
    ],
  ]),
  ...cases('head', [
    ...anywhere,
    ['an unknown kind', (json) => ({ ...json, kind: 'x' }), /kind is not one of fence, changes/],
    ['an epoch of a text', (json) => ({ ...json, epoch: '1' }), /epoch is not a count/],
    ['no writer', edited((json) => delete json.writer), /writer is missing/],
    ['an address of a number', (json) => ({ ...json, address: 1 }), /address is not a text/],
    ['no date', (json) => ({ ...json, writtenAt: null }), /writtenAt is not a count/],
    ['an instance of a list', (json) => ({ ...json, instanceUid: [] }), /instanceUid is not a text/],
  ]),
  ...cases('base', [
    ...anywhere,
    ...ofParts,
    ['another log record', (json) => ({ ...json, seq: json.seq + 1 }), /it is that of log record \d/],
    ['no image', edited((json) => delete json.image), /image is missing/],
    ['an image without parts', edited((json) => delete json.image.parts), /image\.parts is missing/],
    [
      'an image of numbers',
      edited((json) => Object.assign(json.image, { parts: [1] })),
      /parts\[0\] is not an object/,
    ],
    [
      'an image of 1 TB',
      edited((json) => Object.assign(json.image.parts[0], { bytes: 2 ** 40 })),
      /bytes is not an int/,
    ],
    [
      'an image that reached null',
      edited((json) => Object.assign(json.image, { reached: null })),
      /reached is not an object/,
    ],
    ['reached by a text', (json) => ({ ...json, reached: 'x' }), /reached is not an object/],
    ['ids of null', (json) => ({ ...json, ids: null }), /ids is not a list/],
    ['ids of texts', (json) => ({ ...json, ids: ['a'] }), /ids\[0\] is not a list/],
    [
      'an id above its directory',
      (json) => ({ ...json, ids: [['a', '../../x']] }),
      /ids\[0\]\[1\] is not the id/,
    ],
    ['a fence of null', (json) => ({ ...json, fence: null }), /fence is not an object/],
    ['a fence without a writer', edited((json) => delete json.fence.writer), /fence\.writer is missing/],
    [
      'a part in a log record',
      edited((json) => Object.assign(partOf(json), { location: { seq: 1, offset: 0 } })),
      /location\.key is missing/,
    ],
    [
      'an index named as a prototype',
      (json) => ({ ...json, files: JSON.parse('{"__proto__":{"polluted":[]}}') as unknown }),
      /__proto__"\] is not the id of an index/,
    ],
  ]),
]

const textOf = (spoilt: unknown): Buffer =>
  Buffer.from(typeof spoilt === 'string' ? spoilt : JSON.stringify(spoilt))

/** Makes a valid object invalid. */
export function spoiltObject({ of, spoil }: Pick<SpoiltCase, 'of' | 'spoil'>, bytes: Buffer): Buffer {
  if (of === 'base') {
    const content = Buffer.concat([
      bytes.subarray(0, 5),
      textOf(spoil(JSON.parse(bytes.toString('utf8', 5, bytes.length - 4)))),
    ])
    return summed(content)
  }
  if (of === 'head') {
    const end = 9 + bytes.readUInt32LE(5)
    const head = textOf(spoil(JSON.parse(bytes.toString('utf8', 9, end))))
    const length = Buffer.alloc(4)
    length.writeUInt32LE(head.length)
    return summed(Buffer.concat([bytes.subarray(0, 5), length, head, bytes.subarray(end, -4)]))
  }
  const record = decodeRecord(bytes)
  return encodeRecord({
    ...record,
    body:
      of === 'fence'
        ? textOf(spoil(JSON.parse(String(Buffer.from(record.body)))))
        : bodyOf(record, of, spoil),
  })
}

function bodyOf({ body }: LogRecord, of: 'rows' | 'body', spoil: Spoil): Buffer {
  const buffer = Buffer.from(body)
  const middle = 8 + buffer.readUInt32LE(0)
  const end = middle + buffer.readUInt32LE(4)
  const given = [buffer.subarray(8, middle), buffer.subarray(middle, end)] as const
  const spoilt = (text: Buffer): Buffer => textOf(spoil(JSON.parse(text.toString())))
  const texts = of === 'rows' ? [spoilt(given[0]), given[1]] : [given[0], spoilt(given[1])]
  const head = Buffer.alloc(8)
  for (const [number, { length }] of texts.entries()) head.writeUInt32LE(length, 4 * number)
  return Buffer.concat([head, ...texts, buffer.subarray(end)])
}

function summed(content: Buffer): Buffer {
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE(crc32(content))
  return Buffer.concat([content, sum])
}
