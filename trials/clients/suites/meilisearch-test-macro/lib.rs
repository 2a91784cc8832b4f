//! `#[meilisearch_test]` for the tests inside `meilisearch-sdk`, whose own macro is not published.
//!
//! A test is an async function. Its parameters are created by type: `Client` with the address and key of the server,
//! `Index` as a new empty index that is deleted after the test, and `String` as a name for whatever the test creates.

use proc_macro::TokenStream;
use quote::{format_ident, quote};
use syn::{parse_macro_input, Error, FnArg, Ident, ItemFn, Type};

/// Returns the last segment of the type of a parameter.
fn type_name(input: &FnArg) -> Option<&Ident> {
    let FnArg::Typed(typed) = input else { return None };
    let Type::Path(path) = &*typed.ty else { return None };
    path.path.segments.last().map(|segment| &segment.ident)
}

#[proc_macro_attribute]
pub fn meilisearch_test(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut test = parse_macro_input!(item as ItemFn);
    let name = test.sig.ident.clone();
    let returns = test.sig.output.clone();
    let attributes = std::mem::take(&mut test.attrs);
    let body = format_ident!("body_of_{name}");
    test.sig.ident = body.clone();

    let mut arguments = Vec::new();
    let mut indexes = Vec::new();
    for input in &test.sig.inputs {
        arguments.push(match type_name(input).map(Ident::to_string).as_deref() {
            Some("Client") => quote!(client.clone()),
            Some("String") => quote!(uid.clone()),
            Some("Index") => {
                let index = format_ident!("index_{}", indexes.len());
                indexes.push(index.clone());
                quote!(#index.clone())
            }
            _ => return Error::new_spanned(input, "expected Client, Index or String").to_compile_error().into(),
        });
    }
    let client = (!arguments.is_empty()).then(|| {
        quote! {
            let address = option_env!("MEILISEARCH_URL").unwrap_or("http://localhost:7700");
            let key = option_env!("MEILISEARCH_API_KEY").unwrap_or("masterKey");
            let client = crate::client::Client::new(address, Some(key)).unwrap();
            // Test names repeat between modules.
            let uid = concat!(module_path!(), "-", stringify!(#name)).replace("::", "-");
        }
    });
    quote! {
        #test
        #(#attributes)*
        #[tokio::test]
        async fn #name() #returns {
            #client
            #(
                let uid_of_index = format!("{uid}-{}", stringify!(#indexes));
                let task = client.create_index(&uid_of_index, None).await.unwrap();
                let task = task.wait_for_completion(&client, None, None).await.unwrap();
                let #indexes = task.try_make_index(&client).unwrap();
            )*
            let outcome = #body(#(#arguments),*).await;
            #(
                let task = #indexes.delete().await.unwrap();
                task.wait_for_completion(&client, None, None).await.unwrap();
            )*
            outcome
        }
    }
    .into()
}
