/** A small shop: its tables, the configuration of its sync, and the documents that should result. */

export const schema = `
create sequence versions;
create table categories (id bigserial primary key, name text not null);
create table products (
  id bigserial primary key, name text not null, price numeric(12,2), description text, published boolean not null default true,
  category_id bigint, tags text[] not null default '{}', version bigint not null default nextval('versions')
);
create table variants (product_id bigint, sku text, stock int, version bigint not null default nextval('versions'), primary key (product_id, sku));
create table translations (product_id bigint, lang char(4), title text, primary key (product_id, lang));
create table events (id bigint primary key, kind text) partition by range (id);
create table events_low partition of events for values from (minvalue) to (1000);
create table events_high partition of events for values from (1000) to (maxvalue);
create sequence event_ids;
insert into categories (name) select 'category ' || i from generate_series(1, 20) i;
insert into products (name, price, category_id) select 'product ' || i, i, 1 + i % 20 from generate_series(1, 500) i;
insert into variants (product_id, sku, stock) select i, 'sku/' || i, i from generate_series(1, 300) i;
insert into translations select i, 'de', 'Produkt ' || i from generate_series(1, 300) i;
`

/** Query of documents of several tables. */
const pages = `
  select p.id, p.name, c.name as category,
    (select json_object_agg(trim(t.lang), t.title order by t.lang) from translations t where t.product_id = p.id) as titles
  from products p left join categories c on c.id = p.category_id
  where p.id = any($1)`

export const indexes = [
  {
    uid: 'products',
    table: 'products',
    where: 'published',
    fields: {
      id: 'id',
      title: 'name',
      price: { column: 'price', as: 'number' },
      text: 'description',
      tags: 'tags',
      version: 'version',
    },
  },
  { uid: 'variants', table: 'variants' },
  {
    uid: 'pages',
    table: 'products',
    query: pages,
    related: [
      { table: 'translations', key: ['product_id'] },
      { table: 'categories', key: ['id'], query: 'select id from products where category_id = any($1)' },
    ],
  },
  { uid: 'events', table: 'public.events' },
]

/** Query for the expected documents of each index, written separately from the sync. */
export const expected: Readonly<Record<string, string>> = {
  products: `select jsonb_build_object('id', id, 'title', name, 'price', price::float8, 'text', description,
    'tags', to_jsonb(tags), 'version', version) as document from products where published`,
  variants: 'select to_jsonb(v) as document from variants v',
  pages: `select to_jsonb(x) as document from (${pages.replace('where p.id = any($1)', '')}) x`,
  events: 'select to_jsonb(e) as document from events e',
}
