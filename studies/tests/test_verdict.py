"""The rule by which claims of papers are judged: each verdict can come out, and none without its reason."""

from __future__ import annotations

import pytest

from legato.results.stats import NO_FIGURE, Estimate
from legato_studies.papers.reproduction import Row
from legato_studies.papers.verdict import AtMost, Claim, Lead, Unchanged, Value, Verdict, judged, together


def interval(mean: float, low: float, high: float) -> Estimate:
    return Estimate(mean, low, high, 9, 9)


@pytest.mark.parametrize(
    ("claim", "ours", "expected"),
    [
        (Lead(1.6), interval(1.8, 0.4, 3.0), "met"),
        # As large as printed, but it may be nothing: the printed figure is in it.
        (Lead(1.6), interval(1.8, -0.4, 3.0), "in reach"),
        # Smaller than printed, whatever else.
        (Lead(1.6), interval(1.1, 0.9, 1.3), "not met"),
        (Lead(1.6), interval(1.1, 0.5, 1.7), "in reach"),
        (Lead(1.6), interval(-1.0, -4.0, 1.0), "not met"),
        (Lead(), interval(0.2, 0.1, 0.3), "met"),
        (Lead(), interval(0.2, -0.1, 0.5), "in reach"),
        (Lead(), interval(-0.2, -0.3, -0.1), "not met"),
        (Lead(-8.0, more_is_better=False), interval(-9.0, -12.0, -6.0), "met"),
        (Lead(-8.0, more_is_better=False), interval(-6.6, -9.0, -4.0), "in reach"),
        (Lead(-8.0, more_is_better=False), interval(2.0, -3.0, 7.0), "not met"),
        (Lead(0.85, no_effect=1.0, more_is_better=False), interval(0.8, 0.7, 0.9), "met"),
        (Lead(0.85, no_effect=1.0, more_is_better=False), interval(0.8, 0.6, 1.1), "in reach"),
        (Value(0.81, 0.1), interval(0.9, 0.85, 0.95), "met"),
        (Value(0.81, 0.1), interval(0.95, 0.88, 1.0), "in reach"),
        (Value(0.81, 0.1), interval(1.9, 1.8, 2.0), "not met"),
        (AtMost(0.1), interval(0.03, -0.05, 0.09), "met"),
        (AtMost(0.1), interval(0.03, -0.16, 0.27), "in reach"),
        (AtMost(0.1), interval(0.3, 0.2, 0.4), "not met"),
        (Unchanged(1.0, 0.1), interval(1.02, 0.95, 1.08), "met"),
        # The mean has not moved, but the interval leaves room for half and for half as much again.
        (Unchanged(1.0, 0.1), interval(0.98, 0.65, 1.63), "in reach"),
        (Unchanged(1.0, 0.1), interval(1.3, 1.2, 1.4), "not met"),
        (Lead(1.6), Estimate(1.8, None, None, 3), "undecidable"),
        (Lead(1.6), NO_FIGURE, "not comparable"),
    ],
)
def test_claims_are_judged_by_mean_and_interval(claim: Claim, ours: Estimate, expected: Verdict) -> None:
    verdict, why = judged(claim, ours)
    assert verdict == expected
    assert why


def test_claims_that_are_made_together_are_as_good_as_the_worst_of_them():
    assert together(["met", "met"]) == "met"
    assert together(["met", "in reach"]) == "in reach"
    assert together(["met", "in reach", "undecidable"]) == "not met"
    assert together(["met", "not comparable"]) == "not met"


def test_a_claim_without_a_figure_is_shown_in_words_and_what_nothing_is_claimed_of_has_no_verdict():
    ours = interval(0.2, 0.1, 0.3)
    said = Row.judged("1", "ahead", None, ours, Lead())
    assert (said.published, said.verdict) == ("above 0", "met")
    assert Row.judged("1", "closer", None, ours, Lead(no_effect=1.0, more_is_better=False)).published == "below 1"
    assert Row.judged("1", "cost", None, ours, AtMost(0.1)).published == "≤ 0.1"
    assert Row.judged("1", "as before", None, ours, Unchanged(1.0, 0.1)).published == "1 ± 0.1"
    assert Row.judged("1", "lead", 0.1, ours, Lead(0.1)).published == 0.1
    assert Row.of("1", "ours", None, ours, "not comparable", "not of the paper").verdict == "no claim"
    assert Row.of("1", "theirs", 0.1, ours, "not comparable", "other networks").verdict == "not comparable"


def test_a_row_is_read_as_it_was_written():
    written = Row.judged("1", "x", None, interval(0.2, 0.1, 0.3), Lead(), unit="dB")
    assert Row(**written.document()) == written
