/** Generates values for a JSON Schema: valid, nearly valid, and invalid in ways that break servers. */
import fc from 'fast-check'
import { indexes } from './clients.js'
import { providerPaths } from './provider.js'
import type { Piece } from './request.js'

/** Part of a JSON text without a JavaScript value: a number beyond doubles, a huge array, invalid UTF-8. */
export class Raw {
  constructor(readonly pieces: readonly Piece[]) {}
}

/** An object with ordered keys, which may repeat. */
export class Entries {
  constructor(readonly entries: readonly (readonly [string, Value])[]) {}
}

export type Value = null | boolean | number | string | readonly Value[] | Raw | Entries

export interface JsonSchema {
  readonly [keyword: string]: unknown
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly (string | null)[]
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema
  readonly required?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
}
export type Schemas = Readonly<Record<string, JsonSchema>>

/** Maximum depth to which schemas are followed. */
const DEPTH_MAX = 6

/** Names with a special meaning in JavaScript or the API. */
const oddNames = [
  ...['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', 'valueOf', 'then', 'length'],
  ...[
    '',
    ' ',
    '.',
    '..',
    'a.b',
    'a[0]',
    '*',
    'a*b*c',
    '_geo',
    '_vectors',
    '_geojson',
    '_geoPoint(1,2)',
    'id',
    '-1',
    '$&',
  ],
]

const oddTexts = [
  ...[
    '',
    ' ',
    '*',
    '-',
    '"',
    '""',
    '"a',
    'a "b',
    '\\',
    "'",
    '\u0000',
    '\u0001',
    'a\u0000b',
    '\r\n',
    '\ufeff',
    '\u202eabc',
  ],
  ...[
    'e\u0301\u0301\u0301',
    'ﷺ',
    '👩‍👩‍👧‍👦',
    '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
    'İ',
    'ß',
    'ﬃ',
    'สวัสดี',
    '東京都',
    'مرحبا',
    'שלום',
    '한국어',
    '\u{10ffff}',
    '\u2028',
  ],
  ...[
    'NaN',
    'Infinity',
    '-0',
    '1e400',
    '0x10',
    'true',
    'null',
    '[]',
    '{}',
    '{{',
    '{{doc}}',
    '{% for',
    '$a',
    '%',
    '%00',
    '%s',
  ],
  ...[
    '../../etc/passwd',
    'a\nb',
    '<script>',
    '(((((',
    'a'.repeat(300),
    'é'.repeat(600),
    `${'ab '.repeat(200)}`,
  ],
]

const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...oddTexts) },
  { weight: 1, arbitrary: fc.constantFrom(...oddNames) },
  { weight: 2, arbitrary: fc.string({ maxLength: 12, unit: 'grapheme' }) },
  { weight: 1, arbitrary: fc.string({ maxLength: 40, unit: 'binary' }) },
)

const raw = (...pieces: readonly Piece[]): Raw => new Raw(pieces)

const numbers: fc.Arbitrary<Value> = fc.oneof(
  fc.constantFrom(
    0,
    1,
    -1,
    2,
    20,
    255,
    256,
    1000,
    65_536,
    4_294_967_295,
    4_294_967_296,
    1.5,
    -0.5,
    0.999_999,
    1e300,
    5e-324,
  ),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc
    .constantFrom(
      ...[
        '1e400',
        '-1e400',
        '-0',
        '-0.0',
        '1E5',
        '9007199254740993',
        '18446744073709551615',
        '18446744073709551616',
      ],
      ...[
        `${'9'.repeat(400)}`,
        `0.${'1'.repeat(400)}`,
        '1e-400',
        '01',
        '+1',
        '.5',
        'NaN',
        'Infinity',
        '0x1F',
      ],
    )
    .map((digits) => raw(digits)),
)

/** Values that are wrong for every schema. */
const odd: fc.Arbitrary<Value> = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom<Value>(null, true, false, [], new Entries([])) },
  { weight: 3, arbitrary: text },
  { weight: 2, arbitrary: numbers },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Value>(
      ...[
        raw('"\\ud800"'),
        raw('"\\udc00\\ud800"'),
        raw('"', { hex: 'ff', times: 1 }, '"'),
        raw('"\\u0000"'),
      ],
      ...[
        raw('"a'),
        raw('tru'),
        raw('[1,]'),
        raw('{"a":1,"a":2}'),
        raw('{a:1}'),
        raw("'a'"),
        raw(''),
        raw('1 2'),
      ],
      ...([[[]], [[[null]]], [null], ['a', 1, null]] as Value[]),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(...oddNames).map((name) => new Entries([[name, 1]])) },
)

