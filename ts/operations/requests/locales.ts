import { acceptedLocales, threeLetterLocale } from '../../settings/index.js'
import { oneOf, refined, type Type } from './parse/index.js'

/** A language, by its two- or three-letter code. The value is the three-letter code. */
export const locale: Type<string> = refined(oneOf(acceptedLocales), (name) => threeLetterLocale(name) ?? name)
