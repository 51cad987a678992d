//! The figures behind the charts, as JSON for the script that draws them.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;

use super::picture::Lines;
use crate::web::{
    pulse::{Flow, Point},
    site::Site,
};

/// Lines over one axis of time.
#[derive(Debug, Serialize)]
struct Chart {
    /// In seconds since 1970.
    times: Vec<f64>,
    lines: Vec<Line>,
    /// What the figures count.
    unit: &'static str,
}

#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    /// The name of its colour.
    class: &'static str,
    values: Vec<Option<f64>>,
}

fn chart(points: &[Point], unit: &'static str, lines: Vec<Line>) -> Response {
    let times = points.iter().map(|point| point.at.as_millis() as f64 / 1_000.0);
    Json(Chart {
        times: times.collect(),
        lines,
        unit,
    })
    .into_response()
}

fn line(
    points: &[Point],
    name: &'static str,
    class: &'static str,
    value: impl Fn(&Point) -> Option<f64>,
) -> Line {
    Line {
        name,
        class,
        values: points.iter().map(value).collect(),
    }
}

fn flow_lines(points: &[Point]) -> Vec<Line> {
    vec![
        line(points, "in", "in", |point| point.inserted),
        line(points, "out", "out", |point| Some(point.flow?.delivered)),
        line(points, "failed", "failed", |point| Some(point.flow?.failed)),
    ]
}

pub(super) async fn flow(State(site): State<Arc<Site>>) -> Response {
    let points = site.pulse().points();
    chart(&points, "a second", flow_lines(&points))
}

pub(super) async fn destination(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response {
    let points = site.pulse().points();
    let of = |value: fn(Flow) -> f64| {
        let name = name.clone();
        move |point: &Point| point.of(&name).map(value)
    };
    let lines = vec![
        line(&points, "out", "out", of(|flow| flow.delivered)),
        line(&points, "failed", "failed", of(|flow| flow.failed)),
    ];
    chart(&points, "a second", lines)
}

pub(super) async fn latency(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Response {
    let points = site.pulse().points();
    let lines = vec![
        line(&points, "p50", "out", |point| point.of(&name)?.p50_ms),
        line(&points, "p99", "late", |point| point.of(&name)?.p99_ms),
    ];
    chart(&points, "ms", lines)
}

/// The same as a picture, for browsers without the script.
pub(super) fn flow_picture(site: &Site) -> Lines {
    let lines = flow_lines(&site.pulse().points());
    let about = "Messages in and out a second, over the last half hour".to_owned();
    Lines::new(
        about,
        lines.into_iter().map(|line| (line.class, line.values)).collect(),
    )
}

/// What arrived at a destination lately, as small as a word.
pub(super) fn spark(points: &[Point], name: &str) -> Lines {
    let of = |value: fn(Flow) -> f64| points.iter().map(|point| point.of(name).map(value)).collect();
    let about = "Delivered and failed a second, over the last half hour".to_owned();
    Lines::new(
        about,
        vec![
            ("out", of(|flow| flow.delivered)),
            ("failed", of(|flow| flow.failed)),
        ],
    )
}
