import test from 'ava'
import { checkRefusals } from '../../support/refusals.js'
import { startServer } from '../../support/server.js'

const path = '/render-template'
const document = { kind: 'inlineDocument', inline: { t: 'A', n: { k: 2 }, list: [1, 'x'], _geo: { lat: 1 } } }
const inline = (text: unknown) => ({ kind: 'inlineDocumentTemplate', inline: text })

test('a template is answered with its rendering of a document', async (t) => {
  const server = await startServer(t, { features: ['renderRoute'] })
  const cases = [
    ['{{doc.t}}-{{doc.n.k}}', 'A-2'],
    ['{% if doc.x %}y{% else %}z{% endif %}', 'z'],
    ['{{doc.list}}{{doc.n}}', '1xk2'],
    ['{% for field in fields %}{{ field.name }} {% endfor %}', 't n list '],
    [
      '{% for i in doc.list %}{{ forloop.index }}{% unless forloop.last %},{% endunless %}{% endfor %}',
      '1,2',
    ],
    ['{% tablerow i in doc.list %}{{ tablerowloop.col }}{% endtablerow %}', /<td class="col2">2<\/td>/],
    [
      '{% for i in (1..4) %}{% ifchanged %}{% if i > 2 %}b{% else %}a{% endif %}{% endifchanged %}{% endfor %}',
      'ab',
    ],
    ['{% if doc.x or doc.t == "A" %}y{% endif %}{% unless doc.x %}n{% else %}m{% endunless %}', 'yn'],
    ['{% unless doc.t %}n{% elsif doc.x %}m{% else %}o{% endunless %}', 'o'],
  ] as const
  for (const [template, rendered] of cases) {
    const { body } = await server.post(path, { template: inline(template), input: document })
    t.is(body.template, template)
    if (typeof rendered === 'string') t.is(body.rendered, rendered)
    else t.regex(String(body.rendered), rendered)
  }
  t.deepEqual((await server.post(path, { template: inline('{{doc.t}}') })).body as object, {
    template: '{{doc.t}}',
    rendered: null,
  })
  const cut = { ...inline('ab{{doc.t}}é'), documentTemplateMaxBytes: 4 }
  t.is((await server.post(path, { template: cut, input: document })).body.rendered, 'abA')
})

test('stored templates and documents are found by name', async (t) => {
  const server = await startServer(t, { features: ['renderRoute', 'chatCompletions', 'multimodal'] })
  const rest = {
    source: 'rest',
    url: 'http://127.0.0.1:9/',
    dimensions: 3,
    request: '{{fragment}}',
    response: { data: '{{embedding}}' },
    indexingFragments: { short: { value: { text: '{{ doc.name }}', kind: 1 } } },
    searchFragments: { one: { value: 'about {{ q }}' } },
  }
  await server.settle(t, server.patch('/indexes/dogs/settings', { searchableAttributes: ['name'] }))
  await server.settle(t, server.post('/indexes/dogs/documents', [{ id: 0, name: 'kefir' }]))
  const chat = { kind: 'chatDocumentTemplate', indexUid: 'dogs' }
  const kefir = { kind: 'indexDocument', indexUid: 'dogs', id: '0' }
  t.is((await server.post(path, { template: chat, input: kefir })).body.rendered, 'name: kefir\n')
  await checkRefusals(t, server, [
    {
      path,
      body: { template: chat, input: { ...kefir, id: '9' } },
      status: 404,
      code: 'render_document_not_found',
    },
    { path, body: { template: { ...chat, indexUid: 'ghost' } }, status: 404, code: 'index_not_found' },
  ])
  const settings = await server.patch('/indexes/cats/settings', { embedders: { rest } })
  t.is(settings.status, 202, settings.bytes.toString())
  await server.settle(t, Promise.resolve(settings))
  const fragment = (kind: string, name: string) => ({
    kind,
    indexUid: 'cats',
    embedder: 'rest',
    fragment: name,
  })
  t.deepEqual(
    (await server.post(path, { template: fragment('indexingFragment', 'short'), input: kefir })).body
      .rendered,
    { text: 'kefir', kind: 1 },
  )
  const search = { kind: 'inlineSearch', inline: { q: 'milk', filter: 'ignored' } }
  t.is(
    (await server.post(path, { template: fragment('searchFragment', 'one'), input: search })).body.rendered,
    'about milk',
  )
  const bad = 'invalid_render_template'
  await checkRefusals(t, server, [
    { path, body: { template: fragment('indexingFragment', 'ghost') }, code: bad, names: 'ghost' },
    { path, body: { template: { ...fragment('indexingFragment', 'short'), embedder: 'ghost' } }, code: bad },
    { path, body: { template: { kind: 'documentTemplate', indexUid: 'cats', embedder: 'rest' } }, code: bad },
    {
      path,
      body: { template: fragment('searchFragment', 'one'), input: kefir },
      code: 'template_rendering_error',
    },
    { path, body: { template: inline('{{doc.t}}'), input: search }, code: 'template_rendering_error' },
  ])
})

