//! The pages as a site: `docs` as it is with the README before it, a reference that the program tells of
//! itself, and mdBook, which makes HTML and a search of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::architecture::{Architecture, Target};
use crate::command::Command;
use crate::failure::Failure;
use crate::files::{cannot, read, write};
use crate::step::Outcome;
use crate::workspace::{Profile, Workspace};

/// mdBook's version; docs/dependencies.md has its licence and why it is used.
const VERSION: &str = "0.5.4";

/// Pages of the root that belong to the site.
const OF_ROOT: [&str; 5] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];

/// Builds the site below the target folder. Where it will be found, at `url`, is for its map alone.
pub(crate) fn run(workspace: &Workspace, url: Option<&str>) -> Result<(), Failure> {
    let html = build(workspace, &installed(workspace)?, url)?;
    println!("The site: {}", html.join("index.html").display());
    Ok(())
}

/// As a step of `cargo xtask test`.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome, Failure> {
    match installed(workspace) {
        Ok(program) => build(workspace, &program, None).map(|_| Outcome::Passed),
        Err(failure) => {
            println!("{failure}");
            Ok(Outcome::Skipped(format!("missing: mdBook {VERSION}; to install: cargo xtask site")))
        }
    }
}

fn installed(workspace: &Workspace) -> Result<PathBuf, Failure> {
    workspace.tool("mdbook", VERSION, &["--no-default-features", "--features", "search"])
}

/// The folder of the finished pages.
fn build(workspace: &Workspace, mdbook: &Path, url: Option<&str>) -> Result<PathBuf, Failure> {
    let tenbin = workspace.build(Architecture::HERE, Profile::Dev)?;
    let ask = |words: &[&str]| Architecture::HERE.command(&tenbin).arguments(words).read();
    let mut pages = BTreeMap::new();
    let docs = workspace.root().join("docs");
    gather(&docs, &docs, &mut pages)?;
    // The folder docs is the root of the site, and the README its index.
    for text in pages.values_mut() {
        *text = text.replace("](../../README.md", "](../index.html");
    }
    for name in OF_ROOT {
        pages.insert(name.into(), read(&workspace.root().join(name))?.replace("](docs/", "]("));
    }
    describe(&mut pages, &ask)?;
    let reference = reference(&mut pages, &ask)?;
    let summary = pages.get_mut("SUMMARY.md").expect("docs has a summary");
    *summary = summary.replace("](../", "](") + "\n# Reference\n\n" + &reference;
    let folder = workspace.scratch("site")?;
    write(&folder.join("book.toml"), &read(&workspace.root().join("book.toml"))?)?;
    for (name, text) in &pages {
        write(&folder.join("src").join(name), text)?;
    }
    let path = url.and_then(|url| url.split_once("://")?.1.split_once('/')).map(|(_, path)| path);
    let mut command = Command::new(mdbook).arguments(["build"]).argument(&folder);
    if let Some(path) = path {
        command = command.variable("MDBOOK_OUTPUT__HTML__SITE_URL", format!("/{path}"));
    }
    command.run()?;
    let html = folder.join("html");
    let mut names = Vec::new();
    for (name, text) in pages.iter().filter(|(name, _)| is_page(name)) {
        let name = name.strip_suffix(".md").unwrap_or(name).replace("README", "index") + ".html";
        let page = html.join(&name);
        write(&page, &named(&read(&page)?, text))?;
        names.push(name);
    }
    let dead = dead_links(&html, &names)?;
    if !dead.is_empty() {
        let reason = format!("{} links lead nowhere:\n  {}", dead.len(), dead.join("\n  "));
        return Err(Failure::new("approve the site", reason, "correct them; the sources are in docs"));
    }
    if let Some(url) = url {
        write(&html.join("sitemap.xml"), &sitemap(url.trim_end_matches('/'), &names))?;
    }
    println!("{} pages, no dead link among them", names.len());
    Ok(html)
}

fn is_page(name: &str) -> bool {
    name.ends_with(".md") && name != "SUMMARY.md"
}

/// Every file of a folder, by its path from `root`.
fn gather(folder: &Path, root: &Path, files: &mut BTreeMap<String, String>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder).map_err(|error| cannot("read", folder, &error))? {
        let path = entry.map_err(|error| cannot("read", folder, &error))?.path();
        if path.is_dir() {
            gather(&path, root, files)?;
        } else if let Ok(name) = path.strip_prefix(root) {
            files.insert(name.display().to_string(), read(&path)?);
        }
    }
    Ok(())
}

/// Each question's page gets what the program tells of it: variants, settings, sources.
fn describe(
    pages: &mut BTreeMap<String, String>,
    ask: &impl Fn(&[&str]) -> Result<String, Failure>,
) -> Result<(), Failure> {
    for name in ask(&["list"])?.lines().filter_map(|line| line.split(' ').next()) {
        let described = ask(&["show", name])?;
        let page = pages.get_mut(&format!("questions/{name}.md")).ok_or_else(|| {
            let remedy = "write it; CONTRIBUTING.md says what is on a page";
            Failure::new(format!("find docs/questions/{name}.md"), "there is none", remedy)
        })?;
        page.push_str(&format!(
            "\n## `{name}`: variants, settings, sources\n\n```text\n$ tenbin show {name}\n{described}```\n"
        ));
    }
    Ok(())
}

