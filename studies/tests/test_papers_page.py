"""The tables of docs/papers are those of the kept reproductions."""

from __future__ import annotations

from legato.results.stats import Estimate
from legato_studies.pages import papers as paper_tables
from legato_studies.papers.reproduction import Row
from legato_studies.papers.verdict import Lead


def test_set_ups_stand_side_by_side() -> None:
    row = {"table": "III", "name": "gain", "published": 0.79, "why": "because", "low": -0.5, "high": 0.5}
    rows = [
        {**row, "mean": 0.1, "verdict": "not met", "setup": "stricter"},
        {**row, "mean": 0.8, "verdict": "met", "setup": "as printed"},
        {**row, "name": "extra", "mean": 1.0, "low": None, "high": None, "verdict": "undecidable", "setup": "stricter"},
    ]
    text = paper_tables.tables({"paper": "vtfrc", "rows": rows})
    assert "| figure | published | as printed | verdict | stricter | verdict |" in text
    assert "| gain | 0.79 | 0.80 (−0.50 to 0.50) | met | 0.10 (−0.50 to 0.50) | not met |" in text
    assert "| extra | 0.79 | – | – | 1.00 | undecidable |" in text


def test_what_no_paper_claims_has_a_dash_and_what_it_claims_in_words_has_those() -> None:
    ours = Estimate(1.0, 0.5, 1.5, 9, 9)
    made = (
        Row.of("III", "ours alone", None, ours, "not comparable", "the paper has no such figure"),
        Row.judged("III", "said to be ahead", None, ours, Lead()),
    )
    rows = [row.document() for row in made]
    text = paper_tables.tables({"paper": "vtfrc", "rows": rows})
    assert "| ours alone | – | 1.00 (0.50 to 1.50) | – |" in text
    assert "| said to be ahead | above 0 | 1.00 (0.50 to 1.50) | met |" in text


def test_a_mark_with_a_name_counts_the_tables_of_that_name_and_the_other_the_rest() -> None:
    row = {"published": 1.0, "mean": -0.04, "low": None, "high": None, "verdict": "met", "why": ""}
    rows = [
        {**row, "table": "Fig. 8", "name": "one", "setup": "as printed"},
        {**row, "table": "Fig. 8", "name": "one", "setup": "stricter", "verdict": "not met"},
        {**row, "table": "Fig. 8", "name": "ours alone", "setup": "stricter", "verdict": "no claim"},
        {**row, "table": "Hybrid, Fig. 8", "name": "two", "setup": "stricter"},
    ]
    begin, end = paper_tables.BEGIN, paper_tables.END
    page = f"a\n{begin} -->\n{end}\nb\n{begin}, Hybrid -->\n{end}\nc\n"
    made = paper_tables.written(page, {"paper": "nvc-cc", "rows": rows})
    first, second = made.split("\nb\n")
    assert "(as printed / stricter)" in first and first.count("1 / 0 | | 0 / 1 | |") == 1
    assert second.count("0 / 1 | | | |") == 1
    assert paper_tables.written(made, {"paper": "nvc-cc", "rows": rows}) == made


def test_a_grid_stands_with_its_table_and_what_rounds_to_nothing_has_no_sign() -> None:
    row = {"published": 1.0, "mean": -0.04, "low": None, "high": None, "verdict": "undecidable", "why": ""}
    lines = [["gcc", [[2.0, -0.04, 4.0]]], ["oracle", [[3.0, None, None]]]]
    grid = {"table": "Hybrid, Fig. 8", "title": "hybrid", "columns": [["loss %", 1]], "lines": lines}
    rows = [{**row, "table": "Hybrid, Fig. 8", "name": "two"}]
    text = paper_tables.tables({"paper": "nvc-cc", "rows": rows, "grids": [grid]})
    assert "| gcc | 2.0 (0.0 to 4.0) |" in text and "| oracle | 3.0 |" in text
    assert "−0.040" in text


def test_real_calls_have_a_mark_of_their_own_and_stand_last_among_the_figures() -> None:
    row = {"published": 2.0, "mean": 1.0, "low": None, "high": None, "verdict": "undecidable", "why": ""}
    begin, end = paper_tables.BEGIN, paper_tables.END
    page = f"{begin} -->\nsimulated\n{end}\n{begin}, Real -->\n{end}\n"
    found = {"paper": "r3net", "real": True, "rows": [{**row, "table": "3G", "name": "loss"}]}
    made = paper_tables.written(page, found)
    assert "simulated" in made and "| 3G: real calls | | | | 1 |" in made
    notebook = paper_tables.notebook("r3net", [{"paper": "r3net", "rows": []}, found])
    assert "| loss | 2 |" in notebook.partition("## Real calls")[2]
