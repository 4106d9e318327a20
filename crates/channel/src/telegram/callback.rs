//! What a button carries to the service and back, pure: at most 64 bytes, and nothing that decides by itself.
//!
//! A person who taps may send anything: a text is a button of ours only if it is spelled exactly as we spell it. Whether it
//! means a prompt that waits is for the hub to say.

use atlasbridge_model::id::is_hex;

use crate::{Card, OfferName, Tap, TapOn};

/// The service refuses longer ones.
pub(crate) const MOST_BYTES: usize = 64;
const MOST_TOKEN: usize = 40;
/// As many as the short form of an id has.
const ID_DIGITS: usize = 8;
const NONCE_DIGITS: usize = 16;

/// `ans:{prompt}:{session}:{nonce}:{value}`, each id by its first digits.
pub(crate) fn of_card(card: &Card, tap: Tap) -> Option<String> {
    let (prompt, session) = (card.prompt.short(), card.session.id.short());
    let nonce = &card.nonce.to_hex()[..NONCE_DIGITS];
    Some(format!("ans:{prompt}:{session}:{nonce}:{}", value(tap)?))
}

/// `ask:{token}`; `None` for a token that would not come back.
pub(crate) fn of_question(token: &str) -> Option<String> {
    is_token(token).then(|| format!("ask:{token}"))
}

/// What was tapped, if this is the spelling of a button of ours.
pub(crate) fn parse(data: &str) -> Option<TapOn> {
    if data.len() > MOST_BYTES {
        return None;
    }
    match data.split_once(':')? {
        ("ans", rest) => parse_card(rest),
        ("ask", token) if is_token(token) => Some(TapOn::Question { token: token.to_owned() }),
        _ => None,
    }
}

fn parse_card(rest: &str) -> Option<TapOn> {
    let fields: Vec<&str> = rest.split(':').collect();
    let [prompt, session, nonce, value] = fields[..] else { return None };
    if !is_hex(prompt, ID_DIGITS) || !is_hex(session, ID_DIGITS) || !is_hex(nonce, NONCE_DIGITS) {
        return None;
    }
    Some(TapOn::Card {
        offer: OfferName { prompt: prompt.to_owned(), session: session.to_owned(), nonce: nonce.to_owned() },
        tap: tap(value)?,
    })
}

/// Rows are counted from 1, as people see them. `None`: more rows than a dialog has.
fn value(tap: Tap) -> Option<char> {
    Some(match tap {
        Tap::Row(row) => char::from_digit(u32::try_from(row).ok()?.checked_add(1)?, 10)?,
        Tap::Enter => 'e',
        Tap::UseDefault => 'd',
        Tap::Cancel => 'c',
        Tap::ShowMore => 'm',
        Tap::ShowScreen => 's',
    })
}

fn tap(spelled: &str) -> Option<Tap> {
    let others = [Tap::Enter, Tap::UseDefault, Tap::Cancel, Tap::ShowMore, Tap::ShowScreen];
    let mut taps = (0..9).map(Tap::Row).chain(others);
    taps.find(|tap| value(*tap).is_some_and(|value| spelled.chars().eq([value])))
}

fn is_token(text: &str) -> bool {
    (1..=MOST_TOKEN).contains(&text.len())
        && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b':' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telegram::sample;
    use proptest::prelude::*;

    #[test]
    fn a_button_comes_back_as_it_went() {
        let card = sample::yes_no();
        let rows = (0..9).map(Tap::Row);
        let others = [Tap::Enter, Tap::UseDefault, Tap::Cancel, Tap::ShowMore, Tap::ShowScreen];
        for tap in rows.chain(others) {
            let data = of_card(&card, tap).unwrap();
            assert!(data.len() <= MOST_BYTES, "{data}");
            let TapOn::Card { offer: OfferName { prompt, session, nonce }, tap: came } =
                parse(&data).unwrap()
            else {
                panic!("{data}");
            };
            assert_eq!(came, tap);
            assert!(card.prompt.to_string().starts_with(&prompt));
            assert!(card.session.id.to_string().starts_with(&session));
            assert!(card.nonce.to_hex().starts_with(&nonce));
        }
        assert_eq!(of_card(&card, Tap::Row(9)), None);
        assert_eq!(of_card(&card, Tap::Row(usize::MAX)), None);
    }

    #[test]
    fn any_other_spelling_is_not_ours() {
        let good = "ans:0123abcd:89abcdef:0123456789abcdef:1";
        assert!(parse(good).is_some());
        for bad in [
            "",
            ":",
            "ans:",
            "ans",
            "ans:0123abcd:89abcdef:0123456789abcdef:",
            "ans:0123abcd:89abcdef:0123456789abcdef:0",
            "ans:0123abcd:89abcdef:0123456789abcdef:10",
            "ans:0123abcd:89abcdef:0123456789abcdef:y",
            "ans:0123abcd:89abcdef:0123456789abcdef:1:",
            "ans:0123abcd:89abcdef:0123456789abcdef:1 ",
            " ans:0123abcd:89abcdef:0123456789abcdef:1",
            "ANS:0123abcd:89abcdef:0123456789abcdef:1",
            "ans:0123ABCD:89abcdef:0123456789abcdef:1",
            "ans:0123abc:89abcdef:0123456789abcdef:1",
            "ans:0123abcg:89abcdef:0123456789abcdef:1",
            "ans:0123abcd:89abcdef:0123456789abcdef0:1",
            "ans:0123abcd:89abcdef:01234567é89abcde:1",
            "ans:0123abcd::0123456789abcdef:1",
            "ask:",
            "ask:A",
            "ask:a b",
            "ask:é",
            "ask:0123456789012345678901234567890123456789a",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_token_that_would_not_come_back_makes_no_button() {
        assert_eq!(of_question("stop:0123abcd-x").as_deref(), Some("ask:stop:0123abcd-x"));
        assert_eq!(of_question("Stop"), None);
        assert_eq!(of_question(""), None);
        assert_eq!(of_question(&"a".repeat(41)), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(data in ".{0,80}|ans(:[0-9a-f]{7,9}){2}:[0-9a-f]{15,17}:.{0,2}") {
            if let Some(TapOn::Card { offer: OfferName { prompt, session, nonce }, tap }) = parse(&data) {
                prop_assert_eq!(format!("ans:{prompt}:{session}:{nonce}:{}", value(tap).unwrap()), data);
            }
        }

        #[test]
        fn tokens_come_back(token in "[a-z0-9:-]{1,40}") {
            let data = of_question(&token).unwrap();
            prop_assert!(data.len() <= MOST_BYTES);
            prop_assert_eq!(parse(&data), Some(TapOn::Question { token }));
        }
    }
}
