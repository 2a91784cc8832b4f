/** Here are certificate files: which connections does a server with them accept, and how does it renew them? */
export { readTlsFiles, type SslOptions } from './files.js'
export { openTls, type Tls } from './tls.js'