/** Large values of up to a few megabytes, each large in one way. */
const huge: fc.Arbitrary<Value> = fc
  .tuple(fc.constantFrom(1_000, 20_000, 300_000, 2_000_000), fc.nat(12))
  .map(([times, kind]): Value => {
    const many = (unit: string): Raw => raw('"', { repeat: unit, times: Math.ceil(times / unit.length) }, '"')
    const list = (one: string): Raw =>
      raw('[', { repeat: `${one},`, times: Math.ceil(times / (one.length + 1)) }, one, ']')
    const deep = Math.min(times, 200_000)
    const kinds = [
      ...[
        many('a'),
        many('ab '),
        many('é'),
        many('東京'),
        many('\\u0000'),
        many(' '),
        many(','),
        many('('),
        many('a.'),
      ],
      ...[list('1'), list('"ab"'), raw({ repeat: '[', times: deep }, { repeat: ']', times: deep })],
      raw({ repeat: '{"a":', times: deep }, '1', { repeat: '}', times: deep }),
    ]
    return kinds[kind] ?? null
  })

const fields = fc.constantFrom(
  'id',
  'title',
  'overview',
  'genres',
  'year',
  'owner',
  'n',
  'tags',
  'body',
  '_geo',
  '*',
  'a.b',
)
const uid = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<string>(...Object.values(indexes)) },
  { weight: 1, arbitrary: fc.constantFrom('ghost', 'spare', 'x'.repeat(401), 'a b', '__proto__', '*') },
)
const filters = fc.constantFrom<Value>(
  ...[
    'n > 3',
    'owner = a',
    'genres = Drama AND year > 1960',
    'NOT n IN [1, 2, 3]',
    'n 1 TO 5',
    '_geoRadius(0, 0, 1000)',
  ],
  ...[
    '_geoBoundingBox([10, 10], [0, 0])',
    '_geoPolygon([0, 0], [0, 5], [5, 5])',
    'n = 1 OR',
    'tags CONTAINS t',
    'title EXISTS',
  ],
  ...[
    'owner = a OR owner = b',
    '_vectors.mine EXISTS',
    'n =',
    '((((n = 1))))',
    'owner = "a',
    'n = 1e400',
    'tags STARTS WITH t',
  ],
  ...[
    '_element(tags, n = 1)',
    '_foreign(n, owner = a)',
    'NOT _foreign(n, title EXISTS)',
    '_foreign(n, _foreign(n, a = 1))',
  ],
  raw('"_element(tags, ', { repeat: 'n = 1 OR ', times: 1_000 }, 'n = 2)"'),
  raw('"', { repeat: 'tags CONTAINS u OR ', times: 2_000 }, 'n = 2"'),
  ...([['n > 1', 'n < 50'], [['n = 1', 'n = 2'], 'owner = a'], [[[]]]] as Value[]),
)
const urls = fc.oneof(
  fc.constantFrom(...providerPaths.map((path) => `{provider}${path}`)),
  fc.constantFrom(
    ...[
      '',
      'x',
      'http://',
      'http://[',
      'file:///etc/passwd',
      'gopher://127.0.0.1/',
      'http://127.0.0.1:1/',
      'javascript:1',
    ],
    ...[
      'http://10.0.0.1/',
      'http://169.254.169.254/',
      'http://[::1]/',
      'http://0x7f.1:1/',
      'http://a@127.0.0.1:1/',
      '{provider}/\u0000',
    ],
  ),
)
const templates = fc.constantFrom(
  ...[
    '{{doc.title}}',
    '{{text}}',
    '{% for a in (1..1000) %}{% for b in (1..1000) %}x{% endfor %}{% endfor %}',
  ],
  ...[
    '{{ doc.title | append: doc.title | upcase }}',
    '{% if',
    '{{',
    '{{ doc.title | nope }}',
    '{% include "a" %}',
  ],
  `{% assign a = "x" %}${'{% assign a = a | append: a %}'.repeat(25)}{{a}}`,
)
const functions = fc.constantFrom(
  ...[
    'doc.n = 1',
    'doc.title = doc.title + "!"',
    'let s = "x"; for i in 0..40 { s += s; }',
    'loop { }',
    'fn f() { f() } f()',
  ],
  ...[
    'let s = ""; s.pad(200000, "x"); s.replace("x", s); doc.title = s',
    'doc = 1',
    'doc.id = 7',
    'throw 1',
    'doc.',
    '',
  ],
  ...['let a = []; a.pad(1000000, 1); doc.n = a.len()', 'doc.n = context.a', 'doc = ()'],
)

