import test from 'ava'
import { hasNative, nativeReasons } from '../support/native.js'

// `npm test` says `required` wherever it could build the engine, so that its tests cannot be skipped unseen.
const isRequired = process.env.SIFTD_NATIVE_TESTS === 'required'

test('the native engine loads where it could be built', (t) => {
  if (isRequired) t.deepEqual(nativeReasons, [])
  else t.true(hasNative || nativeReasons.length > 0, 'what is missing is said')
})
