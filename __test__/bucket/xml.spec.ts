import test from 'ava'
import { readError, readList } from '../../ts/replication/object-store/xml.js'

const listOf = (inside: string): string => `<ListBucketResult>${inside}</ListBucketResult>`
const contents = '<Contents><Key>a/b</Key><Size>3</Size></Contents>'

test('a list with additional elements is read', (t) => {
  const owner = '<Owner><ID>7</ID></Owner>'
  t.deepEqual(readList(listOf(`<Name>n</Name>${contents}${owner}`)).objects, [{ key: 'a/b', bytes: 3 }])
})

test('deeply nested elements are refused', (t) => {
  const nested = '<a>'.repeat(100_000)
  t.throws(() => readList(listOf(nested)), { message: /nested deeper than/ })
  t.throws(() => readList(nested), { message: /nested deeper than/ })
  t.is(readError(`<Error>${nested}`), null)
})
