//! The curves of each CPU.

use tenbin_document::{Bars, Block, Document, Series};
use tenbin_model::{Bytes, Picoseconds, Trial};
use tenbin_stats::order::Ordered;

use super::capacity::{Capacities, Curve};
use super::{Walked, sizes};

pub(super) fn view(walked: &[Walked], trial: &Trial) -> Document {
    let mut document = Document::new();
    for walked in walked {
        if let Ok(capacities) = &walked.judged {
            document.space().line(format!("time of a step by {}, over the size that is walked", walked.cpu));
            document.space().push(Block::Bars(bars(&walked.curves, capacities)));
        }
    }
    for cell in &trial.cells {
        // Kinds of pages that could not be had do not keep the others from an answer.
        if let Some(refusal) = &cell.refusal {
            document.space();
            document.paragraph(2, format!("Not {}: {}.", cell.arrangement.label, refusal.reached));
        }
    }
    document
}

fn bars(curves: &[Curve], capacities: &Capacities) -> Bars {
    let sizes = sizes(curves);
    let median = |times: &[f64]| {
        let times = times.iter().copied().filter(|time| time.is_finite() && *time > 0.0).collect();
        Ordered::new(times).map(|times| Picoseconds(times.median().round() as u64))
    };
    let time =
        |curve: &Curve, size: &Bytes| median(&curve.points.iter().find(|point| point.bytes == *size)?.times);
    let series = |curve: &Curve| Series {
        name: format!("{} pages", curve.page),
        times: sizes.iter().map(|size| time(curve, size)).collect(),
    };
    let ends =
        capacities.levels.iter().filter_map(|it| Some((it.measured()?, format!("L{} ends", it.level))));
    let rises = capacities.unexplained.iter().map(|rise| (rise.knee, "a rise".to_owned()));
    let flat = capacities.flat_from.map(|size| (size, "flat from".to_owned()));
    let marks = ends.chain(rises).chain(flat);
    let row = |size: Bytes| sizes.iter().position(|known| *known == size);
    Bars {
        rows: "buffer".into(),
        labels: sizes.iter().map(Bytes::to_string).collect(),
        series: curves.iter().map(series).collect(),
        marks: marks.filter_map(|(size, words)| Some((row(size)?, words))).collect(),
        note: format!("knees in pages of {}", capacities.page),
    }
}
