/** Two-letter and three-letter codes of all languages that rules and searches can name. */
const pairs =
  'af/afr ak/aka am/amh ar/ara az/aze be/bel bn/ben bg/bul ca/cat cs/ces da/dan de/deu el/ell en/eng eo/epo ' +
  'et/est fi/fin fr/fra gu/guj he/heb hi/hin hr/hrv hu/hun hy/hye id/ind it/ita jv/jav ja/jpn kn/kan ka/kat ' +
  'km/khm ko/kor la/lat lv/lav lt/lit ml/mal mr/mar mk/mkd my/mya ne/nep nl/nld nb/nob or/ori pa/pan fa/pes ' +
  'pl/pol pt/por ro/ron ru/rus si/sin sk/slk sl/slv sn/sna es/spa sr/srp sv/swe ta/tam te/tel tl/tgl th/tha ' +
  'tk/tuk tr/tur uk/ukr ur/urd uz/uzb vi/vie yi/yid zh/zho zu/zul'

const longForm = new Map(pairs.split(' ').map((pair) => pair.split('/') as [string, string]))
const longForms = new Set([...longForm.values(), 'cmn'])

/** All accepted locales, two-letter and three-letter forms. */
export const acceptedLocales: readonly string[] = [...longForm.keys(), ...longForms].sort()

/** Returns the three-letter form of an accepted locale; undefined for other texts. */
export const threeLetterLocale = (text: string): string | undefined =>
  longForm.get(text) ?? (longForms.has(text) ? text : undefined)
