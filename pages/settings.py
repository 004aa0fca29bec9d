"""Settings: which model answers, whether every part is well, the limits, and where the data lives."""

from __future__ import annotations

import streamlit as st

from pages._parts.blocks import escaped, health_list, limit_list, storage_list
from pages._parts.prompts import prompts
from pages._server.state import get_workbench
from rag_core.errors import RagError
from rag_core.llm.connections import ConnectionTest, ModelConnection

KINDS = {
    "keyless": "No model",
    "openai": "OpenAI-compatible",
    "ollama": "Ollama",
}
ABOUT = {
    "keyless": "Answers are put together from sentences of your documents. Nothing leaves this machine.",
    "openai": "Any server that speaks the OpenAI protocol: a hosted one, LM Studio, llama.cpp, vLLM. "
    "Questions and the evidence found for them are sent to this address.",
    "ollama": "A model that Ollama runs. Questions and the evidence found for them are sent to this address.",
}
USUAL_ADDRESS = {"openai": "https://api.openai.com/v1", "ollama": "http://127.0.0.1:11434"}
LIMITS = {
    "max_file_mb": ("Largest file", "MB"),
    "max_pages": ("Longest document", "pages"),
    "page_seconds": ("Time for a page", "s"),
    "max_question_chars": ("Longest question", "characters"),
    "run_seconds": ("Time for a run", "s"),
    "model_timeout_s": ("Silence of a model", "s"),
}

workbench = get_workbench()


def fill(connection: ModelConnection | None) -> None:
    """Put a connection into the form."""
    st.session_state.kind = connection.kind if connection else "keyless"
    if connection:
        st.session_state.update(base_url=connection.base_url, model=connection.model, api_key=connection.api_key)
    st.session_state.pop("tested", None)


def kind_chosen() -> None:
    st.session_state.base_url = USUAL_ADDRESS.get(st.session_state.kind, "")
    st.session_state.pop("tested", None)


def form_connection() -> ModelConnection | None:
    """What the form says; None for no model."""
    if st.session_state.kind == "keyless":
        return None
    return ModelConnection(
        kind=st.session_state.kind,
        base_url=st.session_state.base_url.strip(),
        model=st.session_state.model.strip(),
        api_key=st.session_state.get("api_key", "").strip(),
    )


def use() -> None:
    connection = form_connection()
    try:
        workbench.connect(connection)
    except RagError as error:
        st.session_state.tested = ConnectionTest(ok=False, message=str(error), seconds=0)
        return
    st.session_state.engine = "model" if connection else "keyless"
    st.session_state.used = True


def use_found(connection: ModelConnection) -> None:
    fill(connection)
    use()


def test() -> None:
    connection = form_connection()
    if connection is not None:
        st.session_state.tested = workbench.test_connection(connection)


def engine() -> None:
    st.subheader("Engine", anchor=False)
    if "kind" not in st.session_state:
        fill(workbench.connection())
    st.segmented_control("Engine", list(KINDS), key="kind", format_func=KINDS.__getitem__, required=True,
                         on_change=kind_chosen, label_visibility="collapsed")  # fmt: skip
    kind = st.session_state.kind
    st.caption(ABOUT[kind])
    if kind != "keyless":
        st.text_input("Address", key="base_url", placeholder=USUAL_ADDRESS[kind])
        st.text_input("Model", key="model", placeholder="its name there")
        if kind == "openai":
            st.text_input("Key", key="api_key", type="password", help="Kept on this machine; empty if none is needed.")
    with st.container(horizontal=True, vertical_alignment="center"):
        ready = kind == "keyless" or bool(st.session_state.base_url.strip() and st.session_state.model.strip())
        st.button("Use it", type="primary", on_click=use, disabled=not ready)
        if kind != "keyless":
            st.button("Test", on_click=test, disabled=not st.session_state.base_url.strip())
        if st.session_state.pop("used", False):
            st.text("● Saved; the next question uses it.")
    if kind != "keyless":
        test_result()
    found()


def test_result() -> None:
    tested: ConnectionTest | None = st.session_state.get("tested")
    if tested is None:
        return
    with st.container(border=True, key="tested"):
        st.text(f"{'●' if tested.ok else '○'} {tested.message}" + (f" ({tested.seconds:.2f} s)" if tested.ok else ""))
        if tested.models and st.session_state.model not in tested.models:
            st.pills("Models there", tested.models[:24], key="model_there", on_change=model_chosen)


def model_chosen() -> None:
    if st.session_state.model_there:
        st.session_state.model = st.session_state.model_there


def found() -> None:
    """Model servers that run on this machine, one click away."""
    servers = workbench.local_models()
    if not servers:
        return
    st.caption("Found running on this machine:")
    with st.container(horizontal=True):
        for at, connection in enumerate(servers[:12]):
            label = f"{escaped(connection.model)} · {connection.label or KINDS[connection.kind]}"
            st.button(label, key=f"found-{at}", on_click=use_found, args=(connection,))


def health() -> None:
    st.subheader("Health", anchor=False)
    st.html(health_list(workbench.health()))


def limit(name: str, what: str, unit: str) -> tuple[str, str, str, str]:
    field = type(workbench.settings).model_fields[name]
    return what, f"{getattr(workbench.settings, name):,g} {unit}", field.description or "", field.alias or ""


def limits() -> None:
    st.subheader("Limits", anchor=False)
    st.html(limit_list(limit(name, *words) for name, words in LIMITS.items()))
    st.caption("They are environment variables, read at the start.")


def data() -> None:
    st.subheader("Your data", anchor=False)
    st.caption("Documents, index, history and settings are kept here, and only here:")
    st.code(str(workbench.settings.data_dir), language=None)
    if parts := workbench.storage.parts():
        st.html(storage_list(parts))
    else:
        st.caption("What it takes on the disk is being counted: look again in a moment.")
    st.subheader("Backup", anchor=False)
    st.caption(
        "Documents, runs, saved plans, prompts and models in one file, made while the app goes on. Like the directory, "
        "it has your keys and the passwords of locked files: keep it private."
    )
    st.link_button("Back up everything", "/v1/backup", icon=":material/download:")
    st.caption("To have it back, in an empty directory, where documents are indexed anew at the next start:")
    st.code("RAGSCOPE_DATA_DIR=NEW python -m rag_core restore FILE", language=None)


with st.container(key="settings"):
    st.html("<h1>Settings</h1>")
    view = st.segmented_control(
        "Show", ["General", "Prompts and models"], default="General", key="settings-view", required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    if view == "Prompts and models":
        prompts()
    else:
        left, right = st.columns(2, gap="large")
        with left:
            engine()
            data()
        with right:
            health()
            limits()
