/** Where in the page is the reader? Kept in the fragment of the address, which is never sent to the server. */
import { useEffect, useState } from 'preact/hooks'

export const sections = ['search', 'index', 'tasks', 'health'] as const
export type Section = (typeof sections)[number]

export interface Place {
  readonly section: Section
  readonly index: string | null
  /** What a section keeps in the address, as JSON. */
  readonly state: string | null
}

export function placeOf(hash: string): Place {
  const [path = '', state] = hash.replace(/^#\/?/, '').split('?')
  const [section, index] = path.split('/')
  const known = sections.find((name) => name === section) ?? 'search'
  return { section: known, index: decoded(index) || null, state: decoded(state) || null }
}

/** Addresses are typed by hand too: what is no valid escape is nothing. */
function decoded(text: string | undefined): string {
  try {
    return decodeURIComponent(text ?? '')
  } catch {
    return ''
  }
}

export function addressOf(section: Section, index: string | null, state?: unknown): string {
  const rest = state === undefined ? '' : `?${encodeURIComponent(JSON.stringify(state))}`
  return `#/${section}${index === null ? '' : `/${encodeURIComponent(index)}`}${rest}`
}

export function usePlace(): Place {
  const [place, setPlace] = useState(() => placeOf(location.hash))
  useEffect(() => {
    const follow = (): void => setPlace(placeOf(location.hash))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return place
}
