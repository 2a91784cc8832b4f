import { isIP } from 'node:net'
import { LaunchError } from '../../launch/index.js'

/** The location of a bucket. */
export interface BucketAddress {
  readonly bucket: string
  /** Prefix of every key; empty, or ends with `/`. */
  readonly prefix: string
  /** Origin of the service, and the start of each path: `/`, or the bucket name if it is not part of the host. */
  readonly origin: string
  readonly root: string
  readonly region: string
}

/** A bucket and a prefix. */
const SHAPE = /^s3:\/\/([a-z0-9.-]+)(?:\/(.*))?$/
/** Shortest and longest name of a bucket, in characters. */
const NAME_LENGTHS = [3, 63] as const

/**
 * @param url `s3://bucket` or `s3://bucket/prefix`
 * @param endpoint origin of a store other than AWS; null: AWS
 * @param flag option that gave the address, for messages
 * @throws LaunchError that names the invalid value
 */
export function bucketAddress(
  url: string,
  endpoint: string | null,
  region: string | null,
  flag: '--bucket' | '--placement' = '--bucket',
): BucketAddress {
  const parts = SHAPE.exec(url)
  if (parts === null || !isBucketName(parts[1] ?? ''))
    throw new LaunchError(`${flag}: \`${url}\` is no address of a bucket such as s3://name/prefix`, 2)
  const [, bucket = '', path = ''] = parts
  const folders = path.split('/').filter((part) => part !== '')
  if (folders.some((part) => part === '.' || part === '..'))
    throw new LaunchError(`${flag}: the prefix of \`${url}\` must not contain \`.\` or \`..\``, 2)
  const prefix = folders.map((part) => `${part}/`).join('')
  const given = region ?? 'us-east-1'
  const base = endpointUrl(endpoint ?? `https://s3.${given}.amazonaws.com`)
  // The certificate for `*.host` does not cover bucket names with dots, and an IP address has no subdomains.
  const isHost =
    endpoint === null
      ? !bucket.includes('.')
      : base.hostname.split('.')[0] === bucket && isIP(base.hostname) === 0
  if (endpoint === null && isHost) base.hostname = `${bucket}.${base.hostname}`
  const root = isHost ? '/' : `/${bucket}/`
  return { bucket, prefix, origin: base.origin, root, region: given }
}

function isBucketName(name: string): boolean {
  const [shortest, longest] = NAME_LENGTHS
  const ends = [name.at(0), name.at(-1)]
  return name.length >= shortest && name.length <= longest && !ends.some((one) => one === '.' || one === '-')
}

function endpointUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  const isOrigin = url !== null && url.pathname === '/' && url.search === '' && url.username === ''
  if (!isOrigin || !['http:', 'https:'].includes(url.protocol))
    throw new LaunchError(
      `--bucket-endpoint: \`${text}\` is no origin such as https://minio.example.com:9000`,
      2,
    )
  return url
}
