//! The name that a person meant who has mistyped it.

/// The name that is nearest to this word, if one is near.
pub(crate) fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let continues = |name: &&&str| {
        let name = name.to_lowercase();
        word.len() >= 4 && (name.starts_with(&word) || word.starts_with(&name))
    };
    // A third of the letters may differ; more, and the suggestion is a guess.
    let nearest = names
        .iter()
        .map(|name| (distance(&word, &name.to_lowercase()), *name))
        .filter(|(distance, name)| *distance <= word.chars().count().max(name.len()) / 3)
        .min();
    nearest.map(|(_, name)| name).or_else(|| names.iter().find(continues).copied())
}

/// Letters to insert, remove, replace or swap with their neighbour to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().collect();
    let other: Vec<char> = other.chars().collect();
    let mut rows = vec![(0..=other.len()).collect::<Vec<_>>()];
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}
