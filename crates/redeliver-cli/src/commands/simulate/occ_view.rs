//! The contention model as tables and drawings.

use comfy_table::ColumnConstraint;
use redeliver_lab::occ::{Cell, Contention, Kind};
use redeliver_policy::duration;

use super::occ::Comparison;
use crate::{
    chart::{
        Axis, Lines, Measure, Series,
        svg::{self, Panel},
        terminal,
    },
    readable,
    table::table,
};

/// The tables, the comparison if there is one, and the drawing.
pub(super) fn words(contention: &Contention, cells: &[Cell], compared: Option<&[Comparison]>) -> String {
    let mut parts = vec![
        format!(
            "Calls: writes sent until every client had written once (mean of {} runs)\n{}",
            contention.runs,
            by_kind(contention, cells, |cell| format!("{:.0}", cell.calls))
        ),
        format!(
            "Time until the last client had succeeded\n{}",
            by_kind(contention, cells, |cell| readable::seconds(cell.time_ms / 1e3))
        ),
    ];
    if let Some(compared) = compared {
        parts.push(format!(
            "100 clients, beside AWS's own simulator\n{}",
            beside(cells, compared)
        ));
    }
    if contention.clients.len() > 1 {
        parts.push(terminal::lines(&calls(contention, cells), terminal::WIDTH));
    }
    parts.join("\n\n")
}

/// Calls and time over the number of clients.
pub(super) fn svg(contention: &Contention, cells: &[Cell]) -> String {
    let (calls, time) = (calls(contention, cells), time(contention, cells));
    let subtitle = format!(
        "AWS's model: one row, messages of |N(10, 2)| ms, base {}, cap {}, mean of {} runs, seed {}",
        duration::display(contention.base),
        duration::display(contention.max),
        contention.runs,
        contention.seed
    );
    svg::document(
        "Clients contending for one row",
        &subtitle,
        &[Panel::Lines(&calls), Panel::Lines(&time)],
    )
}

fn by_kind(contention: &Contention, cells: &[Cell], show: impl Fn(&Cell) -> String) -> String {
    let [a, b, c, d, e] = Kind::ALL.map(Kind::as_str);
    let mut table = table(["clients", a, b, c, d, e], 0);
    for &clients in &contention.clients {
        let figures = Kind::ALL.map(|kind| {
            let found = cells
                .iter()
                .find(|cell| cell.kind == kind && cell.clients == clients);
            found.map_or_else(String::new, &show)
        });
        table.add_row([clients.to_string()].into_iter().chain(figures));
    }
    for (kind, column) in Kind::ALL.iter().zip(table.column_iter_mut().skip(1)) {
        if !contention.kinds.contains(kind) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
    table.trim_fmt()
}

fn beside(cells: &[Cell], compared: &[Comparison]) -> String {
    let mut table = table(["kind", "calls", "AWS", "off", "time", "AWS", "off"], 1);
    for comparison in compared {
        let ours = cells
            .iter()
            .find(|cell| cell.kind == comparison.kind && cell.clients == redeliver_lab::occ::AWS_CLIENTS);
        let Some(ours) = ours else { continue };
        table.add_row([
            comparison.kind.to_string(),
            format!("{:.0}", ours.calls),
            comparison.aws.calls.to_string(),
            percent(comparison.calls_off),
            format!("{:.0} ms", ours.time_ms),
            format!("{} ms", comparison.aws.time_ms),
            percent(comparison.time_off),
        ]);
    }
    table.trim_fmt()
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn calls(contention: &Contention, cells: &[Cell]) -> Lines {
    lines(
        contention,
        cells,
        "Calls by clients",
        "calls",
        Measure::Count,
        |cell| cell.calls,
    )
}

fn time(contention: &Contention, cells: &[Cell]) -> Lines {
    lines(
        contention,
        cells,
        "Time until the last success by clients",
        "time",
        Measure::Time,
        |cell| cell.time_ms / 1e3,
    )
}

fn lines(
    contention: &Contention,
    cells: &[Cell],
    title: &str,
    label: &str,
    measure: Measure,
    value: fn(&Cell) -> f64,
) -> Lines {
    let series = |kind: &Kind| {
        let own = cells.iter().filter(|cell| cell.kind == *kind);
        let mut points: Vec<(f64, f64)> = own.map(|cell| (f64::from(cell.clients), value(cell))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series {
            name: kind.to_string(),
            points,
        }
    };
    Lines {
        title: title.to_owned(),
        x: Axis {
            label: "clients".to_owned(),
            measure: Measure::Count,
        },
        y: Axis {
            label: label.to_owned(),
            measure,
        },
        series: contention.kinds.iter().map(series).collect(),
        levels: Vec::new(),
        spans: Vec::new(),
    }
}
