/** Serves the page at `/` for people with a browser. */
export { pageRoutes, servePage } from './page.js'
