mod corpus;
mod exactness;
