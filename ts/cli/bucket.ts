import { openOutbound } from '../outbound/index.js'
import {
  BucketError,
  bucketAddress,
  openCredentials,
  probe,
  type Repeating,
  s3Store,
  UnfitStoreError,
} from '../replication/index.js'
import { defineCommand, examples } from './command/index.js'
import { textOf } from './text-of.js'

/** Retries up to ten calls in total. */
function withRetries(): Repeating {
  let left = 10
  return {
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    onRetry(error) {
      if (--left < 0) throw error
    },
  }
}

export const bucket = defineCommand('bucket', (command, output) =>
  command
    .description('Checks an S3-compatible bucket.')
    .addHelpText('after', examples('siftd bucket check s3://backups/siftd --region eu-central-1'))
    .command('check')
    .summary('checks that a bucket creates objects atomically')
    .description(`Checks that a bucket creates objects atomically.

Several servers can share a bucket only if exactly one of many concurrent creates of a key succeeds, and if a created object
is readable and listed at once. Tests this with a few small objects under \`probe/\` and deletes them. The exit code is 0 if
the test succeeds, 1 if it fails or the bucket cannot be used, 2 for wrong usage.

Credentials come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else from a web identity
(AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN), the profile AWS_PROFILE in ~/.aws/credentials, the role of a container
(AWS_CONTAINER_CREDENTIALS_FULL_URI), or the role of the machine unless AWS_EC2_METADATA_DISABLED is true.`)
    .argument('<url>', 'Address, such as s3://name/prefix')
    .option('--endpoint <origin>', 'Origin of a store other than AWS')
    .option('--region <name>', 'Region of the bucket (default: AWS_REGION, else us-east-1)')
    .addHelpText(
      'after',
      examples(`
        siftd bucket check s3://backups/siftd --region eu-central-1
        siftd bucket check s3://backups --endpoint https://minio.example.com:9000`),
    )
    .action(async (url, { endpoint, region }) => {
      const address = bucketAddress(url, endpoint ?? null, region ?? process.env.AWS_REGION ?? null)
      const outbound = openOutbound({ allowedNetworks: 'any' })
      try {
        const credentials = openCredentials({ env: process.env, readText: textOf, outbound })
        const store = s3Store({ address, credentials, outbound })
        await probe(store, withRetries(), new AbortController().signal)
        output.line(`${store.name} creates objects atomically`)
      } catch (error) {
        if (!(error instanceof UnfitStoreError || error instanceof BucketError)) throw error
        output.line(error.message)
        output.finding()
      } finally {
        await outbound.close()
      }
    }),
)
