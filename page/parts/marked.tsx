/** Text with the matches marked, drawn from private characters; never as HTML. */

/** Characters for private use, which text hardly ever holds; text that does is marked oddly, and no worse. */
export const MARK_START = '\uE0F1'
export const MARK_END = '\uE0F2'

export function Marked({ text }: { readonly text: string }) {
  const [before = '', ...pieces] = text.split(MARK_START)
  return (
    <>
      {before.replaceAll(MARK_END, '')}
      {pieces.map((piece) => {
        const [match, ...after] = piece.split(MARK_END)
        return (
          <>
            <mark>{match}</mark>
            {after.join('')}
          </>
        )
      })}
    </>
  )
}

export const unmarked = (text: string): string => text.replaceAll(MARK_START, '').replaceAll(MARK_END, '')
