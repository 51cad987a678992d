//! The three ways HTTP has written a date: RFC 9110 §5.6.7 has servers send the first and clients read all.

/// One of the three forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DateForm {
    Imf,
    Rfc850,
    Asctime,
}

const DAYS: [&str; 7] = [
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Writes `unix` (seconds since 1970, which was a Thursday) in the given form; before 1970 is 1970.
pub(crate) fn http_date(unix: i64, form: DateForm) -> String {
    let unix = u64::try_from(unix).unwrap_or(0);
    let (days, seconds) = (unix / 86_400, unix % 86_400);
    let (year, month, day) = civil(days);
    let weekday = DAYS[(days % 7) as usize];
    let short = &weekday[..3];
    let month = MONTHS[month];
    let time = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    match form {
        DateForm::Imf => format!("{short}, {day:02} {month} {year:04} {time} GMT"),
        DateForm::Rfc850 => format!("{weekday}, {day:02}-{month}-{:02} {time} GMT", year % 100),
        DateForm::Asctime => format!("{short} {month} {day:2} {time} {year:04}"),
    }
}

/// Year, month (0 to 11) and day of a day since 1970.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // Whole cycles of 400 years first, so that a far date does not loop for long.
    let mut year = 1970 + days / 146_097 * 400;
    days %= 146_097;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rfcs_own_example_in_all_three_forms() {
        let unix = 784_111_777;
        assert_eq!(http_date(unix, DateForm::Imf), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(
            http_date(unix, DateForm::Rfc850),
            "Sunday, 06-Nov-94 08:49:37 GMT"
        );
        assert_eq!(http_date(unix, DateForm::Asctime), "Sun Nov  6 08:49:37 1994");
    }

    #[test]
    fn leap_days_and_ends_of_years() {
        assert_eq!(
            http_date(951_782_400, DateForm::Imf),
            "Tue, 29 Feb 2000 00:00:00 GMT"
        );
        assert_eq!(
            http_date(1_735_689_599, DateForm::Imf),
            "Tue, 31 Dec 2024 23:59:59 GMT"
        );
        assert_eq!(
            http_date(4_107_542_400, DateForm::Imf),
            "Mon, 01 Mar 2100 00:00:00 GMT"
        );
        assert_eq!(http_date(-5, DateForm::Imf), "Thu, 01 Jan 1970 00:00:00 GMT");
    }
}
