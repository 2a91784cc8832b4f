/** Routes of the page. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { type Asset, type AssetName, type Assets, readAssets } from './assets.js'

/**
 * The page may run its own scripts and call its own server, nothing else. Loading images of documents would reveal the
 * reader to other hosts, so only the page at `/?images` loads them. A switch of the page leads there.
 */
const policy = (images: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    `img-src ${images}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
const OWN_IMAGES = policy("'self' data:")
const ALL_IMAGES = policy("'self' data: https: http:")

const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** The page, and the list of error codes. Its files are read at the first request. */
export class Page {
  #assets: Assets | null | undefined

  #asset(name: AssetName): Asset | undefined {
    this.#assets ??= readAssets()
    return this.#assets?.[name]
  }

  /** Answers with the page if the client prefers HTML to JSON; returns null otherwise. */
  answer(request: FastifyRequest, reply: FastifyReply): FastifyReply | null {
    void reply.header('vary', 'accept')
    const html = this.#asset('index.html')
    if (html === undefined || !prefersHtml(request.headers.accept)) return null
    const withImages = request.url.split('?')[1]?.split('&').includes('images')
    void reply.header('content-security-policy', withImages ? ALL_IMAGES : OWN_IMAGES)
    return send(request, reply, html)
  }

  /** Answers with the page to which errors with our own codes link. */
  answerErrorCodes(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const page = this.#asset('errors.html')
    if (page === undefined) throw new Error('dist/page/ lacks errors.html: the page has not been built')
    void reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
    return send(request, reply, page)
  }

  /** Scripts and styles of the page. They hold no data of the instance, so they need no key. */
  readonly routes: FastifyPluginAsync = async (app) => {
    for (const name of ['page.js', 'page.css', 'icon.svg'] satisfies AssetName[])
      app.get(`/page/${name}`, (request, reply) => {
        const asset = this.#asset(name)
        return asset === undefined ? reply.callNotFound() : send(request, reply, asset)
      })
  }
}

/** Programs ask for JSON or accept anything; browsers ask for HTML. */
function prefersHtml(accept = ''): boolean {
  const named = accept.split(',').map((range) => range.split(';')[0]?.trim().toLowerCase())
  const html = named.indexOf('text/html')
  const json = named.indexOf('application/json')
  return html !== -1 && (json === -1 || html < json)
}

function send(request: FastifyRequest, reply: FastifyReply, asset: Asset): FastifyReply {
  const form = acceptedForm(request.headers['accept-encoding'])
  const etag = `"${asset.etag}-${form}"`
  // Another version of the server has other files under the same names, so browsers revalidate each time.
  void reply.headers({ ...securityHeaders, etag, 'cache-control': 'no-cache' })
  const vary = reply.getHeader('vary')
  void reply.header('vary', vary === undefined ? 'accept-encoding' : `${String(vary)}, accept-encoding`)
  if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send()
  if (form !== 'identity') void reply.header('content-encoding', form)
  return reply.type(asset.contentType).send(asset[form])
}

function acceptedForm(header: string | readonly string[] = ''): 'br' | 'gzip' | 'identity' {
  const accepted = String(header)
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => !/;\s*q=0(\.0*)?$/.test(coding))
    .map((coding) => coding.split(';')[0]?.trim())
  if (accepted.includes('br')) return 'br'
  return accepted.includes('gzip') ? 'gzip' : 'identity'
}
