/** Parsing and rejection of uploaded bodies. */
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

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
    ['a scalar', 'json', '"hello"', 0, /json.*line 1 column 1/],
    ['an array of numbers', 'json', '[1,2]', 0, /json/],
    ['a syntax error in the second line', 'json', '[{"id":1},\n {"id":}]', 1, /json.*line 2 column 8/],
    ['lines, some blank', 'ndjson', '{"id":1}\n\n{"id":2}\n', 2, null],
    ['only white space', 'ndjson', ' \n', 0, null],
    ['a truncated line', 'ndjson', '{"id":1}\n{"id":', 1, /ndjson.*line 2/],
    ['an array as line', 'ndjson', '[1]', 0, /ndjson/],
    ['rows', 'csv', 'id:number,t\n1,"a, b"\n2,\n', 2, null],
    ['only a header', 'csv', 'id,t', 0, null],
    ['a row too long', 'csv', 'id,t\n1,a,b', 0, /csv.*line 2/],
    ['a cell of another type', 'csv', 'id,n:number\n1,two', 0, /csv.*two.*line 1/],
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
}
