/** Languages with a list of stop words, as three-letter codes. Both engines have the same ones. */
export const stopWordLanguages: readonly string[] =
  'dan deu eng fin fra hun ita jpn kor nld nob por rus spa swe'.split(' ')

/** Languages whose compounds searches find by their parts, as three-letter codes. Both engines have the same ones. */
export const compoundLanguages: readonly string[] = 'dan deu fin nld nob swe'.split(' ')

/** Languages with a Snowball stemmer, as three-letter codes. Both engines have the same ones. */
export const stemmedLanguages: readonly string[] = (
  'ara cat dan deu ell eng epo est fin fra hin hun hye ind ita lit nep nld nob por ron rus spa srp swe tam tur ' +
  'yid'
).split(' ')