/** Values for names that mean the same everywhere in the API. */
const known: Readonly<Record<string, fc.Arbitrary<Value>>> = {
  q: fc.oneof(text, fc.constantFrom('river', 'the quick', '"slow boat"', '-boat', 'lighthous', 'b', '')),
  facetQuery: fc.oneof(text, fc.constantFrom('t', 'dr')),
  filter: filters,
  url: urls,
  remote: fc.constantFrom('far', 'near', 'broken', 'ghost'),
  words: fc.oneof(text, fc.constantFrom('river', 'the boat', 'ab '.repeat(3_000), 'สวัส'.repeat(2_000))),
  query: fc.oneof(text, fc.constantFrom('river', 'a b '.repeat(3_000))),
  indexUid: uid,
  foreignIndexUid: uid,
  embedder: fc.constantFrom('local', 'mine', '__proto__', 'ghost'),
  hybridEmbedder: fc.constantFrom('local', 'mine', '__proto__', 'ghost'),
  documentTemplate: templates,
  inline: templates,
  function: functions,
  facetName: fields,
  distinct: fields,
  facets: fc.array(fields, { maxLength: 3 }),
  fields: fc.array(fields, { maxLength: 3 }),
  sort: fc.array(fc.constantFrom('n:asc', 'year:desc', '_geoPoint(1,2):asc', 'n', 'title:asc', ':'), {
    maxLength: 3,
  }),
  attributesToRetrieve: fc.array(fields, { maxLength: 3 }),
  attributesToHighlight: fc.array(fields, { maxLength: 3 }),
  attributesToCrop: fc.array(fc.constantFrom('body:5', 'title', '*:1', 'body:-1'), { maxLength: 3 }),
  attributesToSearchOn: fc.array(fields, { maxLength: 3 }),
  vector: fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 2, maxLength: 4 }),
  limit: fc.constantFrom<Value>(0, 1, 20, 1000, 4_294_967_295, raw('18446744073709551615')),
  offset: fc.constantFrom<Value>(0, 1, 20, 1000, raw('18446744073709551615')),
  hitsPerPage: fc.constantFrom<Value>(0, 1, 1000, raw('18446744073709551615')),
  page: fc.constantFrom<Value>(0, 1, 1000, raw('18446744073709551615')),
  id: fc.constantFrom<Value>(0, 1, 'a', -1, 'x'.repeat(600)),
  payloadSize: fc.constantFrom<Value>(
    '1 KiB',
    1,
    '',
    '1e9 GB',
    'x',
    raw('"', { repeat: ' ', times: 20_000 }, '"'),
  ),
  expiresAt: fc.constantFrom<Value>(
    null,
    '2100-01-01',
    '2100-01-01T00:00:00Z',
    '1999-01-01',
    '9999-99-99',
    '',
  ),
}

/** Percentage of odd nodes in a nearly valid value. */
const ODD_PERCENT = 8

/** Generates values for schemas, which may refer to each other. */
export class Values {
  constructor(private readonly schemas: Schemas) {}

  /** @param wild true to make some nodes odd or huge and to add unknown names to objects */
  of(schema: JsonSchema, wild: boolean, depth = 0, name = ''): fc.Arbitrary<Value> {
    const right = this.#right(schema, wild, depth, name)
    if (!wild) return right
    return fc.oneof(
      { weight: 100 - ODD_PERCENT, arbitrary: right },
      {
        weight: ODD_PERCENT,
        arbitrary: fc.oneof({ weight: 30, arbitrary: odd }, { weight: 1, arbitrary: huge }),
      },
    )
  }

