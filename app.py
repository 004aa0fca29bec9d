"""The application: the workbench opens before the first visit, and one process serves screens and routes.

Started by `streamlit run app.py`.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from starlette.concurrency import run_in_threadpool

from pages._server.deliveries import keep_deliveries
from pages._server.routes import routes
from pages._server.safety import safety
from pages._server.state import close_workbench, open_workbench


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    await run_in_threadpool(open_workbench)
    # What is loaded by now stays: a full collection would look through all of it, while every run and page waits.
    gc.freeze()
    yield
    await run_in_threadpool(close_workbench)


keep_deliveries()
app = st.App("pages/_shell.py", lifespan=lifespan, routes=routes(), middleware=safety())
