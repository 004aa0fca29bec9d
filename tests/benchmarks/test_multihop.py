from benchmarks.multihop import AIMS, PUBLISHED, rows_of


def test_the_rows_differ_in_the_graph_and_in_hops_alone() -> None:
    techniques = {row: set(plan.techniques) - {"hybrid", "answer"} for row, plan in rows_of().items()}
    assert techniques == {
        "hybrid": set(),
        "multi_hop": {"multi_hop"},
        "spread": {"graph"},
        "spread + multi_hop": {"graph", "multi_hop"},
    }


def test_what_was_published_is_of_the_sets_that_are_measured_and_says_where_it_stands() -> None:
    assert {row[0] for row in PUBLISHED} == set(AIMS)
    assert all(row[-1] for row in PUBLISHED)
