/**
 * A program that runs the server part of the plug-in for Strapi with a configuration, against stand-ins for the documents and
 * the store of Strapi. It prints the problems that the plug-in reports.
 */
export const strapiProgram = `
const load = require('strapi-plugin-meilisearch/strapi-server')
const { services, config: { validator } } = typeof load === 'function' ? load() : (load.default ?? load)
const { meilisearch: { config } } = require('./config/plugins.js')()
const [problems, stored] = [[], new Map()]
const report = (message) => problems.push(String(message))
const attributes = { title: { type: 'string' }, year: { type: 'integer' } }
const entries = [
  { id: 1, documentId: 'a1', title: 'Solaris', year: 1972, budget: 1, publishedAt: '2026-01-01' },
  { id: 2, documentId: 'a2', title: 'A draft', year: 1980, budget: 2, publishedAt: null },
]
const strapi = {
  log: { info() {}, warn: report, error: report },
  contentTypes: { 'api::film.film': { uid: 'api::film.film', kind: 'collectionType', attributes, modelName: 'film' } },
  config: { get: () => config },
  store: () => ({ get: async ({ key }) => stored.get(key), set: async ({ key, value }) => void stored.set(key, value) }),
  plugin: () => ({ service: (name) => services[name]({ strapi }) }),
  documents: () => ({
    count: async () => entries.length,
    findMany: async ({ start = 0 }) => (start === 0 ? entries : []),
  }),
}
global.strapi = strapi
const run = async () => {
  validator(config)
  await strapi.plugin().service('store').addCredentials(config)
  await strapi.plugin().service('meilisearch').addContentTypeInMeiliSearch({ contentType: 'api::film.film' })
  console.log(JSON.stringify(problems))
}
run()
`
