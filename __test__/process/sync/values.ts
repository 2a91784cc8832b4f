/** Values of PostgreSQL and the JSON that documents contain. */

export interface ValueCase {
  readonly type: string
  /** SQL. */
  readonly value: string
  readonly json: unknown
}

export const valueCases: readonly ValueCase[] = [
  { type: 'int', value: '7', json: 7 },
  { type: 'bigint', value: '9007199254740991', json: 9007199254740991 },
  { type: 'real', value: '1.5', json: 1.5 },
  { type: 'float8', value: "'NaN'", json: 'NaN' },
  { type: 'numeric(10,2)', value: '19.90', json: 19.9 },
  { type: 'numeric', value: '19.90', json: 19.9 },
  { type: 'numeric', value: '123456789012345678.5', json: '123456789012345678.5' },
  { type: 'numeric', value: '0.1234567890123456789', json: '0.1234567890123456789' },
  { type: 'numeric', value: "'NaN'", json: 'NaN' },
  { type: 'numeric', value: 'null', json: null },
  { type: 'boolean', value: 'true', json: true },
  { type: 'text', value: `e'a"b\\nc\\t☃'`, json: 'a"b\nc\t☃' },
  { type: 'char(4)', value: "'ab'", json: 'ab  ' },
  { type: 'timestamptz', value: "'2024-05-06 07:08:09.123456+02'", json: '2024-05-06T05:08:09.123456+00:00' },
  { type: 'timestamp', value: "'2024-05-06 07:08:09'", json: '2024-05-06T07:08:09' },
  { type: 'date', value: "'2024-05-06'", json: '2024-05-06' },
  { type: 'interval', value: "'1 day 2 hours'", json: 'P1DT2H' },
  {
    type: 'uuid',
    value: "'5e3f1c66-1d1f-4d3f-8a2e-0d9f3b6f7a10'",
    json: '5e3f1c66-1d1f-4d3f-8a2e-0d9f3b6f7a10',
  },
  { type: 'bytea', value: "'\\x0102ff'", json: 'AQL/' },
  { type: 'jsonb', value: `'{"a":[1,{"b":null}]}'`, json: { a: [1, { b: null }] } },
  { type: 'json', value: `e'{"a":\\n 1}'`, json: { a: 1 } },
  { type: 'text[]', value: "array['a','b,c',null]", json: ['a', 'b,c', null] },
  {
    type: 'int[]',
    value: "'{{1,2},{3,4}}'",
    json: [
      [1, 2],
      [3, 4],
    ],
  },
  { type: 'mood', value: "'happy'", json: 'happy' },
  { type: 'price', value: '12.5', json: 12.5 },
  { type: 'int4range', value: "'[1,5)'", json: '[1,5)' },
  { type: 'inet', value: "'10.0.0.1'", json: '10.0.0.1' },
  { type: 'point', value: "'(1,2)'", json: '(1,2)' },
]

export const types = `
  create type mood as enum ('happy', 'sad');
  create domain price as numeric(12,2) check (value >= 0);
`
