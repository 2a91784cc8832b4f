/** Returns a search as code. Omits keys, because copied code ends up in chats and repositories. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the generated code contains templates
import { indexPath } from '../api/client.ts'
import type { SearchBody } from './lane.ts'

export const languages = [
  { name: 'curl', text: 'curl' },
  { name: 'javascript', text: 'JavaScript' },
  { name: 'python', text: 'Python' },
] as const
export type Language = (typeof languages)[number]['name']

export function snippet(language: Language, index: string, body: SearchBody, hasKey: boolean): string {
  const url = `${location.origin}${indexPath(index, '/search')}`
  const json = JSON.stringify(body, null, 2)
  if (language === 'curl')
    return [
      `curl -X POST ${shellQuoted(url)}`,
      ...(hasKey ? ['  -H "Authorization: Bearer $SIFTD_KEY"'] : []),
      "  -H 'Content-Type: application/json'",
      `  --data-binary ${shellQuoted(json)}`,
    ].join(' \\\n')
  if (language === 'javascript')
    return `const answer = await fetch(${JSON.stringify(url)}, {
  method: 'POST',
  headers: {
    'Content-Type': 'application/json',${hasKey ? '\n    Authorization: `Bearer ${process.env.SIFTD_KEY}`,' : ''}
  },
  body: JSON.stringify(${json.replaceAll('\n', '\n  ')}),
})
const { hits } = await answer.json()
`
  return `import json${hasKey ? ', os' : ''}
from urllib.request import Request, urlopen

body = json.loads(r'''${json.replaceAll("'", '\\u0027')}''')
request = Request(
    ${JSON.stringify(url)},
    data=json.dumps(body).encode(),
    headers={
        "Content-Type": "application/json",${hasKey ? '\n        "Authorization": f"Bearer {os.environ[\'SIFTD_KEY\']}",' : ''}
    },
)
hits = json.load(urlopen(request))["hits"]
`
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
