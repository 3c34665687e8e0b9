//! A whole test, section by section.

use super::assemble::assemble;
use super::condition::{self, Proposition, Quantifier, Question, Scope};
use super::initial::{Initial, initial};
use super::scan::{Token, Tokens, without_comments, words};
use super::{Observable, ReadError, Test, Thread};

const MOST_THREADS: usize = 16;

pub(super) fn test(text: &str) -> Result<Test, ReadError> {
    if text.trim_matches(|each: char| each.is_whitespace() || each.is_control()).is_empty() {
        return Err(ReadError { line: 1, reason: "the file has no text".to_owned() });
    }
    let text = without_comments(text)?;
    let line_at = |offset: usize| 1 + text[..offset].matches('\n').count();
    let error = |offset: usize, reason: &str| ReadError { line: line_at(offset), reason: reason.to_owned() };
    let open = text.find('{');
    // What is no test at all lacks more than braces.
    let name = header(&text[..open.unwrap_or(text.len())])?;
    let open = open.ok_or_else(|| error(0, "there is no initial state in braces"))?;
    let close = text[open..].find('}').map(|length| open + length);
    let close = close.ok_or_else(|| error(open, "the brace is never closed"))?;
    let mut state = Tokens::new(words(&text[open + 1..close], line_at(open))?, line_at(close));
    let mut initial = initial(&mut state)?;
    let rows = rows(&text[close + 1..], line_at(close));
    let (columns, end) = columns(&rows, line_at(close))?;
    let mut threads = columns.iter().map(|column| thread(column)).collect::<Result<Vec<_>, _>>()?;
    for &(thread, register, value) in &initial.registers {
        // A hart without instructions may be named in the initial state, and then does nothing.
        if let Some(thread) = threads.get_mut(thread) {
            thread.registers[register.index()] = value;
        }
    }
    let tail = &text[close + 1 + end..];
    let mut tail_words = words(tail, line_at(close + 1 + end))?;
    name_places(&tail_words, &mut initial);
    tail_words.retain(|(word, _)| *word != Token::Sign("{") && *word != Token::Sign("}"));
    let last_line = line_at(text.len());
    let scope = Scope { places: &initial.places, threads: threads.len() };
    let (observed, filter, question) = asked(&mut Tokens::new(tail_words, last_line), &scope)?;
    Ok(Test { name, places: initial.places, threads, observed, filter, question })
}

/// The name.
fn header(text: &str) -> Result<String, ReadError> {
    let first = text.lines().position(|line| !line.trim().is_empty()).unwrap_or(0);
    let title = text.lines().nth(first).unwrap_or_default().trim();
    let (architecture, name) = title.split_once(char::is_whitespace).unwrap_or((title, ""));
    let error = |reason: String| ReadError { line: first + 1, reason };
    if !architecture.eq_ignore_ascii_case("RISCV") && !architecture.eq_ignore_ascii_case("RISC-V") {
        return Err(error(format!("a test for RISC-V begins with `RISCV` and a name, not with `{title}`")));
    }
    let name = name.trim();
    if name.is_empty() {
        return Err(error("the test has no name".to_owned()));
    }
    Ok(name.to_owned())
}

/// A row of the program: its line, and where it ends in the text after the initial state.
struct ProgramRow<'a> {
    cells: Vec<&'a str>,
    line: usize,
    end: usize,
}

/// The rows that a semicolon ends, up to the condition's first word.
fn rows(text: &str, first_line: usize) -> Vec<ProgramRow<'_>> {
    let mut rows = Vec::new();
    let mut begin = 0;
    while let Some(length) = text[begin..].find(';') {
        let row = &text[begin..begin + length];
        let lead = row.len() - row.trim_start().len();
        if !rows.is_empty() && is_condition(row.trim_start()) {
            break;
        }
        let line = first_line + text[..begin + lead].matches('\n').count();
        begin += length + 1;
        rows.push(ProgramRow { cells: row.split('|').map(str::trim).collect(), line, end: begin });
    }
    rows
}

/// Whether a row is no row any more, but the beginning of what follows the program.
fn is_condition(text: &str) -> bool {
    let first =
        text.split(|each: char| !each.is_ascii_alphanumeric() && each != '~').next().unwrap_or_default();
    matches!(
        first,
        "exists" | "~exists" | "forall" | "locations" | "filter" | "observed" | "final" | "~" | "not"
    )
}

/// The columns, each cell with its line, and where the program ends in the text.
type Columns<'a> = Vec<Vec<(&'a str, usize)>>;

