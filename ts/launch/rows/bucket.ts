/** Options of an instance with a bucket, and of its followers. */
import { choice, count, moment, seconds, text, toggle, url } from '../kinds.js'

export const bucket = {
  bucket: text('url', null, {
    help: 'S3-compatible bucket, with a prefix, for the data of the instance',
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
  bucketKeyFile: text('path', null, {
    help: 'File with a 32-byte key, to encrypt everything in the bucket',
    example: '/etc/siftd/bucket.key',
    requires: 'bucket',
  }),
  bucketAck: choice(['local', 'bucket'], 'local', {
    help: 'When a write is acknowledged: when it is on this disk, or when it is in the bucket too',
    example: 'bucket',
    requires: 'bucket',
  }),
  bucketInterval: count({ min: 1, countsAtMost: 3_600_000 }, 1_000, {
    help: 'Milliseconds between two polls for changes to send, or for changes to follow',
    example: '250',
    requires: 'bucket',
  }),
  bucketTakeOver: toggle({
    help: 'Becomes the leader although another server has taken over from this data directory',
    requires: 'bucket',
    excludes: 'follow',
  }),
  bucketSoleWriter: toggle({
    help: 'Accepts writes at a start before the bucket answers; safe only if no other server ever took over',
    requires: 'bucket',
    excludes: 'follow',
  }),
  bucketUntil: moment({
    help: 'Starts a new data directory from the bucket as of that log record or date, and sends nothing to it',
    example: '2026-01-31T12:00:00Z',
    requires: 'bucket',
  }),
  follow: toggle({
    help: 'Serves the data that another server writes to the bucket, and passes writes on to that server',
    requires: 'bucket',
    excludes: 'bucketTakeOver',
  }),
  candidate: choice(['yes', 'no', 'first'], 'no', {
    help: 'yes: sends heartbeats as leader, and as follower takes over if the leader is lost; first: also begins the log of an empty bucket',
    example: 'yes',
    requires: 'bucket',
  }),
  followStaleAfter: seconds(60, {
    help: 'Seconds that a follower may lag before GET /ready fails, while the bucket answers',
    example: '10',
    requires: 'bucket',
  }),
  readConsistency: choice(['eventual', 'strong'], 'eventual', {
    help: 'strong: a read waits until this server has everything that was written before it; eventual: it does not wait',
    example: 'strong',
    requires: 'bucket',
  }),
  placement: text('url', null, {
    help: 'Bucket, with a prefix, of the placement that says which cell holds which index',
    example: 's3://backups/cells',
    requires: 'cell',
  }),
  cell: text('name', null, {
    help: 'Name of the cell in the placement to which this server belongs',
    example: 'b',
    requires: 'bucket',
  }),
  advertisedUrl: url(null, {
    help: 'URL of this server, to which followers pass writes on',
    example: 'http://search-1.internal:7700',
    requires: 'bucket',
  }),
} as const
