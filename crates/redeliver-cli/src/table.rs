use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

/// A table without borders, a rule below its header, names to the left and numbers to the right. Print it with `trim_fmt`.
pub(crate) fn table<const COLUMNS: usize>(header: [&str; COLUMNS], names: usize) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header(header);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if index >= names {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
