//! What a document is made of.

use tenbin_model::Picoseconds;

/// What there is to read, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Its parts.
    pub blocks: Vec<Block>,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// An empty line.
    Space,
    /// A line that stands as it is: a title, a name.
    Line(String),
    /// Words.
    Paragraph {
        /// How far in it stands, in columns.
        indent: usize,
        /// How much farther in whatever follows its first line stands.
        hang: usize,
        /// The words; where lines end is for a renderer to say.
        text: String,
    },
    /// A name in the margin and words beside it.
    Entry {
        /// The name; none where the words go on from the entry above.
        name: String,
        /// The words.
        text: String,
    },
    /// Rows and columns.
    Table(Table),
    /// Times over values.
    Bars(Bars),
    /// Times between each two of several.
    Heat(Heat),
}

/// Names to the left, figures to the right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What stands above each column.
    pub header: Vec<String>,
    /// The rows, each as long as the header.
    pub rows: Vec<Vec<String>>,
    /// The columns of words, beside the first.
    pub words: Vec<usize>,
}

impl Table {
    /// A table whose first column holds words and whose other ones hold figures.
    pub fn new(header: impl IntoIterator<Item = impl Into<String>>, rows: Vec<Vec<String>>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows, words: Vec::new() }
    }

    /// The same with words in this column as well.
    pub fn with_words(mut self, column: usize) -> Self {
        self.words.push(column);
        self
    }
}

/// Times over the values of something, one or several beside each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// What has the values: "buffer".
    pub rows: String,
    /// The values, a row each: "4 KiB".
    pub labels: Vec<String>,
    /// The times.
    pub series: Vec<Series>,
    /// Rows that there is something to say of.
    pub marks: Vec<(usize, String)>,
    /// What is to be known to read the marks; empty for nothing.
    pub note: String,
}

/// Times of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Which kind: "4 KiB pages".
    pub name: String,
    /// A time for each row; none where nothing was measured.
    pub times: Vec<Option<Picoseconds>>,
}

/// A time for each pair: a row for the first of it, a column for the second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heat {
    /// What the pairs are of, in order.
    pub labels: Vec<String>,
    /// The times in nanoseconds, row by row; none where nothing was measured.
    pub times: Vec<Vec<Option<f64>>>,
}

impl Document {
    /// An empty document.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an empty line.
    pub fn space(&mut self) -> &mut Self {
        self.push(Block::Space)
    }

    /// Adds a line that stands as it is.
    pub fn line(&mut self, text: impl Into<String>) -> &mut Self {
        self.push(Block::Line(text.into()))
    }

    /// Adds words, `indent` columns in.
    pub fn paragraph(&mut self, indent: usize, text: impl Into<String>) -> &mut Self {
        self.push(Block::Paragraph { indent, hang: 0, text: text.into() })
    }

    /// Adds words beside a name.
    pub fn entry(&mut self, name: impl Into<String>, text: impl Into<String>) -> &mut Self {
        self.push(Block::Entry { name: name.into(), text: text.into() })
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) -> &mut Self {
        self.push(Block::Table(table))
    }

    /// Adds a block.
    pub fn push(&mut self, block: Block) -> &mut Self {
        self.blocks.push(block);
        self
    }

    /// Adds all of another document.
    pub fn append(&mut self, other: Self) -> &mut Self {
        self.blocks.extend(other.blocks);
        self
    }
}