test('a request with missing, superfluous or wrong parts is refused with a code', async (t) => {
  const server = await startServer(t, { features: ['renderRoute'] })
  const template = inline('{{doc.t}}')
  const bad = 'invalid_render_template'
  await checkRefusals(t, server, [
    { path, body: { template: null }, code: bad },
    { path, body: { template: { kind: 'ghost' } }, code: bad, names: 'ghost' },
    { path, body: { template: { kind: 'inlineDocumentTemplate' } }, code: bad, names: '.template.inline' },
    { path, body: { template: { ...template, embedder: 'e' } }, code: bad, names: '.template.embedder' },
    { path, body: { template: inline(3) }, code: bad },
    { path, body: { template, input: { kind: 'inlineDocument' } }, code: 'invalid_render_input' },
    {
      path,
      body: { template, input: { kind: 'inlineDocument', inline: 'x' } },
      code: 'invalid_render_input',
    },
    {
      path,
      body: { template, input: { ...document, id: '1' } },
      code: 'invalid_render_input',
      names: '.input.id',
    },
    { path, body: { template, ghost: 1 }, code: 'bad_request' },
    { path, body: { template: { kind: 'inlineFragment', inline: 'x' } }, code: 'feature_not_enabled' },
    {
      path,
      body: { template: { kind: 'chatDocumentTemplate', indexUid: 'a' } },
      code: 'feature_not_enabled',
    },
    { path, body: { template: inline('{{ doc.t'), input: document }, code: 'template_parsing_error' },
    {
      path,
      body: { template: inline('{% include "/etc/passwd" %}'), input: document },
      code: 'template_rendering_error',
    },
    {
      path,
      body: { template: inline('{{ doc.ghost }}'), input: document },
      code: 'template_rendering_error',
      names: 'ghost',
    },
    ...['{% if doc.ghost == nil %}x{% endif %}', '{{ doc.ghost | default: "d" }}'].map((template) => ({
      path,
      body: { template: inline(template), input: document },
      code: 'template_rendering_error',
      names: 'doc.ghost',
    })),
    {
      path,
      body: { template: inline('{% ifchanged %}'), input: document },
      code: 'template_parsing_error',
      names: 'ifchanged',
    },
    {
      path,
      body: { template: inline('{% for i in (1..999999999) %}x{% endfor %}'), input: document },
      code: 'template_rendering_error',
    },
  ])
})

// Each doubles a text or list in every line, or takes time that grows with the product of two lengths.
const doubled = (line: string, times = 25): string =>
  `{% assign a = "0123456789" %}${line.repeat(times)}{{ a }}`