/// A page a command of the program, with its help, and the schemas. Gives the lines of the summary.
fn reference(
    pages: &mut BTreeMap<String, String>,
    ask: &impl Fn(&[&str]) -> Result<String, Failure>,
) -> Result<String, Failure> {
    let mut summary = String::new();
    let mut names = vec![String::new()];
    while let Some(name) = names.pop() {
        let help = ask(&format!("help {name}").split_whitespace().collect::<Vec<_>>())?;
        let listed = help.split_once("\nCommands:\n").map_or("", |(_, list)| list);
        let below = listed.lines().take_while(|line| !line.is_empty());
        let below = below.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let below = below.filter(|below| !["", "help"].contains(below)).collect::<Vec<_>>();
        names.extend(below.into_iter().rev().map(|below| format!("{name} {below}")));
        let name = format!("tenbin{name}");
        let file = format!("reference/{}.md", name.replace(' ', "-"));
        let about = help.lines().next().unwrap_or_default().trim_end_matches('.');
        summary.push_str(&format!("- [{name}]({file})\n"));
        pages.insert(file, format!("# {name}: {about}\n\n```text\n{help}```\n"));
    }
    let mut page = String::from(
        "# JSON schemas of what tenbin answers\n\n`tenbin schema WHAT` prints them.\n\n| what | of which answer |\n|---|---|\n",
    );
    let help = ask(&["schema", "--help"])?;
    for line in help.lines().filter_map(|line| line.trim_start().strip_prefix("- ")) {
        let (name, about) = line.split_once(':').unwrap_or((line, ""));
        page.push_str(&format!("| [{name}](schemas/{name}.json) | {} |\n", about.trim()));
        pages.insert(format!("reference/schemas/{name}.json"), ask(&["schema", name])?);
    }
    pages.insert("reference/schemas.md".into(), page);
    Ok(summary + "- [JSON schemas](reference/schemas.md)\n")
}

/// A finished page under its own title, with its own first paragraph as what a search engine shows of it:
/// mdBook's title is the short name in the summary, and its description that of the book.
fn named(html: &str, markdown: &str) -> String {
    let title = markdown.lines().next().unwrap_or_default().trim_start_matches("# ");
    let paragraph = markdown.split("\n\n").skip(1).find(|it| it.starts_with(|first: char| first != '#'));
    let paragraph = paragraph.filter(|it| !it.starts_with("```")).unwrap_or(title);
    let html = between(html, "<title>", "</title>", &plain(title));
    between(&html, "<meta name=\"description\" content=\"", "\">", &plain(paragraph))
}

fn between(html: &str, start: &str, end: &str, text: &str) -> String {
    let Some((before, rest)) = html.split_once(start) else { return html.into() };
    let Some((_, after)) = rest.split_once(end) else { return html.into() };
    format!("{before}{start}{text}{end}{after}")
}

/// Markdown as text for an attribute.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    // Of a link its words.
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let text = text.replace(['`', '[', '*'], "").replace('&', "&amp;").replace('<', "&lt;");
    let text = text.replace('>', "&gt;").replace('"', "&quot;");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Links within the site that lead to no file, or to no place in it, as `page: target`.
fn dead_links(html: &Path, names: &[String]) -> Result<Vec<String>, Failure> {
    let mut dead = Vec::new();
    for name in names {
        let page = html.join(name);
        let text = read(&page)?;
        for link in text.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().unwrap_or(html).join(path),
            };
            let leads = || {
                if anchor.is_empty() {
                    return target.exists();
                }
                fs::read_to_string(&target).is_ok_and(|text| text.contains(&format!("id=\"{anchor}\"")))
            };
            if !link.contains("://") && !leads() {
                dead.push(format!("{name}: {link}"));
            }
        }
    }
    Ok(dead)
}

fn sitemap(url: &str, names: &[String]) -> String {
    let places = names.iter().map(|name| format!("<url><loc>{url}/{name}</loc></url>\n"));
    let places = places.collect::<String>();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n{places}</urlset>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_own_title_and_description() {
        let html = "<title>short - tenbin</title>\n<meta name=\"description\" content=\"book\">";
        let markdown = "# What is \"x\"?\n\n## Head\n\nOf (`a`)\nand [b](c.md).\n\nMore.\n";
        assert_eq!(
            named(html, markdown),
            "<title>What is &quot;x&quot;?</title>\n<meta name=\"description\" content=\"Of (a) and b.\">"
        );
    }

    #[test]
    fn a_link_to_no_file_or_no_place_is_dead() {
        let folder = std::env::temp_dir().join(format!("tenbin-site-{}", std::process::id()));
        let page = "<a href=\"b.html#here\"><a href=\"b.html#gone\"><a href=\"c.html\"><a href=\"#a\" id=\"a\"><a href=\"https://x\">";
        write(&folder.join("a.html"), page).expect("there is room");
        write(&folder.join("b.html"), "<p id=\"here\">").expect("there is room");
        let dead = dead_links(&folder, &["a.html".into()]);
        fs::remove_dir_all(&folder).expect("it is ours");
        assert_eq!(dead.expect("both can be read"), ["a.html: b.html#gone", "a.html: c.html"]);
    }

    #[test]
    fn the_map_names_every_page() {
        assert!(sitemap("https://a/b", &["c.html".into()]).contains("<loc>https://a/b/c.html</loc>"));
    }
}
