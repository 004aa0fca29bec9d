"""The address of a page, set by the page itself."""

from __future__ import annotations

import time

import streamlit as st

HOLDS_S = 2.0


def go_to(address: dict[str, str], page: str | None = None) -> None:
    """Set the address, of this page or of the one that comes next."""
    st.query_params.from_dict(address)
    st.session_state.address = (address, time.monotonic() + HOLDS_S, page or st.session_state.page)


def come_to(page: str) -> None:
    """What was set for another page is not this one's: it is held no more."""
    st.session_state.page = page
    *_, held_for = st.session_state.get("address", (page,))
    if held_for != page:
        del st.session_state.address


def hold_address() -> None:
    """A rerun that the browser asked for before it heard of the new address would bring the old one back."""
    address, until, _ = st.session_state.get("address", ({}, 0.0, ""))
    if time.monotonic() < until and st.query_params.to_dict() != address:
        st.query_params.from_dict(address)
