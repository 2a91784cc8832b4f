/** The search box of the documents. Asks a siftd for the sections that fit the typed words. */
const form = document.querySelector('form[role="search"]')
const [input, list] = [form.querySelector('input'), form.querySelector('ol')]
const { url, key, index, top: root } = form.dataset

/** Characters that mark matches. They occur in no document, so that answers are shown without HTML. */
const [START, END] = ['\uE0F1', '\uE0F2']
const headers = { 'Content-Type': 'application/json', ...(key !== '' && { Authorization: `Bearer ${key}` }) }

async function sections(q) {
  const body = JSON.stringify({
    ...{ q, limit: 8, attributesToRetrieve: ['url'] },
    ...{ attributesToHighlight: ['heading', 'page', 'text'], attributesToCrop: ['text'], cropLength: 14 },
    ...{ highlightPreTag: START, highlightPostTag: END },
  })
  const path = `${url.replace(/\/$/, '')}/indexes/${encodeURIComponent(index)}/search`
  const answer = await fetch(path, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`the search answers ${answer.status}`)
  return (await answer.json()).hits
}

/** Makes an element of a text with marked matches. */
function marked(tag, text) {
  const element = document.createElement(tag)
  const [before, ...pieces] = text.split(START)
  element.append(before)
  for (const piece of pieces) {
    const [match, after] = piece.split(END)
    element.append(Object.assign(document.createElement('mark'), { textContent: match }), after ?? '')
  }
  return element
}

function item({ url: place, _formatted: { heading, page, text } }) {
  const link = marked('a', heading === page ? heading : `${page}: ${heading}`)
  link.href = `${root === '' ? '.' : root}/${place}`
  const entry = document.createElement('li')
  entry.append(link, marked('p', text))
  return entry
}

/** Number of searches sent. An answer that a later search has overtaken is dropped. */
let sent = 0
async function show() {
  const q = input.value.trim()
  const mine = ++sent
  const entries =
    q === ''
      ? []
      : await sections(q).then(
          (hits) => (hits.length === 0 ? [marked('li', 'No section has these words.')] : hits.map(item)),
          (error) => [marked('li', `The search failed: ${error.message}`)],
        )
  if (mine === sent) list.replaceChildren(...entries)
}

input.addEventListener('input', show)
form.addEventListener('submit', (event) => {
  event.preventDefault()
  list.querySelector('a')?.click()
})
