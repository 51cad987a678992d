//! How two texts differ, line by line.

/// The most lines of a text that are compared.
const LINES: usize = 2_000;
/// How many lines stand around a difference.
const AROUND: usize = 3;
/// The most characters of a line that stand in a page.
const WIDTH: usize = 400;

/// One line of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'t> {
    Same(&'t str),
    Removed(&'t str),
    Added(&'t str),
    /// So many lines that are the same are left out.
    LeftOut(usize),
}

impl<'t> Line<'t> {
    pub(super) const fn class(&self) -> &'static str {
        match self {
            Self::Same(_) => "same",
            Self::Removed(_) => "removed",
            Self::Added(_) => "added",
            Self::LeftOut(_) => "left-out",
        }
    }

    pub(super) const fn sign(&self) -> &'static str {
        match self {
            Self::Same(_) => " ",
            Self::Removed(_) => "−",
            Self::Added(_) => "+",
            Self::LeftOut(_) => "…",
        }
    }

    /// What is shown of it, from a place on.
    fn text(&self, from: usize) -> String {
        match self {
            Self::Same(text) | Self::Removed(text) | Self::Added(text) => cut(text, from),
            Self::LeftOut(lines) => {
                super::words::counted(*lines as u64, "line is the same", "lines are the same")
            }
        }
    }
}

/// As many characters as stand in a page, from a place on.
fn cut(text: &str, from: usize) -> String {
    let (before, rest) = text.split_at(from);
    let end = rest.char_indices().nth(WIDTH).map_or(rest.len(), |(end, _)| end);
    let left_out = |part: &str| match part.chars().count() as u64 {
        0 => String::new(),
        count => format!("⟨{}⟩", super::words::counted(count, "character", "characters")),
    };
    format!("{}{}{}", left_out(before), &rest[..end], left_out(&rest[end..]))
}

/// Where two lines that are too long for a page begin to differ, and a little before.
fn first_difference(one: &str, other: &str) -> usize {
    let same = one
        .chars()
        .zip(other.chars())
        .take_while(|(one, other)| one == other);
    let start = same.count().saturating_sub(WIDTH / 4);
    one.char_indices()
        .nth(start)
        .map_or(one.len(), |(place, _)| place)
}

/// Lines as they are shown: of one that is too long, what differs from the one that it takes the place of.
pub(super) fn texts(lines: &[Line<'_>]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::with_capacity(lines.len());
    let mut gone: Vec<(usize, &str)> = Vec::new();
    for line in lines {
        let at = texts.len();
        let mut from = 0;
        match line {
            Line::Removed(text) => gone.push((at, text)),
            Line::Added(text) if !gone.is_empty() => {
                let (place, before) = gone.remove(0);
                if before.len().max(text.len()) > WIDTH {
                    from = first_difference(text, before);
                    texts[place] = lines[place].text(first_difference(before, text));
                }
            }
            _ => gone.clear(),
        }
        texts.push(line.text(from));
    }
    texts
}

/// The lines of both; none if they are too long to compare, and what is the same far from a difference left out.
pub(super) fn between<'t>(before: &'t str, after: &'t str) -> Option<Vec<Line<'t>>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    if old.len() > LINES || new.len() > LINES {
        return None;
    }
    Some(folded(&compared(&old, &new)))
}

/// The longest common subsequence of what is between the same beginning and the same end.
fn compared<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    let head = old
        .iter()
        .zip(new)
        .take_while(|(one, other)| one == other)
        .count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(|(one, other)| one == other)
        .count();
    let (old_core, new_core) = (
        &old_rest[..old_rest.len() - tail],
        &new_rest[..new_rest.len() - tail],
    );
    let mut lines: Vec<Line<'t>> = old[..head].iter().map(|line| Line::Same(line)).collect();
    lines.extend(core(old_core, new_core));
    lines.extend(
        old_rest[old_rest.len() - tail..]
            .iter()
            .map(|line| Line::Same(line)),
    );
    lines
}

