/** The place in the page, kept in the fragment of the URL, which browsers never send to the server. */
import { useEffect, useState } from 'preact/hooks'

export const sections = ['search', 'index', 'rules', 'analytics', 'tasks', 'keys', 'api', 'health'] as const
export type Section = (typeof sections)[number]

export interface Place {
  readonly section: Section
  readonly index: string | null
  /** State of a section in the URL, as JSON. */
  readonly state: string | null
}

export function placeOf(hash: string): Place {
  const [path = '', state] = hash.replace(/^#\/?/, '').split('?')
  const [section, index] = path.split('/')
  const known = sections.find((name) => name === section) ?? 'search'
  return { section: known, index: decoded(index) || null, state: decoded(state) || null }
}

/** Decodes a part of the URL. An invalid escape, possibly typed by hand, yields an empty text. */
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

/** A place, and the number of links followed before: following a link to the same place is a new visit. */
export interface Visit extends Place {
  readonly visit: number
}

export function usePlace(): Visit {
  const [place, setPlace] = useState<Visit>(() => ({ ...placeOf(location.hash), visit: 0 }))
  useEffect(() => {
    const follow = (): void => setPlace(({ visit }) => ({ ...placeOf(location.hash), visit: visit + 1 }))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return place
}
