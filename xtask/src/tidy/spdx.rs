//! Licence expressions: `MIT OR (Apache-2.0 WITH LLVM-exception AND ISC)`, and the old `MIT/Apache-2.0`.
//!
//! `WITH` binds closest, then `AND`, then `OR`, as in SPDX annex D. The slash of older manifests meant `OR`.

/// One licence, as `ID` or `ID WITH EXCEPTION`.
type Licence<'a> = &'a str;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    Forbidden,
    /// The text is not a licence expression.
    Unreadable,
}

/// Whether somebody who takes only licences of the list may use the package.
pub(crate) fn evaluate(expression: &str, allowed: &[Licence<'_>]) -> Verdict {
    let words = words(expression);
    let mut parser = Parser { words: &words, allowed };
    match parser.any() {
        Some(true) if parser.words.is_empty() => Verdict::Allowed,
        Some(false) if parser.words.is_empty() => Verdict::Forbidden,
        _ => Verdict::Unreadable,
    }
}

fn words(expression: &str) -> Vec<String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// Each method eats what it understands and is `None` where the text is no expression.
struct Parser<'a> {
    words: &'a [String],
    allowed: &'a [Licence<'a>],
}

impl Parser<'_> {
    fn any(&mut self) -> Option<bool> {
        let mut holds = self.all()?;
        while self.eat("OR") {
            holds |= self.all()?;
        }
        Some(holds)
    }

    fn all(&mut self) -> Option<bool> {
        let mut holds = self.one()?;
        while self.eat("AND") {
            holds &= self.one()?;
        }
        Some(holds)
    }

    fn one(&mut self) -> Option<bool> {
        if self.eat("(") {
            let holds = self.any()?;
            return self.eat(")").then_some(holds);
        }
        let mut licence = self.id()?;
        if self.eat("WITH") {
            licence = format!("{licence} WITH {}", self.id()?);
        }
        Some(self.allowed.contains(&licence.as_str()))
    }

    fn id(&mut self) -> Option<String> {
        let (first, rest) = self.words.split_first()?;
        if ["AND", "OR", "WITH", "(", ")"].contains(&first.as_str()) {
            return None;
        }
        self.words = rest;
        Some(first.clone())
    }

    fn eat(&mut self, word: &str) -> bool {
        match self.words.split_first() {
            Some((first, rest)) if first == word => {
                self.words = rest;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, expected: Verdict) {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "ISC", "Unicode-3.0"];
        assert_eq!(evaluate(expression, &allowed), expected, "{expression}");
    }

    #[test]
    fn expressions() {
        use Verdict::{Allowed, Forbidden, Unreadable};
        check("MIT", Allowed);
        check("GPL-3.0-only", Forbidden);
        check("GPL-3.0-only OR MIT", Allowed);
        check("MIT/Apache-2.0", Allowed);
        check("GPL-2.0/MIT", Allowed);
        check("MIT AND GPL-3.0-only", Forbidden);
        check("MIT AND ISC", Allowed);
        // AND binds closer than OR.
        check("MIT OR ISC AND GPL-3.0-only", Allowed);
        check("GPL-3.0-only AND ISC OR MIT", Allowed);
        check("(MIT OR ISC) AND GPL-3.0-only", Forbidden);
        check("(MIT OR Apache-2.0) AND Unicode-3.0", Allowed);
        check("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", Allowed);
        check("Apache-2.0 WITH LLVM-exception", Allowed);
        check("Apache-2.0 WITH Classpath-exception-2.0", Forbidden);
        check("MIT WITH LLVM-exception AND ISC", Forbidden);
        check("((MIT))", Allowed);
        // An identifier is that licence and no other: "or later" is another promise.
        check("Apache-2.0+", Forbidden);
        check("mit", Forbidden);
        for broken in ["", "MIT OR", "AND MIT", "(MIT", "MIT)", "MIT ISC", "MIT WITH", "()", "MIT OR OR ISC"]
        {
            check(broken, Unreadable);
        }
    }
}