  #right(schema: JsonSchema, wild: boolean, depth: number, name: string): fc.Arbitrary<Value> {
    if (schema.$ref !== undefined) {
      return this.of(this.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, wild, depth, name)
    }
    const given = Object.hasOwn(known, name) ? known[name] : undefined
    if (given !== undefined) return given
    if (schema.enum) return fc.constantFrom(...schema.enum)
    if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => this.of(one, wild, depth, name)))
    const types = [schema.type ?? []].flat()
    if (depth >= DEPTH_MAX || types.length === 0) return any
    return fc.oneof(...types.map((type) => this.#ofType(type, schema, wild, depth)))
  }

  #ofType(type: string, schema: JsonSchema, wild: boolean, depth: number): fc.Arbitrary<Value> {
    switch (type) {
      case 'null':
        return fc.constant(null)
      case 'boolean':
        return fc.boolean()
      case 'integer': {
        const { minimum = -5, maximum = 4_294_967_295 } = schema
        return fc.oneof(
          fc.constantFrom(minimum, minimum + 1, maximum),
          fc.integer({ min: minimum, max: Math.min(maximum, minimum + 100) }),
        )
      }
      case 'number':
        return fc.double({ min: schema.minimum ?? -10, max: schema.maximum ?? 10, noNaN: true })
      case 'string':
        return fc.oneof(fields, uid, text)
      case 'array':
        return fc.array(this.of(schema.items ?? {}, wild, depth + 1), { maxLength: 4 })
      default:
        return this.#object(schema, wild, depth)
    }
  }

  #object(schema: JsonSchema, wild: boolean, depth: number): fc.Arbitrary<Value> {
    const { properties = {}, required = [], additionalProperties } = schema
    const declared = Object.entries(properties).map(([name, inner]) => {
      const entry = this.of(inner, wild, depth + 1, name).map((value): [string, Value] => [name, value])
      const isRequired = required.includes(name)
      // Most requests have few fields, because many fields exclude each other.
      return fc
        .option(entry, { nil: null, freq: isRequired ? (wild ? 20 : 1_000_000) : 1 })
        .chain((one) =>
          one === null || isRequired || Object.keys(properties).length < 6
            ? fc.constant(one)
            : fc.nat(3).map((die) => (die === 0 ? one : null)),
        )
    })
    const others =
      typeof additionalProperties === 'object' || (additionalProperties !== false && declared.length === 0)
        ? fc.array(
            fc.tuple(
              fc.oneof(fields, text, fc.constantFrom('local', 'mine', ...oddNames)),
              typeof additionalProperties === 'object' ? this.of(additionalProperties, wild, depth + 1) : any,
            ),
            { maxLength: 3 },
          )
        : wild
          ? fc.array(fc.tuple(fc.constantFrom(...oddNames), odd), { maxLength: 1 })
          : fc.constant([] as [string, Value][])
    return fc.tuple(fc.tuple(...declared), others).map(([own, more]) => {
      const entries = [...own.filter((one) => one !== null), ...more]
      return new Entries('source' in properties && 'url' in properties ? withLocalUrl(entries) : entries)
    })
  }
}

/** Any JSON. */
const any: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text,
    numbers,
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.oneof(fc.constantFrom(...oddNames), fields, text), tie('value')), { maxLength: 3 })
      .map((entries) => new Entries(entries)),
  ),
})).value

/** Gives an embedder a local URL. Otherwise it would call the default address of its source. */
function withLocalUrl(entries: readonly (readonly [string, Value])[]): readonly (readonly [string, Value])[] {
  const isOurs = entries.some(([name, value]) => name === 'source' && LOCAL_SOURCES.includes(value))
  const others = entries.filter(([name]) => name !== 'url')
  return isOurs ? entries : [...others, ['url', '{provider}/embed'] as const]
}

/** Embedder sources that call no default address. */
const LOCAL_SOURCES: readonly Value[] = ['userProvided', 'composite']

/** Returns `value` as JSON text. */
export function jsonPieces(value: Value): readonly Piece[] {
  const pieces: Piece[] = []
  let last = ''
  const add = (piece: Piece): void => {
    if (typeof piece === 'string') last += piece
    else {
      pieces.push(last, piece)
      last = ''
    }
  }
  const write = (one: Value): void => {
    if (one instanceof Raw) for (const piece of one.pieces) add(piece)
    else if (one instanceof Entries) {
      add('{')
      one.entries.forEach(([name, inner], i) => {
        add(`${i > 0 ? ',' : ''}${JSON.stringify(name)}:`)
        write(inner)
      })
      add('}')
    } else if (Array.isArray(one)) {
      add('[')
      one.forEach((inner: Value, i) => {
        if (i > 0) add(',')
        write(inner)
      })
      add(']')
    } else add(JSON.stringify(one))
  }
  write(value)
  pieces.push(last)
  return pieces
}

/** Returns `value` as a query parameter, lists as `a,b`. */
export function queryText(value: Value): string {
  if (Array.isArray(value)) return value.map((one: Value) => queryText(one)).join(',')
  if (typeof value === 'string') return value
  return jsonPieces(value)
    .map((piece) =>
      typeof piece === 'string'
        ? piece
        : 'repeat' in piece
          ? piece.repeat.repeat(Math.min(piece.times, 5_000))
          : '',
    )
    .join('')
}

export { odd as oddValues, text as oddText, uid as indexUids }