fn columns<'a>(rows: &'a [ProgramRow<'a>], line: usize) -> Result<(Columns<'a>, usize), ReadError> {
    let missing = || ReadError { line, reason: "a row `P0 | P1 ;` is expected".to_owned() };
    let (head, body) = rows.split_first().ok_or_else(missing)?;
    for (number, cell) in head.cells.iter().enumerate() {
        let name = cell.split([':', '@']).next().unwrap_or_default().trim();
        if name != format!("P{number}") {
            let reason = format!("column {number} is headed `{cell}`, not `P{number}`");
            return Err(ReadError { line: head.line, reason });
        }
    }
    if head.cells.len() > MOST_THREADS {
        let reason = format!("a test may have {MOST_THREADS} harts, not {}", head.cells.len());
        return Err(ReadError { line: head.line, reason });
    }
    let mut columns = vec![Vec::new(); head.cells.len()];
    for row in body {
        if row.cells.len() > columns.len() {
            let reason = format!("a row of {} cells under {} harts", row.cells.len(), columns.len());
            return Err(ReadError { line: row.line, reason });
        }
        for (column, cell) in columns.iter_mut().zip(&row.cells) {
            column.push((*cell, row.line));
        }
    }
    Ok((columns, rows.last().map_or(0, |row| row.end)))
}

fn thread(column: &[(&str, usize)]) -> Result<Thread, ReadError> {
    let mut labels = Vec::new();
    let mut lines = Vec::new();
    for &(cell, line) in column {
        let mut rest = cell;
        while let Some((label, after)) = rest.split_once(':') {
            labels.push((label.trim(), lines.len()));
            rest = after.trim_start();
        }
        if !rest.is_empty() {
            lines.push((rest, line));
        }
    }
    let assembled = lines.iter().enumerate().map(|(index, &(text, line))| {
        let target = |name: &str| {
            let &(_, target) = labels.iter().find(|(label, _)| *label == name)?;
            Some(4 * (target as i64 - index as i64))
        };
        assemble(text, &target).map_err(|reason| ReadError { line, reason })
    });
    Ok(Thread { program: assembled.collect::<Result<_, _>>()?, registers: [0; 32] })
}

/// What is observed, which executions are looked at, and what is asked of them.
type Asked = (Vec<Observable>, Option<Proposition>, Question);

/// Locations that only the condition names exist as well, and hold 0.
fn name_places(words: &[(Token, usize)], initial: &mut Initial) {
    const OTHERS: &[&str] =
        &["exists", "forall", "locations", "filter", "observed", "final", "not", "true", "false"];
    for (index, (word, _)) in words.iter().enumerate() {
        let register = index > 0 && words[index - 1].0 == Token::Sign(":");
        if let Token::Name(name) = word
            && !register
            && !OTHERS.contains(&name.as_str())
        {
            initial.place(name);
        }
    }
}

fn asked(words: &mut Tokens, scope: &Scope<'_>) -> Result<Asked, ReadError> {
    let mut observed = Vec::new();
    let mut filter = None;
    loop {
        if words.accept_name("locations") {
            words.expect("[")?;
            while !words.accept("]") {
                if !words.accept(";") && !words.accept(",") {
                    condition::add(&mut observed, condition::observable(words, scope)?);
                }
            }
        } else if words.accept_name("filter") {
            filter = Some(condition::proposition(words, scope)?);
        } else if !words.accept(";") {
            break;
        }
    }
    let negative = words.accept("~") || words.accept_name("not");
    let quantifier = if words.accept_name("exists") || words.accept_name("final") {
        if negative { Quantifier::NotExists } else { Quantifier::Exists }
    } else if !negative && words.accept_name("forall") {
        Quantifier::ForAll
    } else if !negative && (words.accept_name("observed") || words.peek().is_none()) {
        Quantifier::Observed
    } else {
        return Err(words.error("`exists`, `~exists`, `forall`, `locations` or `filter` is expected"));
    };
    let proposition = match words.peek() {
        None if quantifier == Quantifier::Observed => Proposition::Constant(true),
        None => return Err(words.error("the condition is missing: the file ends here")),
        Some(_) => condition::proposition(words, scope)?,
    };
    words.accept(";");
    if words.peek().is_some() {
        return Err(words.error("the condition should end here"));
    }
    proposition.collect(&mut observed);
    Ok((observed, filter, Question { quantifier, proposition }))
}
