//! Calendar times of logs, as seconds: only differences matter.

/// Seconds since 1970 of a day `Y?M?D` and a clock `h?m?s` with these separators.
pub(super) fn seconds_since_1970(day: &str, day_by: char, clock: &str, clock_by: char) -> Option<i64> {
    let [year, month, date] = three(day, day_by)?;
    let [hour, minute, second] = three(clock, clock_by)?;
    let valid = (1970..=2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&date);
    if !valid || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days by the proleptic Gregorian calendar, with the year beginning in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + date - 1 - 719_468;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

fn three(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator).map(|part| {
        let plain = (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| part.parse::<i64>().ok()).flatten()
    });
    let all = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_the_calendar() {
        assert_eq!(seconds_since_1970("1970.01.01", '.', "00.00.00", '.'), Some(0));
        assert_eq!(seconds_since_1970("2024-02-29", '-', "12:00:01", ':'), Some(1_709_208_001));
        assert_eq!(seconds_since_1970("2020.03.01", '.', "00.00.00", '.'), Some(1_583_020_800));
        for (day, clock) in
            [("2020.13.01", "00.00.00"), ("2020.1", "0.0.0"), ("2020.1.1", "24.0.0"), ("x.1.1", "0.0.0")]
        {
            assert_eq!(seconds_since_1970(day, '.', clock, '.'), None);
        }
    }
}
