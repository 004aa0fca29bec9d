"""The address of a page, set by the page itself."""

from __future__ import annotations

import time

import streamlit as st

HOLDS_S = 2.0


def go_to(address: dict[str, str]) -> None:
    st.query_params.from_dict(address)
    st.session_state.address = (address, time.monotonic() + HOLDS_S)


def hold_address() -> None:
    """A rerun that the browser asked for before it heard of the new address would bring the old one back."""
    address, until = st.session_state.get("address", ({}, 0.0))
    if time.monotonic() < until and st.query_params.to_dict() != address:
        st.query_params.from_dict(address)
