//! A whole file.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{inline, mark_class, samples};
use crate::page::{Page, Summary};

/// How it looks: in light, in the dark, and on paper.
const STYLE: &str = include_str!("style.css");

/// What it may load: nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

impl Page {
    /// The file, byte for byte the same for the same page.
    pub fn html(&self) -> String {
        let mut text = self.markup().into_string();
        text.push('\n');
        text
    }

    fn markup(&self) -> Markup {
        let has_samples = self.sections.iter().any(|section| !section.samples.is_empty());
        let policy = if has_samples { POLICY.to_owned() + &samples::policy() } else { POLICY.to_owned() };
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#answers" { "To the answers" }
                    header {
                        h1 { (self.title) }
                        dl {
                            @for (name, value) in &self.about {
                                div { dt { (name) } dd { (value) } }
                            }
                        }
                    }
                    main #answers {
                        @if !self.lead.is_empty() { p { b { (inline(&self.lead)) } } }
                        @if !self.summaries.is_empty() {
                            nav aria-label="Answers" {
                                ol.answers { @for each in &self.summaries { (summary(each)) } }
                            }
                        }
                        (self.remarks.html())
                        @for (place, section) in self.sections.iter().enumerate() {
                            section id=(anchor(place)) aria-labelledby=(format!("{}-name", anchor(place))) {
                                h2 id=(format!("{}-name", anchor(place))) { (section.name) }
                                @if !section.about.is_empty() { p.about { (inline(&section.about)) } }
                                (section.document.html())
                                @for each in &section.samples { (samples::samples(each)) }
                            }
                        }
                        @if has_samples { (samples::program()) }
                    }
                }
            }
        }
    }
}

fn summary(summary: &Summary) -> Markup {
    let Summary { section, name, mark, sentence } = summary;
    html! {
        li class=(mark_class(*mark)) {
            span.sign aria-hidden="true" { (mark.sign()) }
            a href=(format!("#{}", anchor(*section))) { (name) }
            span.aside { (mark.words()) ": " }
            span { (inline(sentence)) }
        }
    }
}

/// The name of a section in a link. Names of users hold anything; a number is always one.
fn anchor(place: usize) -> String {
    format!("part-{}", place + 1)
}
