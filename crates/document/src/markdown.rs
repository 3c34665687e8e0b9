//! Words and pages in Markdown, as a forge shows them: in a comment, or in the summary of a job.
//!
//! Nothing of the words is markup, a link, a mention or a reference to anybody: each letter that a reader of
//! Markdown could take for its own is written as a number (GitHub Flavored Markdown Spec, 0.29, 6.2).

use std::fmt::Write;

use crate::page::Page;
use crate::text::{shortened, spans};
use crate::words::comma;

/// Answers that are shown. With what is folded below them, a line each, a page has 40 lines at most.
const ANSWERS: usize = 26;

/// A page is not longer: GitHub takes no comment of more than 65 536 letters.
const LONGEST_PAGE: usize = 60_000;

/// How wide text is that stands as it is.
const WIDTH: usize = 100;

/// Text of which nothing is markup, a link, a mention or a reference, on one line. What is looked for after
/// entities are resolved is broken by a space of no width.
pub fn plain(text: &str) -> String {
    let mut escaped = String::new();
    let text = text.replace("://", ":\u{200b}//").replace("www.", "www\u{200b}.");
    for letter in text.chars() {
        match letter {
            letter if letter.is_control() => escaped.push(' '),
            '@' | '#' => {
                let _ = write!(escaped, "&#{};\u{200b}", u32::from(letter));
            }
            '&' | '<' | '>' | '"' | '\'' | '`' | '*' | '_' | '[' | ']' | '\\' | '!' | '|' | '~' | '$'
            | '{' | '}' => {
                let _ = write!(escaped, "&#{};", u32::from(letter));
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// Text in which what stands between two backticks is code; nothing else in it is markup.
pub fn inline(text: &str) -> String {
    let span = |(part, is_code)| match is_code {
        true => format!("<code>{}</code>", plain(part)),
        false => plain(part),
    };
    spans(text).into_iter().map(span).collect()
}

impl Page {
    /// The page for a pull request: its answers in at most 40 lines, and all else folded below them. What
    /// does not fit into a comment is left out, and said to be.
    pub fn markdown(&self) -> String {
        const LONGEST_ANSWER: usize = 600;
        let mut text = format!("### {}\n\n", plain(&self.title));
        if !self.lead.is_empty() {
            let _ = writeln!(text, "{}\n", inline(&self.lead));
        }
        for summary in self.summaries.iter().take(ANSWERS) {
            let sentence = inline(&shortened(&summary.sentence, LONGEST_ANSWER));
            let (sign, name) = (summary.mark.sign(), plain(&summary.name));
            let _ = writeln!(text, "- {sign} <code>{name}</code>: {sentence}");
        }
        if let Some(more) = self.summaries.len().checked_sub(ANSWERS).filter(|more| *more > 0) {
            let _ = writeln!(text, "- and {more} more");
        }
        let about: String = self.about.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
        fold(&mut text, "Where and how it was measured", &(about + &self.remarks.text(WIDTH)));
        let mut left_out = Vec::new();
        for section in &self.sections {
            let mut part = String::new();
            let body = format!("{}\n\n{}", section.about, section.document.text(WIDTH));
            fold(&mut part, &section.name, &body);
            if text.len() + part.len() > LONGEST_PAGE {
                left_out.push(plain(&section.name));
            } else {
                text.push_str(&part);
            }
        }
        if !left_out.is_empty() {
            let _ = writeln!(text, "\nToo long for a comment, and left out: {}.", comma(left_out));
        }
        text
    }
}

/// Text that stands as it is and is folded under a title.
fn fold(text: &mut String, title: &str, body: &str) {
    // Within an element of HTML nothing is Markdown, but for an empty line, which ends some of them.
    let escaped = body.trim_end().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let title = plain(title);
    let _ =
        write!(text, "\n<details>\n<summary>{title}</summary>\n\n<pre>\n{escaped}\n</pre>\n\n</details>\n");
}

#[cfg(test)]
mod tests {
    use tenbin_model::Verdict;

    use super::*;
    use crate::{Document, Mark, Section, Summary};

    fn page(answers: usize, words: &str) -> Page {
        let mut document = Document::new();
        document.paragraph(2, words).line(words);
        let summary = Summary {
            section: 0,
            name: words.into(),
            mark: Mark::Verdict(Verdict::Refused),
            sentence: words.into(),
        };
        Page {
            title: words.into(),
            about: vec![(words.into(), words.into())],
            lead: words.into(),
            summaries: vec![summary; answers],
            remarks: document.clone(),
            sections: vec![Section {
                name: words.into(),
                about: words.into(),
                document,
                ..Section::default()
            }],
        }
    }

    /// Lines that are seen while everything is folded.
    fn seen(markdown: &str) -> usize {
        let mut inside = false;
        let is_seen = |line: &&str| {
            let was_inside = inside;
            inside = *line == "<details>" || inside && *line != "</details>";
            !was_inside
        };
        markdown.lines().filter(is_seen).count()
    }

    #[test]
    fn of_very_many_answers_forty_lines_are_seen_at_most() {
        let markdown = page(1_000, "cas is dearer").markdown();
        assert!(markdown.starts_with(
            "### cas is dearer\n\ncas is dearer\n\n- ○ <code>cas is dearer</code>: cas is dearer\n"
        ));
        assert!(markdown.contains("- and 974 more\n"), "{markdown}");
        assert!(seen(&markdown) <= 40, "{}: {markdown}", seen(&markdown));
    }

    #[test]
    fn words_are_never_markup() {
        let markdown = page(1, "</pre></details><script>@all #1 [x](https://y.z) **b** | `a\n- b").markdown();
        for forbidden in ["<script", "https://y", "**", "[x]", " #1", "@all [", "</pre></details>"] {
            let visible = markdown.split("<pre>").next().unwrap_or_default();
            assert!(!visible.contains(forbidden), "{forbidden}: {markdown}");
        }
        for (tag, count) in [("</pre>", 2), ("<script", 0), ("</details>", 2)] {
            assert_eq!(markdown.matches(tag).count(), count, "{tag}: {markdown}");
        }
    }

    #[test]
    fn what_is_too_long_for_a_comment_is_named() {
        let mut long = page(1, "short");
        long.sections[0].document.line("x".repeat(70_000));
        let markdown = long.markdown();
        assert!(markdown.len() < 1_000, "{}", markdown.len());
        assert!(markdown.ends_with("\nToo long for a comment, and left out: short.\n"), "{markdown}");
    }
}
