import test from 'ava'
import { CsvSplitter } from '../../ts/engine/fallback/indexing/csv-splitter.js'

const body = Buffer.from('id,t\r\n1,"a ""b"" é\r\n"c\n\n2,5" x\n3,')

function split(...chunks: readonly Buffer[]): readonly object[] {
  const splitter = new CsvSplitter(',')
  const records = [...chunks.flatMap((chunk) => [...splitter.feed(chunk)]), ...splitter.finish()]
  return records.map(({ cells, line, byte }) => ({ cells: cells.map(String), line, byte }))
}

test('CSV splits into records', (t) => {
  t.deepEqual(split(body), [
    { cells: ['id', 't'], line: 1, byte: 0 },
    { cells: ['1', 'a "b" é\r\nc'], line: 1, byte: 5 },
    { cells: ['2', '5" x'], line: 4, byte: 24 },
    { cells: ['3', ''], line: 6, byte: 32 },
  ])
})

test('the place where a chunk of CSV ends makes no difference', (t) => {
  for (let at = 0; at <= body.length; at++)
    t.deepEqual(split(body.subarray(0, at), body.subarray(at)), split(body), `${at} bytes`)
  t.deepEqual(split(...[...body].map((byte) => Buffer.from([byte]))), split(body))
})
