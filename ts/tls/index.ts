/** TLS for the server, with certificate files that can be replaced while it runs. */
export { readTlsFiles, type SslOptions } from './files.js'
export { openTls, type Tls } from './tls.js'
