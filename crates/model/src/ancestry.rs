//! Who descends from whom: the walk from a process to the first one, over whatever tells parents.
//!
//! A process inside a supervised session may not answer prompts; a hub that was started by the tool may not type.

/// Longest walk. Deeper trees exist only where somebody builds them to tire the walk out: those count as inside.
const LONGEST: usize = 256;

/// `process` and its ancestors, nearest first, as `parent_of` tells them. `None` if the walk cannot be finished:
/// a process vanished meanwhile, or the tree is absurdly deep.
pub fn lineage(process: i32, parent_of: impl Fn(i32) -> Option<i32>) -> Option<Vec<i32>> {
    let mut line = vec![process];
    let mut current = process;
    while current > 1 {
        if line.len() >= LONGEST {
            return None;
        }
        current = parent_of(current)?;
        if current > 0 {
            line.push(current);
        }
    }
    Some(line)
}

/// The parent's number in the text of `/proc/PID/stat`. The name in parentheses is the process's own choice and
/// may hold anything, also parentheses and blanks, so the fields are counted from the last one.
pub fn parent_in_stat(stat: &str) -> Option<i32> {
    field_after_name(stat, 1)?.parse().ok()
}

/// When the process started, in clock ticks since boot: with the pid it names a process for ever.
pub fn start_in_stat(stat: &str) -> Option<u64> {
    field_after_name(stat, 19)?.parse().ok()
}

fn field_after_name(stat: &str, index: usize) -> Option<&str> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_cannot_forge_its_parent() {
        let stat = "42 (evil) S 1 (x) S 7 42 7 34816 42 4194304 1 0 0 0 5 6 0 0 20 0 1 0 98765 1 2";
        assert_eq!(parent_in_stat(stat), Some(7));
        assert_eq!(start_in_stat(stat), Some(98765));
        assert_eq!(parent_in_stat("garbage"), None);
    }

    #[test]
    fn a_walk_ends_at_the_first_process_or_is_not_trusted() {
        let parents = |pid| match pid {
            30 => Some(20),
            20 => Some(1),
            1 => Some(0),
            _ => None,
        };
        assert_eq!(lineage(30, parents), Some(vec![30, 20, 1]));
        assert_eq!(lineage(99, parents), None);
        assert_eq!(lineage(5, |pid| Some(pid + 1)), None);
    }
}
