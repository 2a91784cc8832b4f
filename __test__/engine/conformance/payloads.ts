/** Parsing and rejection of uploaded bodies. */
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

/** A document with a field of `arrays` arrays, each in the other. */
const nested = (arrays: number): string => `{"id":1,"a":${'['.repeat(arrays)}${']'.repeat(arrays)}}`

export function payloads(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  const bodies: readonly (readonly [
    name: string,
    format: 'json' | 'ndjson' | 'csv',
    body: string,
    documents: number,
    error: RegExp | null,
  ])[] = [
    ['an array', 'json', '[{"id":1},\n {"id":2}]', 2, null],
    ['a single object', 'json', ' {"id":1} ', 1, null],
    ['an empty array', 'json', '[]', 0, null],
    ['an empty body', 'json', '', 0, /json/],
    ['a truncated array', 'json', '[{"id":1},', 1, /json.*line 1/],
    ['a scalar', 'json', '"hello"', 0, /: expected an object, found a string at line 1 column 1$/],
    ['an array of numbers', 'json', '[1,2]', 0, /: expected an object, found a number at line 1 column 2$/],
    ['a syntax error in the second line', 'json', '[{"id":1},\n {"id":}]', 1, /json.*line 2 column 8/],
    ['126 arrays in a document', 'json', nested(126), 1, null],
    ['127 arrays in a document', 'json', nested(127), 0, /: recursion limit exceeded at line 1 column 139$/],
    ['126 arrays in a line', 'ndjson', nested(126), 1, null],
    ['127 arrays in a line', 'ndjson', nested(127), 0, /recursion limit exceeded/],
    ['lines, some blank', 'ndjson', '{"id":1}\n\n{"id":2}\n', 2, null],
    ['only white space', 'ndjson', ' \n', 0, null],
    ['a truncated line', 'ndjson', '{"id":1}\n{"id":', 1, /ndjson.*line 2/],
    ['an array as line', 'ndjson', '[1]', 0, /: expected an object, found an array at line 1 column 1$/],
    ['rows', 'csv', 'id:number,t\n1,"a, b"\n2,\n', 2, null],
    ['only a header', 'csv', 'id,t', 0, null],
    ['a row too long', 'csv', 'id,t\n1,a,b', 0, /record 1 has 3 cells instead of 2 at line 2 \(byte 5\)/],
    ['a row too short', 'csv', 'id,t\n1,a\n\n2', 1, /record 2 has 1 cells instead of 2 at line 3 \(byte 9\)/],
    ['a cell of another type', 'csv', 'id,n:number\n1,two', 0, /Error parsing number "two" at line 1$/],
    ['a capitalised boolean', 'csv', 'id,b:boolean\n1,True', 0, /csv.*True/],
  ]
  for (const [name, format, body, count, error] of bodies)
    claim(
      `inspecting ${format} with ${name}: ${error === null ? 'accepted' : 'refused'}`,
      async (t, engine) => {
        const report = await engine.engine.inspect(await engine.spool(body, format))
        t.is(report.documents, count)
        if (error === null) t.is(report.error, undefined)
        else {
          t.is(report.error?.code, body === '' ? 'missing_payload' : 'malformed_payload')
          t.regex(report.error?.message ?? '', error)
          const fault =
            body === '' ? `a \`${format}\` payload is missing: ` : `the \`${format}\` payload is malformed: `
          t.true(report.error?.message.startsWith(fault), report.error?.message)
        }
      },
    )

  claim('typed columns of CSV become typed values', async (t, engine) => {
    const body = 'id:number,title,price:number,live:boolean,when:utc\n1,"Fern, tall",3.5,true,now\n2,,,,'
    await engine.apply('things', {
      kind: 'documents',
      method: 'replace',
      primaryKey: null,
      skipCreation: false,
      payload: await engine.spool(body, 'csv'),
    })
    t.is(
      await engine.documentText('things', '1'),
      '{"id":1,"title":"Fern, tall","price":3.5,"live":true,"when:utc":"now"}',
    )
    t.is(
      await engine.documentText('things', '2'),
      '{"id":2,"title":null,"price":null,"live":null,"when:utc":null}',
    )
  })

  const csvFiles: readonly (readonly [name: string, body: string, documents: readonly string[]])[] = [
    ['a quote inside a cell', 'id,t\n1,5" disk\n2,x', ['{"id":"1","t":"5\\" disk"}', '{"id":"2","t":"x"}']],
    ['text after a closing quote', 'id,t\n1,"a" b"c"\n', ['{"id":"1","t":"a b\\"c\\""}']],
    ['a quote that stays open', 'id,t\n1,"a\n2,b', ['{"id":"1","t":"a\\n2,b"}']],
    ['doubled quotes', 'id,t\n1,"""a"""\n', ['{"id":"1","t":"\\"a\\""}']],
    ['mixed line breaks', 'id,t\n1,a\r\n2,b\r3,c', ['1:a', '2:b', '3:c'].map(row)],
    ['a line break in quotes before others', 'id,t\n1,"a\r\nb"\r\n2,c', [row('1:a\\r\\nb'), row('2:c')]],
    ['empty lines', '\n\r\nid,t\n\n\n1,\n\r\n2,b\n\n', ['{"id":"1","t":null}', row('2:b')]],
    ['a byte order mark before a quoted header', '\uFEFF"id",t\n1,a', [row('1:a')]],
    [
      'a number beyond 64 bits',
      'id,n:number,z:number\n1,9223372036854775808,-0.0',
      ['{"id":"1","n":9.223372036854776e+18,"z":-0.0}'],
    ],
  ]
  for (const [name, body, documents] of csvFiles)
    claim(`CSV with ${name} becomes documents`, async (t, engine) => {
      const payload = await engine.spool(body, 'csv')
      t.deepEqual(await engine.engine.inspect(payload), { documents: documents.length })
      await engine.apply('things', {
        kind: 'documents',
        method: 'replace',
        primaryKey: null,
        skipCreation: false,
        payload,
      })
      for (const [at, document] of documents.entries())
        t.is(await engine.documentText('things', String(at + 1)), document)
    })
}

/** Returns the document of a CSV row `id:t`. */
function row(text: string): string {
  const [id, t] = text.split(':')
  return `{"id":"${id}","t":"${t}"}`
}
