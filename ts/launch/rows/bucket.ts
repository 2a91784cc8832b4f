/** Options of an instance that is kept in a bucket. */
import { choice, count, moment, text, toggle, url } from '../kinds.js'

export const bucket = {
  bucket: text('url', null, {
    help: 'S3-compatible bucket, with a prefix, that the instance is kept in',
    example: 's3://backups/siftd',
  }),
  bucketEndpoint: url(null, {
    help: 'Origin of a store other than AWS',
    example: 'https://minio.example.com:9000',
    requires: 'bucket',
  }),
  bucketRegion: text('name', null, {
    help: 'Region of the bucket',
    example: 'eu-central-1',
    requires: 'bucket',
    defaultInWords: 'AWS_REGION, else us-east-1',
  }),
  bucketAck: choice(['local', 'bucket'], 'local', {
    help: 'When a write is answered: once this disk has it, or once the bucket has it too',
    example: 'bucket',
    requires: 'bucket',
  }),
  bucketInterval: count({ min: 1, countsAtMost: 3_600_000 }, 1_000, {
    help: 'Milliseconds between two looks for changes to send',
    example: '250',
    requires: 'bucket',
  }),
  bucketTakeOver: toggle({
    help: 'Takes over although another server has taken over from this data directory',
    requires: 'bucket',
  }),
  bucketUntil: moment({
    help: 'Starts a new data directory from the bucket as of that entry or date, and sends nothing to it',
    example: '2026-01-31T12:00:00Z',
    requires: 'bucket',
  }),
  advertisedUrl: url(null, {
    help: 'URL of this server, which a server that it takes over from names to its clients',
    example: 'http://search-1.internal:7700',
    requires: 'bucket',
  }),
} as const
