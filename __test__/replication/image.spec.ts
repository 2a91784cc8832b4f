/** The image of a task store in a bucket. */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'ava'
import { fetchImage, uploadImage } from '../../ts/replication/log/checkpoint.js'
import { temporaryDirectory } from '../tasks/test-queue.js'

const never = new AbortController().signal

test('an image of several parts is uploaded and comes back, its parts requested at the same time', async (t) => {
  const directory = await temporaryDirectory(t)
  const [source, target] = [join(directory, 'source'), join(directory, 'target')]
  await writeFile(source, randomBytes(20 * 2 ** 20))
  const objects = new Map<string, Buffer>()
  const put = async (key: string, bytes: Uint8Array) => {
    objects.set(key, Buffer.from(bytes))
    return true
  }
  const parts = await uploadImage(source, { put } as never, (number) => `image/${number}`, never)
  t.is(parts.length, 3)
  // No part arrives before all of them are requested.
  const waiting: (() => void)[] = []
  const get = (key: string): Promise<Buffer | null> =>
    new Promise((resolve) => {
      waiting.push(() => resolve(objects.get(key) ?? null))
      if (waiting.length === parts.length) for (const arrive of waiting) arrive()
    })
  await fetchImage(parts, target, { get } as never, never)
  t.true((await readFile(source)).equals(await readFile(target)))
})

test('a damaged or missing part of an image is named', async (t) => {
  const directory = await temporaryDirectory(t)
  const source = join(directory, 'source')
  await writeFile(source, randomBytes(1000))
  const objects = new Map<string, Buffer>()
  const put = async (key: string, bytes: Uint8Array) => void objects.set(key, Buffer.from(bytes))
  const parts = await uploadImage(source, { put } as never, () => 'image/0', never)
  const get = async (key: string) => objects.get(key) ?? null
  objects.get('image/0')![500]! ^= 1
  await t.throwsAsync(fetchImage(parts, join(directory, 'a'), { get } as never, never), {
    message: /image\/0 is damaged/,
  })
  objects.clear()
  await t.throwsAsync(fetchImage(parts, join(directory, 'b'), { get } as never, never), {
    message: /image\/0 is missing/,
  })
})
