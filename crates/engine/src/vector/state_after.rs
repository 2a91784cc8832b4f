//! Determines the vectors of a document after a client sent it.

use super::current_vectors::CurrentVectors;
use super::embedder::Embedder;
use super::sent::{DocumentVectors, Sent};

pub(super) enum After {
    Same,
    Changed(DocumentVectors),
    /// The server always makes vectors.
    Always,
    /// The server makes vectors if the embedder sees another text than before.
    IfTextChanged,
    /// Vectors are missing that only the user can provide.
    MissingVectors,
}

/// Determines the vectors of a document after a client sent it. `before` is `None` for a new document.
pub(super) fn state_after(
    before: Option<Option<CurrentVectors>>,
    sent: Option<Sent>,
    embedder: &Embedder,
) -> After {
    let (is_new, known) = (before.is_none(), before.flatten());
    let skips = known.is_some_and(|current| current.skip_regenerate);
    match sent {
        // Without an automatic source, vectors from the client stay.
        None if skips || (known.is_some() && embedder.is_user_provided()) => After::Same,
        Some(Sent { regenerate, rows: Some(rows) }) => After::Changed(DocumentVectors {
            user_provided: true,
            skip_regenerate: !regenerate,
            rows,
            fragments: None,
        }),
        None | Some(Sent { regenerate: true, rows: None }) if embedder.is_user_provided() => {
            After::MissingVectors
        }
        None | Some(Sent { regenerate: true, rows: None }) if is_new || skips => After::Always,
        None | Some(Sent { regenerate: true, rows: None }) => After::IfTextChanged,
        Some(Sent { regenerate: false, rows: None }) if known.is_some() => After::Same,
        Some(Sent { regenerate: false, rows: None }) => {
            After::Changed(DocumentVectors { skip_regenerate: true, ..DocumentVectors::default() })
        }
    }
}
