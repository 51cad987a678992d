//! The statements that read a foreign table. Names are quoted, values are parameters; only the condition is the operator's own SQL.

use super::{Span, catalogue::Column};

/// How a database writes what the statements are made of.
pub(super) struct Dialect {
    /// The expression that reads a column.
    pub(super) read: fn(&Column, &str) -> String,
    /// The expression that says how many bytes a column holds.
    pub(super) size: fn(&Column, &str) -> String,
    /// The place of a parameter, by its number, that is compared with the order column.
    pub(super) place: fn(&Column, usize) -> String,
    /// What stands around names.
    pub(super) quote: char,
}

/// Everything that the statements differ by.
#[derive(Debug)]
pub(super) struct Statements {
    table: String,
    order: String,
    order_read: String,
    columns: String,
    size: String,
    condition: String,
    places: [String; 2],
}

impl Statements {
    pub(super) fn new(
        dialect: &Dialect,
        table: String,
        order: &Column,
        columns: &[Column],
        condition: Option<&str>,
    ) -> Self {
        let name = |column: &Column| super::mapping::quoted(&column.name, dialect.quote);
        // Without names of their own, ORDER BY would mean what was read instead of the column.
        let read = |(at, column): (usize, &Column)| {
            format!(
                "{} AS redeliver_column_{at}",
                (dialect.read)(column, &name(column))
            )
        };
        let columns_read: Vec<String> = columns.iter().enumerate().map(read).collect();
        let sizes: Vec<String> = columns
            .iter()
            .map(|column| format!("COALESCE({}, 0)", (dialect.size)(column, &name(column))))
            .collect();
        Self {
            table,
            order: name(order),
            order_read: read((0, order)),
            columns: columns_read.join(", "),
            size: sizes.join(" + "),
            condition: condition.unwrap_or("TRUE").to_owned(),
            places: [(dialect.place)(order, 1), (dialect.place)(order, 2)],
        }
    }

    /// Its rows are the order column and the size.
    pub(super) fn outline(&self, span: Span<'_>, limit: usize) -> String {
        let limited = include_str!("sql/outline.sql").replace("{limit}", &limit.to_string());
        self.fill(&limited, span)
    }

    /// Its rows are the columns.
    pub(super) fn rows(&self, span: Span<'_>) -> String {
        self.fill(include_str!("sql/rows.sql"), span)
    }

    /// Its rows have no place.
    pub(super) fn without_order(&self) -> String {
        self.fill(include_str!("sql/without_order.sql"), Span::default())
    }

    /// What an operator or a table wrote comes last, so that nothing in it is taken for a place of the template.
    fn fill(&self, template: &str, span: Span<'_>) -> String {
        let mut places = self.places.iter();
        let mut bounds = Vec::new();
        for (bound, comparison) in [(span.after, ">"), (span.until, "<=")] {
            if bound.is_some()
                && let Some(place) = places.next()
            {
                bounds.push(format!("{} {comparison} {place}", self.order));
            }
        }
        if bounds.is_empty() {
            bounds.push(format!("{} IS NOT NULL", self.order));
        }
        let bounds = bounds.join(" AND ");
        let mut filled = String::with_capacity(template.len() + self.columns.len() + self.size.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let Some((place, behind)) = after.split_once('}') else {
                break;
            };
            filled.push_str(match place {
                "table" => &self.table,
                "order" => &self.order,
                "order_read" => &self.order_read,
                "columns" => &self.columns,
                "size" => &self.size,
                "bounds" => &bounds,
                _ => &self.condition,
            });
            rest = behind;
        }
        filled.push_str(rest);
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Position, *};
    use crate::import::catalogue::Kind;

    #[test]
    fn nothing_that_was_given_is_taken_for_a_place() {
        let dialect = Dialect {
            read: |_, name| format!("{name}::text"),
            size: |_, name| format!("octet_length({name})"),
            place: |_, number| format!("${number}"),
            quote: '"',
        };
        let column = |name: &str| Column {
            name: name.to_owned(),
            type_name: "int8".to_owned(),
            kind: Kind::Integer,
            nullable: false,
        };
        let order = column("{table}");
        let condition = Some("a = '{columns}' -- why");
        let statements = Statements::new(
            &dialect,
            "\"t\"".to_owned(),
            &order,
            std::slice::from_ref(&order),
            condition,
        );
        let position = Position::Integer(7);
        let span = Span {
            after: None,
            until: Some(&position),
        };
        let outline = statements.outline(span, 5);
        let lines: Vec<&str> = outline.lines().skip(1).collect();
        assert_eq!(
            lines.join("\n"),
            "SELECT \"{table}\"::text AS redeliver_column_0, COALESCE(octet_length(\"{table}\"), 0)\nFROM \"t\"\n\
             WHERE \"{table}\" <= $1\n  AND (a = '{columns}' -- why\n)\nORDER BY \"{table}\"\nLIMIT 5"
        );
    }
}