const list = '{% assign l = "x,y" | split: "," %}'
const long = `{% assign a = "a" %}${'{% assign a = a | append: a %}'.repeat(19)}`
const costly: Readonly<Record<string, string>> = {
  capture: doubled('{% capture a %}{{ a }}{{ a }}{% endcapture %}'),
  append: doubled('{% assign a = a | append: a %}'),
  prepend: doubled('{% assign a = a | prepend: a %}'),
  replace: doubled('{% assign a = a | replace: "0", "00" %}'),
  join: `${list}${'{% assign l = l | concat: l %}'.repeat(22)}{{ l | join: "-" }}`,
  concat: `${list}${'{% assign l = l | concat: l %}'.repeat(25)}{{ l | size }}`,
  'a list of long texts': `${long}{% assign l = a | split: "b" %}${'{% assign l = l | concat: l %}'.repeat(16)}{{ l | append: "x" }}`,
  'a printed list': `${long}{% assign l = a | split: "b" %}${'{% assign l = l | concat: l %}'.repeat(5)}{{ l }}`,
  url_encode: `${long.replace('"a"', '"ж"')}{{ a | url_encode | url_encode }}`,
  split: `${long}{% assign l = a | append: a | append: a | append: a | append: a | append: a | split: "" %}`,
  'a long pattern': `${long}{% assign p = a | slice: 1, 200000 | append: "b" | append: a %}{{ a | remove: p }}`,
  contains: `${long}{% assign p = a | slice: 1, 200000 | append: "b" %}{% if a contains p %}y{% endif %}`,
  'the format of a date': `{% assign f = "%c" %}${'{% assign f = f | append: f %}'.repeat(19)}{{ "now" | date: f }}`,
  'a range': '{% for i in (1..20000000) %}{% break %}{% endfor %}',
  'a loop in a loop': '{% for i in (1..5000) %}{% for j in (1..5000) %}{% endfor %}{% endfor %}',
}

test('the output of a template is bounded during rendering, however little is requested', async (t) => {
  const server = await startServer(t, { features: ['renderRoute'] })
  for (const [what, template] of Object.entries(costly)) {
    const request = { template: { ...inline(template), documentTemplateMaxBytes: 50 }, input: document }
    const { body } = await server.post(path, request)
    t.is(body.code, 'template_rendering_error', `${what}: ${JSON.stringify(body).slice(0, 300)}`)
    t.regex(body.message, /limit exceeded|takes more than/, what)
  }
})

test('output beyond the requested bytes is dropped, and refused without a limit', async (t) => {
  const server = await startServer(t, { features: ['renderRoute', 'multimodal'] })
  const endless = `{% for i in (1..3000) %}${'0123456789'.repeat(1_000)}{% endfor %}`
  const cut = { ...inline(endless), documentTemplateMaxBytes: 12 }
  t.is((await server.post(path, { template: cut, input: document })).body.rendered, '012345678901')
  const half = Array.from({ length: 3 }, () => endless.replace('3000', '900'))
  await checkRefusals(t, server, [
    { path, body: { template: inline(endless), input: document }, code: 'template_rendering_error' },
    {
      path,
      body: { template: { kind: 'inlineFragment', inline: half }, input: document },
      code: 'template_rendering_error',
      names: 'characters',
    },
    {
      path,
      body: { template: { kind: 'inlineFragment', inline: Array(1_001).fill('{{ doc.t }}') } },
      code: 'template_parsing_error',
      names: '1000',
    },
    { path, body: { template: inline(' '.repeat(50_001)) }, code: 'template_parsing_error' },
    { path, body: { template: inline('{{ doc.t | json }}') }, code: 'template_parsing_error', names: 'json' },
  ])
})

test('of many concurrent renderings one runs, some wait, and the rest are refused', async (t) => {
  const server = await startServer(t, { features: ['renderRoute'] })
  const template = inline(costly['a loop in a loop'])
  const ended: string[] = []
  const render = (): Promise<void> =>
    server.post(path, { template, input: document }).then(({ status, body }) => {
      ended.push(`${status} ${body.code}`)
    })
  const renderings = Array.from({ length: 40 }, render)
  await server.get('/health')
  t.true(ended.length < renderings.length)
  await Promise.all(renderings)
  const counted = (code: string): number => ended.filter((one) => one === code).length
  t.true(counted('400 template_rendering_error') > 0)
  t.true(counted('503 too_many_requests') > 0)
  t.is(counted('400 template_rendering_error') + counted('503 too_many_requests'), ended.length)
  t.is((await server.post(path, { template: inline('{{ doc.t }}'), input: document })).body.rendered, 'A')
})

test('a long rendering lets other requests be answered', async (t) => {
  const server = await startServer(t, { features: ['renderRoute'] })
  const template = inline(costly['a loop in a loop'])
  let isRendering = true
  const rendered = server.post(path, { template, input: document }).finally(() => {
    isRendering = false
  })
  let answered = 0
  for (; isRendering; answered++) t.is((await server.get('/health')).status, 200)
  await rendered
  // A blocked server answers at most two: one before the rendering, one after it.
  t.true(answered > 2, String(answered))
})
