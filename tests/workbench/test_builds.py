"""Builds in the background: who waits for one hears of its end."""

from __future__ import annotations

import threading

from rag_core.errors import Stopped
from rag_core.workbench.builds import Builds


def ended(builds: Builds) -> None:
    for thread in builds._under_way.values():
        thread.join(60)


def test_a_build_that_breaks_off_in_a_way_nobody_foresaw_is_told() -> None:
    builds = Builds("graph")

    def build() -> None:
        raise ValueError("odd")

    builds.start("Films", build)
    ended(builds)
    assert "ValueError" in (builds.failed("Films") or "")


def test_a_second_press_neither_builds_twice_nor_tells_a_failure() -> None:
    builds, going, begun = Builds("graph"), threading.Event(), []

    def build() -> None:
        begun.append(1)
        assert going.wait(60)

    presses = [threading.Thread(target=builds.start, args=("Films", build)) for _ in range(8)]
    for press in presses:
        press.start()
    for press in presses:
        press.join(60)
    going.set()
    ended(builds)
    assert (len(begun), builds.failed("Films")) == (1, None)


def test_a_stop_ends_the_build_under_way_and_no_later_one() -> None:
    builds = Builds("graph")
    builds.stop("Films")
    assert not builds.stopped("Films")
    going = threading.Event()
    builds.start("Films", lambda: going.wait(60))
    builds.stop("Films")
    assert builds.stopped("Films")
    going.set()
    ended(builds)
    assert not builds.stopped("Films")


def test_whoever_deletes_a_collection_waits_for_no_build_and_the_rest_goes_after_it() -> None:
    builds, answered, told = Builds("graph"), threading.Event(), []

    def build() -> None:
        assert answered.wait(60), "the model took its time"
        told.append("built")
        raise Stopped

    builds.start("films", build)
    builds.end("films", lambda: told.append("gone"))
    assert (told, builds.stopped("films")) == ([], True)
    answered.set()
    builds.close()
    assert (told, builds.failed("films"), builds.under_way("films")) == (["built", "gone"], None, False)


def test_where_nothing_is_built_the_rest_goes_at_once() -> None:
    told: list[str] = []
    Builds("graph").end("films", lambda: told.append("gone"))
    assert told == ["gone"]


def test_a_tenant_is_held_until_what_follows_its_build_is_done_even_where_that_breaks_off() -> None:
    builds, answered, cleared = Builds("graph"), threading.Event(), threading.Event()

    def clear() -> None:
        assert cleared.wait(60)
        raise OSError("the disk is out")

    builds.start("films", lambda: answered.wait(60))
    builds.end("films", clear)
    answered.set()
    ended(builds)
    assert (builds.under_way("films"), builds.holds("films")) == (False, True)
    cleared.set()
    builds.close()
    assert not builds.holds("films")
