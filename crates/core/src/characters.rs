//! Characters that names and identifiers must not have: they are invisible, or show a text in another order.

use crate::refusal::Refusal;

/// What a text is for, and so which characters without a glyph it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// Compared by programs, and read by people all the same: none of them.
    Identifier,
    /// Read by people: variation selectors; joiners between letters of scripts that join, and within emoji.
    Name,
    /// Whole sentences: all but those that embed, override or isolate a direction.
    Prose,
}

/// Says which character a text of this kind must not have, if it has one.
pub fn check_characters(text: &str, kind: TextKind) -> Result<(), String> {
    if text.is_ascii() {
        return Ok(());
    }
    let mut before = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_allowed = match kind {
            TextKind::Prose => !is_direction_control(letter),
            TextKind::Identifier => !is_invisible(letter),
            TextKind::Name => {
                !is_invisible(letter)
                    || is_variation_selector(letter)
                    || joins(before, letter, letters.peek().copied())
            }
        };
        if !is_allowed {
            return Err(format!("must not contain the invisible character U+{:04X}", u32::from(letter)));
        }
        before = Some(letter);
    }
    Ok(())
}

/// Refuses a text that has such a character: see [`check_characters`].
pub(crate) fn refuse_invisible(
    text: &str,
    kind: TextKind,
    pointer: impl std::fmt::Display,
) -> Result<(), Refusal> {
    check_characters(text, kind).map_err(|message| Refusal::invalid(pointer, message))
}

/// Whether a character opens or closes an embedding, an override or an isolate, behind which the order of text changes.
fn is_direction_control(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Variants of ideographs in Japanese names, of Mongolian letters and of emoji.
fn is_variation_selector(letter: char) -> bool {
    matches!(
        letter,
        '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
    )
}

/// The code points that Unicode calls default ignorable, and the separators and annotations that no font shows.
fn is_invisible(letter: char) -> bool {
    is_variation_selector(letter)
        || matches!(
            letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
                | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Whether a character is a joiner or non-joiner that its neighbours need.
fn joins(before: Option<char>, letter: char, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    let is_between = |is_kind: fn(char) -> bool| is_kind(before) && is_kind(after);
    let is_joiner = letter == '\u{200d}';
    (is_joiner || letter == '\u{200c}') && is_between(is_joining_letter) || is_joiner && is_between(is_emoji)
}

/// A letter, or a vowel killer, of a script in which joiners change what is shown: Arabic and its neighbours, those of
/// India and Sri Lanka, Myanmar, Khmer and Mongolian.
fn is_joining_letter(letter: char) -> bool {
    let killers = [
        '\u{94d}', '\u{9cd}', '\u{a4d}', '\u{acd}', '\u{b4d}', '\u{bcd}', '\u{c4d}', '\u{ccd}', '\u{d4d}',
        '\u{dca}', '\u{1039}', '\u{103a}', '\u{17d2}',
    ];
    let is_of_script =
        matches!(letter, '\u{600}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}');
    is_of_script && (letter.is_alphabetic() || killers.contains(&letter))
}

/// A pictograph, or the selector that makes one of a sign.
fn is_emoji(letter: char) -> bool {
    matches!(letter, '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_the_invisible_characters_that_its_kind_needs_and_no_other() {
        const ALL: [bool; 3] = [true; 3];
        const NOT_IN_IDENTIFIERS: [bool; 3] = [false, true, true];
        const IN_PROSE: [bool; 3] = [false, false, true];
        const NOWHERE: [bool; 3] = [false; 3];
        let rows = [
            ("Gala 2027", ALL),
            ("Кассa 1", ALL),
            ("安 安", ALL),
            ("\u{645}\u{648}\u{633}\u{6cc}\u{642}\u{6cc}", ALL),
            ("e\u{301}t\u{e9}", ALL),
            ("\u{1f3ad}", ALL),
            // Persian `mikhaham`; Hindi `ksha` with a visible half form; Sinhala `shri`.
            ("\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}", NOT_IN_IDENTIFIERS),
            ("\u{915}\u{94d}\u{200d}\u{937}", NOT_IN_IDENTIFIERS),
            ("\u{915}\u{94d}\u{200c}\u{937}", NOT_IN_IDENTIFIERS),
            ("\u{dc1}\u{dca}\u{200d}\u{dbb}\u{dd3}", NOT_IN_IDENTIFIERS),
            // An ideograph of a Japanese name in its variant, a heart in colour, a family, the rainbow flag.
            ("\u{845b}\u{e0100}", NOT_IN_IDENTIFIERS),
            ("\u{2764}\u{fe0f}", NOT_IN_IDENTIFIERS),
            ("\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}", NOT_IN_IDENTIFIERS),
            ("\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}", NOT_IN_IDENTIFIERS),
            // Joiners where nothing joins: before, behind, twice, between other letters, between a letter and a digit.
            ("\u{200c}\u{62e}", IN_PROSE),
            ("\u{62e}\u{200c}", IN_PROSE),
            ("\u{62e}\u{200c}\u{200c}\u{62e}", IN_PROSE),
            ("\u{62e}\u{200c} \u{62e}", IN_PROSE),
            ("a\u{200c}b", IN_PROSE),
            ("a\u{200d}b", IN_PROSE),
            ("\u{645}\u{200c}1", IN_PROSE),
            ("\u{1f468}\u{200c}\u{1f469}", IN_PROSE),
            // Zero width, soft hyphen, byte order mark, marks of direction, fillers, tags, line separator.
            ("ann\u{200b}", IN_PROSE),
            ("\u{feff}ann", IN_PROSE),
            ("an\u{ad}n", IN_PROSE),
            ("an\u{2060}n", IN_PROSE),
            ("ann\u{200e}", IN_PROSE),
            ("ann\u{200f}", IN_PROSE),
            ("ann\u{61c}", IN_PROSE),
            ("ann\u{3164}", IN_PROSE),
            ("ann\u{e0061}", IN_PROSE),
            ("an\u{2028}n", IN_PROSE),
            // Embeddings, overrides, isolates.
            ("\u{202a}ann", NOWHERE),
            ("ann\u{202e}", NOWHERE),
            ("a\u{2066}n", NOWHERE),
            ("a\u{2069}n", NOWHERE),
        ];
        for (text, allowed) in rows {
            let kinds = [TextKind::Identifier, TextKind::Name, TextKind::Prose];
            let found = kinds.map(|kind| check_characters(text, kind).is_ok());
            assert_eq!(found, allowed, "{text:?}");
        }
        let message = check_characters("ann\u{202e}", TextKind::Prose).unwrap_err();
        assert_eq!(message, "must not contain the invisible character U+202E");
    }
}
