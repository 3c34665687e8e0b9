//! Keeping what was measured: in the store, and where that fails in a file that a store can take.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tenbin_store::{Error, Store};

use crate::measurement::date;
use crate::output::{Exit, Trouble, say};

/// Where to keep what is going to be measured.
pub enum Keeper {
    /// Nowhere, as it was asked.
    Nowhere,
    /// In the store.
    Open(Box<Store>),
    /// There was no store to be had, for this reason.
    Closed {
        /// What was tried, on what, and why it failed.
        why: String,
        /// Whether somebody named the store, or it is there: then it is a failure that it does not take what
        /// it should.
        wanted: bool,
    },
}

/// What became of it.
pub struct Kept {
    /// Its name, if any store has it now.
    pub id: Option<String>,
    /// Where it is, or why not.
    pub remark: Option<String>,
    /// The status to end with, if it is not kept where it should be.
    pub exit: Option<Exit>,
}

impl Keeper {
    /// Opens the store, unless nothing is to be kept. What only that fails for is told at once, and no reason
    /// not to measure.
    ///
    /// # Errors
    /// What was named as the store is none: wrong input, before anything is measured.
    pub fn open(no_store: bool) -> Result<Self, Trouble> {
        if no_store {
            return Ok(Self::Nowhere);
        }
        super::limit()?;
        let (why, wanted) = match super::path() {
            Err(trouble) => (trouble.message, false),
            Ok(path) => match Store::open(&path) {
                Ok(store) => return Ok(Self::Open(Box::new(store))),
                Err(error) if is_wrong_input(&error) => return Err(super::trouble(error)),
                Err(error) => (error.to_string(), super::named("TENBIN_STORE").is_some() || path.exists()),
            },
        };
        say(&format!("tenbin: {why}. It is measured and answered all the same."));
        Ok(Self::Closed { why, wanted })
    }

    /// Keeps it: `put` puts it into a store and gives its name, and `what` says what it is ("run").
    pub fn keep(&mut self, what: &str, put: impl Fn(&mut Store) -> Result<String, Error>) -> Kept {
        let (why, wanted) = match self {
            Self::Nowhere => return Kept { id: None, remark: None, exit: None },
            Self::Open(store) => match put(store) {
                Ok(id) => return Kept { id: Some(id), remark: None, exit: None },
                Err(error) => (error.to_string(), true),
            },
            Self::Closed { why, wanted } => (why.clone(), *wanted),
        };
        let (id, place) = match elsewhere(&put) {
            Ok((id, path)) => {
                let place = path.display();
                (
                    Some(id),
                    format!("It is kept in {place} instead: `tenbin import {place}` takes it into a store."),
                )
            }
            Err(also) => (None, format!("It is kept nowhere: {also}.")),
        };
        let remark = Some(format!("tenbin: the {what} is not in the store: {why}. {place}"));
        Kept { id, remark, exit: wanted.then_some(Exit::Internal) }
    }
}

/// Whether what stands where the store should be can be none, whoever may write there and however much room
/// there is.
fn is_wrong_input(error: &Error) -> bool {
    match error {
        Error::IsDirectory { .. } | Error::NotAStore { .. } => true,
        Error::Io(_, source) => {
            matches!(source.kind(), ErrorKind::AlreadyExists | ErrorKind::NotADirectory)
        }
        _ => false,
    }
}

/// Puts it into a store of its own, where there is room: among the user's state (XDG base directory
/// specification 0.8: `$XDG_STATE_HOME` if absolute, else `$HOME/.local/state`), else among temporary files.
fn elsewhere(put: &impl Fn(&mut Store) -> Result<String, Error>) -> Result<(String, PathBuf), String> {
    let absolute = |variable| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    let folders = state.map(|state| state.join("tenbin")).into_iter().chain([std::env::temp_dir()]);
    let mut last = String::new();
    for folder in folders {
        match put_below(&folder, put) {
            Ok(kept) => return Ok(kept),
            Err(why) => last = why,
        }
    }
    Err(last)
}

/// Puts it into a new store in a new folder below `folder`; leaves nothing there if that fails.
fn put_below(
    folder: &Path,
    put: &impl Fn(&mut Store) -> Result<String, Error>,
) -> Result<(String, PathBuf), String> {
    let now = date();
    let seconds = now.split('.').next().unwrap_or_default();
    let now: String = seconds.chars().filter(|&it| it.is_ascii_digit() || it == 'T').collect();
    // Nobody else's: in a folder that all may write to, a name can have been taken on purpose.
    let own = folder.join(format!("tenbin-unkept-{now}Z-{}", std::process::id()));
    let made = fs::create_dir_all(folder).and_then(|()| DirBuilder::new().mode(0o700).create(&own));
    made.map_err(|error| format!("make the folder {}: {error}", own.display()))?;
    let path = own.join("store.db");
    let kept = Store::open(&path).and_then(|mut store| put(&mut store));
    kept.map(|id| (id, path)).map_err(|error| {
        // What is half there is ours, and of no use.
        let _ = fs::remove_dir_all(&own);
        error.to_string()
    })
}
