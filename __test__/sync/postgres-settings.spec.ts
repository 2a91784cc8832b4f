import test from 'ava'
import { postgresSettings } from '../../packages/sync-postgres/src/settings.js'

for (const url of [
  'postgres://ann@db.example/shop',
  'PostgreSQL://ann:a%23b@db.example:5433/shop?sslmode=disable',
  'postgres:///shop?host=/run/postgresql',
  '/run/postgresql shop',
  'socket:/run/postgresql?db=shop',
])
  test(`the database is found by ${url}`, (t) => {
    t.is(postgresSettings({ url }).client.connectionString, url)
  })

for (const [source, why] of [
  [{ url: 'nope' }, '`source.url` is not a URL of PostgreSQL, '],
  [{ url: 'host=db.example dbname=shop' }, '`source.url` is not a URL of PostgreSQL, '],
  [{ url: 'mysql://db.example/shop' }, '`source.url` is not a URL of PostgreSQL, '],
  [{ url: '' }, '`source.url` is not a URL of PostgreSQL, '],
  [{ url: 'postgres://ann:a#b@db.example/shop' }, '`source.url` cannot be used: Invalid URL; write special '],
  [{ url: 'postgres://db.example:99999/shop' }, '`source.url` cannot be used: Invalid URL; write special '],
  [{ hosts: 'db.example' }, '`source.hosts` is unknown, '],
  [{ port: '5432' }, '`source.port` must be a number'],
  [{ tls: 'prefer' }, '`source.tls` must be one of disable, '],
] as const)
  test(`a mistake in ${JSON.stringify(source)} is named`, (t) => {
    const error = t.throws(() => postgresSettings(source))
    t.true(error?.message.startsWith(why), error?.message)
    t.false(error?.message.includes('a#b'))
  })
