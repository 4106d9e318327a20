//! Which request of a hook a dialog on the screen is about: decided here, by [`pair`], and nowhere else. Pure.

use atlasbridge_detect::{Extent, HookRequest};
use atlasbridge_model::{Kind, Sighting};

/// One request, for as long as its hook waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestId(pub(super) u64);

/// How a dialog on the screen and the requests without a dialog go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// Nothing waits for a dialog, or this is none.
    Nobody,
    /// The dialog is about this request, and can be answered by it.
    Same(RequestId),
    /// A request waits, and the dialog shows something else, or more than one may be meant.
    Other,
}

/// # One-prompt invariant
/// A dialog is paired with the one request that it shows whole ([`HookRequest::shown_by`]). Where only a cut text is there to
/// go by, `least` decides: a person who is told everything the request says may answer it, one who has seen the dialog alone may
/// not. Two different requests that the same dialog could show are a doubt, and doubt pairs nothing: the keys of the
/// dialog mean exactly what its rows say.
pub(super) fn pair<'a>(
    dialog: &Sighting,
    waiting: impl Iterator<Item = (RequestId, &'a HookRequest)>,
    least: Extent,
) -> Pairing {
    let mut waiting = waiting.peekable();
    if !is_dialog(dialog) || waiting.peek().is_none() {
        return Pairing::Nobody;
    }
    let shown: Vec<_> = waiting
        .filter_map(|(id, request)| Some((request.shown_by(dialog)?, id, request)))
        .filter(|(extent, ..)| *extent >= least)
        .collect();
    let best = shown.iter().map(|(extent, ..)| *extent).max();
    let mut best = shown.into_iter().filter(|(extent, ..)| Some(*extent) == best);
    match best.next() {
        // Of several that ask for the very same, the first to come is the first to be shown.
        Some((_, id, request)) if best.all(|(_, _, other)| other == request) => Pairing::Same(id),
        Some(_) | None => Pairing::Other,
    }
}

pub(super) fn is_dialog(sighting: &Sighting) -> bool {
    match sighting.kind {
        Kind::YesNo | Kind::MultipleChoice => true,
        Kind::ConfirmEnter | Kind::FreeText | Kind::Password | Kind::Idle | Kind::Unknown => false,
    }
}
