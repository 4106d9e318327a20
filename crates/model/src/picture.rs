//! A terminal's screen as people see it: rows of styled runs and a cursor. For looking at; nothing is recognised on it.

/// A whole screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Picture {
    pub columns: u16,
    /// From the top; as many as the screen is high.
    pub rows: Vec<Row>,
    /// Row and column from zero; `None` while the tool hides it.
    pub cursor: Option<(u16, u16)>,
    pub is_alternate: bool,
}

/// The changes from one picture to the next of the same size, or a whole new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub columns: u16,
    pub height: u16,
    pub cursor: Option<(u16, u16)>,
    pub is_alternate: bool,
    /// Row number and what stands there now. All rows, in order, where the picture is whole.
    pub rows: Vec<(u16, Row)>,
    pub is_whole: bool,
}

/// Neighbouring cells of one style each; blanks at the end are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    pub runs: Vec<Run>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub text: String,
    /// Cells that the text covers: wide characters cover two.
    pub cells: u16,
    pub style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Style {
    pub foreground: Colour,
    pub background: Colour,
    pub is_bold: bool,
    pub is_dim: bool,
    pub is_italic: bool,
    pub is_underlined: bool,
    pub is_struck: bool,
    pub is_reversed: bool,
    pub is_hidden: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Colour {
    #[default]
    Default,
    /// 0–15 the named ones, then the cube and the greys.
    Indexed(u8),
    Rgb(u8, u8, u8),
}

impl Picture {
    /// What to tell somebody who has `before`; `None` where nothing changed.
    pub fn change_since(&self, before: Option<&Picture>) -> Option<Change> {
        let same_size =
            before.filter(|before| before.columns == self.columns && before.rows.len() == self.rows.len());
        let rows: Vec<(u16, Row)> = (0u16..)
            .zip(&self.rows)
            .filter(|(number, row)| {
                same_size.is_none_or(|before| before.rows.get(usize::from(*number)) != Some(*row))
            })
            .map(|(number, row)| (number, row.clone()))
            .collect();
        let is_same = same_size.is_some_and(|before| {
            rows.is_empty() && before.cursor == self.cursor && before.is_alternate == self.is_alternate
        });
        (!is_same).then(|| Change {
            columns: self.columns,
            height: self.rows.len() as u16,
            cursor: self.cursor,
            is_alternate: self.is_alternate,
            rows,
            is_whole: same_size.is_none(),
        })
    }

    /// The picture after a change. A change that does not fit leaves it as it is: the next whole one mends it.
    pub fn apply(&mut self, change: Change) {
        if change.is_whole {
            self.rows = vec![Row::default(); usize::from(change.height)];
            self.columns = change.columns;
        } else if change.columns != self.columns || usize::from(change.height) != self.rows.len() {
            return;
        }
        for (number, row) in change.rows {
            if let Some(place) = self.rows.get_mut(usize::from(number)) {
                *place = row;
            }
        }
        self.cursor = change.cursor;
        self.is_alternate = change.is_alternate;
    }

    /// The screen as plain lines, without the empty ones at its end.
    pub fn to_text(&self) -> String {
        let lines: Vec<String> = self.rows.iter().map(Row::to_text).collect();
        let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        lines[..end].join("\n")
    }
}

impl Row {
    pub fn to_text(&self) -> String {
        let text: String = self.runs.iter().map(|run| run.text.as_str()).collect();
        text.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn picture(columns: u16, lines: &[String]) -> Picture {
        let row = |line: &String| Row {
            runs: vec![Run {
                text: line.clone(),
                cells: line.chars().count() as u16,
                style: Style::default(),
            }],
        };
        Picture { columns, rows: lines.iter().map(row).collect(), cursor: Some((0, 0)), is_alternate: false }
    }

    #[test]
    fn nothing_changed_is_nothing_to_tell() {
        let one = picture(10, &["a".to_owned()]);
        assert_eq!(one.change_since(Some(&one)), None);
    }

    #[test]
    fn a_change_for_another_size_is_not_applied() {
        let (mut small, large) = (picture(10, &["a".to_owned()]), picture(20, &["b".to_owned()]));
        let before = small.clone();
        small.apply(Change { is_whole: false, ..large.change_since(None).unwrap() });
        assert_eq!(small, before);
    }

    proptest! {
        #[test]
        fn whoever_applies_the_changes_sees_the_picture(
            pictures in proptest::collection::vec(
                (1u16..4, proptest::collection::vec("[ab]{0,2}", 0..4)), 1..12)
        ) {
            let mut seen: Option<Picture> = None;
            let mut remote = Picture::default();
            for (columns, lines) in pictures {
                let now = picture(columns, &lines);
                if let Some(change) = now.change_since(seen.as_ref()) {
                    remote.apply(change);
                }
                prop_assert_eq!(&remote, &now);
                seen = Some(now);
            }
        }
    }
}
