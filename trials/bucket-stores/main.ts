/** npm run trials -- bucket-stores: installs the object stores that tests use. Takes minutes. */
import { installStore, storeServers } from '../../__test__/support/store-servers.js'

for (const name of Object.keys(storeServers) as (keyof typeof storeServers)[]) {
  console.log(`installing ${name}`)
  await installStore(name)
}
