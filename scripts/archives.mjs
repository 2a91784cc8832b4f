/** Reads files of the archives in which PyPI keeps packages. */
import { gunzipSync, inflateRawSync } from 'node:zlib'

/**
 * @param name of the archive: `.tar.gz`, or `.whl`, which is a ZIP file
 * @param wanted paths in the archive
 * @returns path → bytes
 * @throws Error if a path is missing
 */
export function unpacked(name, archive, wanted) {
  const entries = name.endsWith('.whl') ? zipEntries(archive) : tarEntries(gunzipSync(archive))
  const files = new Map()
  for (const [path, read] of entries) if (wanted.includes(path)) files.set(path, read())
  const missing = wanted.find((path) => !files.has(path))
  if (missing !== undefined) throw new Error(`${name} does not contain ${missing}`)
  return files
}

const BLOCK = 512

function* tarEntries(tar) {
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0; ) {
    const field = (from, to) => tar.toString('latin1', at + from, at + to).replace(/\0.*$/s, '')
    const size = Number.parseInt(field(124, 136), 8)
    const prefix = field(345, 500)
    const start = at + BLOCK
    yield [
      prefix === '' ? field(0, 100) : `${prefix}/${field(0, 100)}`,
      () => tar.subarray(start, start + size),
    ]
    at = start + Math.ceil(size / BLOCK) * BLOCK
  }
}

const END_OF_DIRECTORY = 0x06054b50
const DEFLATED = 8

function* zipEntries(zip) {
  let end = zip.length - 22
  while (zip.readUInt32LE(end) !== END_OF_DIRECTORY) end--
  let at = zip.readUInt32LE(end + 16)
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => zip.readUInt16LE(at + field))
    const [method, size, header] = [
      zip.readUInt16LE(at + 10),
      zip.readUInt32LE(at + 20),
      zip.readUInt32LE(at + 42),
    ]
    const read = () => {
      const start = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28)
      const bytes = zip.subarray(start, start + size)
      return method === DEFLATED ? inflateRawSync(bytes) : bytes
    }
    yield [zip.toString('utf8', at + 46, at + 46 + nameBytes), read]
    at += 46 + nameBytes + extraBytes + commentBytes
  }
}