fn core<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    let width = new.len() + 1;
    // How many lines are common behind each place.
    let mut common = vec![0u16; (old.len() + 1) * width];
    for row in (0..old.len()).rev() {
        for column in (0..new.len()).rev() {
            common[row * width + column] = match old[row] == new[column] {
                true => common[(row + 1) * width + column + 1] + 1,
                false => common[(row + 1) * width + column].max(common[row * width + column + 1]),
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut lines = Vec::new();
    while row < old.len() || column < new.len() {
        let gone = common.get((row + 1) * width + column).copied();
        let come = (column < new.len()).then(|| common[row * width + column + 1]);
        match (old.get(row), new.get(column)) {
            (Some(one), Some(other)) if one == other => {
                lines.push(Line::Same(one));
                (row, column) = (row + 1, column + 1);
            }
            (Some(one), _) if come.is_none() || gone >= come => {
                lines.push(Line::Removed(one));
                row += 1;
            }
            (_, Some(other)) => {
                lines.push(Line::Added(other));
                column += 1;
            }
            _ => break,
        }
    }
    lines
}

fn folded<'t>(lines: &[Line<'t>]) -> Vec<Line<'t>> {
    let differs = |line: &Line<'_>| !matches!(line, Line::Same(_));
    let mut near = vec![false; lines.len()];
    for (place, _) in lines.iter().enumerate().filter(|(_, line)| differs(line)) {
        let (from, to) = (
            place.saturating_sub(AROUND),
            (place + AROUND + 1).min(lines.len()),
        );
        near[from..to].fill(true);
    }
    let mut out = Vec::new();
    for (line, near) in lines.iter().zip(near) {
        match (near, out.last_mut()) {
            (true, _) => out.push(*line),
            (false, Some(Line::LeftOut(lines))) => *lines += 1,
            (false, _) => out.push(Line::LeftOut(1)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was before and what is after, from a comparison without what is left out.
    fn sides(lines: &[Line<'_>]) -> (Vec<String>, Vec<String>) {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for line in lines {
            match line {
                Line::Same(text) => {
                    before.push((*text).to_owned());
                    after.push((*text).to_owned());
                }
                Line::Removed(text) => before.push((*text).to_owned()),
                Line::Added(text) => after.push((*text).to_owned()),
                Line::LeftOut(_) => {}
            }
        }
        (before, after)
    }

    #[test]
    fn a_comparison_tells_both_sides() {
        for (before, after) in [
            ("", ""),
            ("a", ""),
            ("", "a\nb"),
            ("a\nb\nc\nd", "a\nc\nx\nd"),
            ("a\nb\na\nb", "b\na\nb\na"),
            ("x\ny", "p\nq\nr"),
        ] {
            let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
            let lines = compared(&old, &new);
            let (one, other) = sides(&lines);
            assert_eq!(
                (one.join("\n"), other.join("\n")),
                (before.to_owned(), after.to_owned()),
                "{lines:?}"
            );
        }
        let lines = between("{\n  \"a\": 1\n}", "{\n  \"a\": 2\n}").unwrap();
        assert_eq!(lines.iter().filter(|line| line.class() == "same").count(), 2);
    }

    #[test]
    fn what_is_far_from_a_difference_is_left_out() {
        let before: Vec<String> = (0..100).map(|line| line.to_string()).collect();
        let mut after = before.clone();
        "changed".clone_into(&mut after[50]);
        let (before, after) = (before.join("\n"), after.join("\n"));
        let lines = between(&before, &after).unwrap();
        assert_eq!(lines.len(), 2 + 2 * AROUND + 2);
        assert_eq!(lines.first(), Some(&Line::LeftOut(47)));
    }

    #[test]
    fn of_a_long_line_what_differs_is_shown() {
        let long = |middle: &str| format!("{}{middle}{}", "é".repeat(70_000), "z".repeat(90_000));
        let (before, after) = (
            format!("one\n{}\nlast", long("old")),
            format!("one\n{}\nmore\nlast", long("new")),
        );
        let lines = between(&before, &after).unwrap();
        let texts = texts(&lines);
        assert!(
            texts.iter().all(|text| text.chars().count() < WIDTH + 50),
            "{texts:?}"
        );
        let shown = |sign, text: &str| {
            let mut lines = lines.iter().zip(&texts);
            lines.any(|(line, told)| line.sign() == sign && told.contains(text))
        };
        assert!(
            shown("−", "éoldz") && shown("+", "énewz") && shown("+", "more"),
            "{texts:?}"
        );
        assert!(texts[1].starts_with("⟨69,900 characters⟩é"), "{}", texts[1]);
        assert!(texts[1].ends_with("z⟨89,703 characters⟩"), "{}", texts[1]);
        let alone = long("");
        let alone = between("", &alone).unwrap();
        assert!(super::texts(&alone)[0].ends_with("⟨159,600 characters⟩"));
    }

    #[test]
    fn what_is_too_long_is_not_compared() {
        let long = "a\n".repeat(LINES + 1);
        assert!(between(&long, "a").is_none());
    }
}
