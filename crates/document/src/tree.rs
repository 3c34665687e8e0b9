//! What a document is made of.

use tenbin_model::{Picoseconds, Verdict};

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
    /// Ratios with what is known of them.
    Intervals(Intervals),
    /// Points between two axes.
    Chart(Chart),
    /// What only some want to read.
    Folded {
        /// What is in it, in a few words.
        title: String,
        /// The rest.
        document: Document,
    },
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
    /// Where colours can be seen, how far each cell lies from others: below 0 for less, above it for more, up
    /// to four. Empty for none.
    pub shades: Vec<Vec<i8>>,
}

impl Table {
    /// A table whose first column holds words and whose other ones hold figures.
    pub fn new(header: impl IntoIterator<Item = impl Into<String>>, rows: Vec<Vec<String>>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows, ..Self::default() }
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

/// Ratios, each with the interval that it lies in, one below the other on one logarithmic scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals {
    /// What the ratio is of: "cost of the right one over that of the left one".
    pub title: String,
    /// What a ratio below 1 means, and one above it: "left dearer", "left cheaper".
    pub sides: [String; 2],
    /// The ratios.
    pub rows: Vec<Estimate>,
    /// What a mark is about, where the names of the rows would have it be something else. May be empty.
    pub marked: String,
}

/// A ratio, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Of what.
    pub name: String,
    /// The ratio, and the ends of its interval: above 0.
    pub ratio: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The two in words: "2.4x cheaper (2.3 to 2.6)".
    pub figure: String,
    /// What was said of it.
    pub verdict: Verdict,
}

/// Points between two axes: a distribution, a course over time, a law.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows, in a line.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// What stands between them, in the order of a legend.
    pub curves: Vec<Curve>,
}

/// What a place between two axes means.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What of: "time of a run".
    pub name: String,
    /// In which unit.
    pub unit: Unit,
    /// Whether equal distances are equal ratios.
    pub is_logarithmic: bool,
}

/// The unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Picoseconds, shown as the time that fits.
    Time,
    /// Bytes.
    Bytes,
    /// How many times one thing is another.
    Ratio,
    /// A part of a whole, from 0 to 1, shown as a percentage.
    Share,
    /// A bare number.
    Number,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What they are of.
    pub name: String,
    /// Their places by the two axes, in the order in which they are joined.
    pub points: Vec<(f64, f64)>,
    /// How they are joined.
    pub style: Style,
}

/// How points are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Not at all.
    Dots,
    /// Each by a straight line to the next.
    Line,
    /// By a step, up where the next one is.
    Steps,
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
