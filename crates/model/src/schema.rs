//! The name and version by which a document in JSON says what shape it has.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a document in JSON is read into and written from.
pub trait Shape: Clone {
    /// Its name and version.
    const SCHEMA: &'static str;
}

/// The name and version of a shape; a document that has any other is not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String", bound = "T: Shape")]
#[schemars(with = "String", bound = "")]
pub struct Schema<T>(PhantomData<T>);

impl<T> Schema<T> {
    /// That of `T`.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Shape> From<Schema<T>> for String {
    fn from(_: Schema<T>) -> Self {
        T::SCHEMA.into()
    }
}

impl<T: Shape> TryFrom<String> for Schema<T> {
    type Error = String;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        if name == T::SCHEMA { Ok(Self::new()) } else { Err(format!("it is {name:?} and no {}", T::SCHEMA)) }
    }
}
