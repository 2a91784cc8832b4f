/** Serves the page at `/` for people with a browser, and the page of error codes. */
export { Page } from './page.js'
