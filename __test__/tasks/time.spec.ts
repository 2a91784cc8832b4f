import test from 'ava'
import { formatDate, formatDuration, parseDate } from '../../ts/tasks/time.js'

test('durations are days and seconds with the fewest exact digits', (t) => {
  const cases: readonly (readonly [number, string | null])[] = [
    [0, 'PT0S'],
    [1_500_000, 'PT1.500S'],
    [3_600_000_002, 'PT3600.000002S'],
    [86_400_000_000, 'P1D'],
    [90_061_000_000, 'P1DT3661S'],
    [9_330, 'PT0.009330S'],
    [172_800_000_001, 'P2DT0.000001S'],
    [-1, null],
  ]
  for (const [micros, text] of cases) t.is(formatDuration(micros), text)
})

test('dates have a fraction only if needed, without trailing zeros', (t) => {
  const whole = Date.UTC(2031, 1, 3, 23, 59, 59) * 1000
  t.is(formatDate(whole), '2031-02-03T23:59:59Z')
  t.is(formatDate(whole + 500_000), '2031-02-03T23:59:59.5Z')
  t.is(formatDate(whole + 1), '2031-02-03T23:59:59.000001Z')
})

test('a date is parsed with its offset, and digits below a microsecond still count', (t) => {
  const at = Date.UTC(2031, 1, 4) * 1000
  t.deepEqual(parseDate('2031-02-04T00:00:00Z'), { floor: at, ceil: at })
  t.deepEqual(parseDate('2031-02-04T01:30:00+01:30'), { floor: at, ceil: at })
  t.deepEqual(parseDate('2031-02-04T00:00:00.000001Z'), { floor: at + 1, ceil: at + 1 })
  t.deepEqual(parseDate('2031-02-04T00:00:00.0000015Z'), { floor: at + 1, ceil: at + 2 })
  t.throws(() => parseDate('2031-02'), { instanceOf: RangeError })
})
