import sax from 'sax'
import { XML_DEPTH_MAX } from './limits.js'

/** Answer to a list request. */
interface ListAnswer {
  readonly objects: readonly { readonly key: string; readonly bytes: number }[]
  /** Continuation token of the next page; null: this is the last page. */
  readonly continuation: string | null
}

/** @throws Error if the text is not XML or not a list */
export function readList(xml: string): ListAnswer {
  const objects: { key: string; bytes: number }[] = []
  let continuation: string | null = null
  let isTruncated = false
  let [key, bytes] = ['', 0]
  let isList = false
  let isEncoded = false
  walk(xml, (path, text) => {
    if (path[0] !== 'ListBucketResult') return
    isList = true
    const name = path.slice(1).join('/')
    if (name === 'Contents/Key') key = text
    else if (name === 'Contents/Size') bytes = Number(text)
    else if (name === 'Contents') objects.push({ key, bytes })
    else if (name === 'EncodingType') isEncoded = text === 'url'
    else if (name === 'IsTruncated') isTruncated = text === 'true'
    else if (name === 'NextContinuationToken') continuation = text
  })
  if (!isList) throw new Error('it is no list of objects')
  if (objects.some(({ bytes }) => !Number.isSafeInteger(bytes) || bytes < 0))
    throw new Error('it lists an object without its size')
  // Some stores ignore the request to encode keys.
  const named = isEncoded ? objects.map(({ key, bytes }) => ({ key: decoded(key), bytes })) : objects
  return { objects: named, continuation: isTruncated ? continuation : null }
}

const decoded = (key: string): string => decodeURIComponent(key.replaceAll('+', ' '))

/** Returns code and message of an error answer; null if it is not one. */
export function readError(xml: string): { readonly code: string; readonly message: string } | null {
  let [code, message] = ['', '']
  try {
    walk(xml, (path, text) => {
      const name = path.join('/')
      if (name === 'Error/Code' || name === 'ErrorResponse/Error/Code') code = text
      if (name === 'Error/Message' || name === 'ErrorResponse/Error/Message') message = text
    })
  } catch {
    return null
  }
  return code === '' ? null : { code, message }
}

/** Returns the issued credentials by element name; empty if there are none. */
export function readIssued(xml: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  try {
    walk(xml, (path, text) => {
      const [action, , container, name] = path
      if (action === 'AssumeRoleWithWebIdentityResponse' && container === 'Credentials' && name !== undefined)
        found[name] = text
    })
  } catch {
    return {}
  }
  return found
}

/** Calls `ended` at the end of each element, with the names of its ancestors and itself, and its text. */
function walk(xml: string, ended: (path: readonly string[], text: string) => void): void {
  const parser = sax.parser(true)
  const path: string[] = []
  let text = ''
  parser.onopentag = ({ name }) => {
    if (path.length === XML_DEPTH_MAX) throw new Error(`it is nested deeper than ${XML_DEPTH_MAX} levels`)
    path.push(name)
    text = ''
  }
  parser.ontext = (part) => {
    text += part
  }
  parser.onclosetag = () => {
    ended(path, text)
    path.pop()
    text = ''
  }
  parser.onerror = (error) => {
    throw error
  }
  parser.write(xml).close()
}
