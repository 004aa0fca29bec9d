"""Settings of single signatures: another prompt, another model, another temperature, other lengths of replies."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages._parts.blocks import placeholder_list, word_diff
from pages._server.state import get_workbench
from rag_core.errors import RagError
from rag_core.llm.connections import ModelConnection
from rag_core.llm.signature import Signature
from rag_core.techniques import TECHNIQUES

AS_USED = "the one in use"
FIELDS = ("prompt", "model", "temperature", "max_tokens")


def prompts() -> None:
    """The list of techniques that ask something, and the signatures of the chosen one."""
    try:
        own = get_workbench().overrides().as_json()
    except RagError as error:
        st.warning(str(error))
        return
    asked = by_technique()
    st.caption(
        "What a model is asked, step by step. Without a model the keyless function beside each prompt answers, and "
        "nothing here matters."
    )
    if own:
        st.text(f"● Changed: {', '.join(f'{label(name)} › {step(name)}' for name in own)}")
    left, right = st.columns([2, 7], gap="large")
    with left:
        technique = st.radio(
            "Technique", list(asked), key="prompts-of", format_func=label, label_visibility="collapsed"
        )
    with right, st.container(key="prompt-editor"):
        steps = {one.name: one for one in asked[technique or next(iter(asked))]}
        if st.session_state.get("signature") not in steps:
            st.session_state.signature = next(iter(steps))
        if len(steps) > 1:
            st.segmented_control(
                "Step", list(steps), key="signature", format_func=step, required=True, label_visibility="collapsed"
            )
        chosen = steps[st.session_state.signature]
        editor(chosen, own.get(chosen.name, {}))


def by_technique() -> dict[str, list[Signature[Any, Any]]]:
    """All signatures by what stands before the dot of their name."""
    asked: dict[str, list[Signature[Any, Any]]] = {}
    for signature in get_workbench().signatures():
        asked.setdefault(signature.name.partition(".")[0], []).append(signature)
    return asked


def label(name: str) -> str:
    """What the technique of a signature is called."""
    technique = name.partition(".")[0]
    text = TECHNIQUES[technique].label if technique in TECHNIQUES else technique.replace("_", " ")
    return text[:1].upper() + text[1:]


def step(signature: str) -> str:
    return signature.partition(".")[2].replace("_", " ")


def editor(signature: Signature[Any, Any], own: dict[str, Any]) -> None:
    """The fields of one signature, as they are now."""
    name = signature.name
    now = {**usual(signature), **own}
    for field in FIELDS:
        st.session_state.setdefault(key(name, field), model_label(now[field]) if field == "model" else now[field])
    st.text_area("Prompt", key=key(name, "prompt"), height=240)
    st.html(placeholder_list(signature.inputs.model_fields, signature.prompt))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Model", model_choices(now["model"]), key=key(name, "model"), accept_new_options=True, width=280,
            help="One found on this machine, or the name of another one at the endpoint in use.",
        )  # fmt: skip
        st.number_input("Temperature", 0.0, 2.0, step=0.1, key=key(name, "temperature"), width=130)
        st.number_input("Tokens of a reply", 1, 100_000, step=64, key=key(name, "max_tokens"), width=150)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Save", key="save-prompt", type="primary", on_click=save, args=(signature,))
        st.button("Reset to the default", key="reset-prompt", on_click=reset, args=(signature,), disabled=not own)
        if told := st.session_state.pop("prompt_told", ""):
            st.text(told)
    if now["prompt"] != signature.prompt:
        st.caption("Your prompt, beside the default:")
        st.html(word_diff(signature.prompt, now["prompt"]))


def key(signature: str, field: str) -> str:
    return f"{signature}-{field}"


def usual(signature: Signature[Any, Any]) -> dict[str, Any]:
    return {
        "prompt": signature.prompt,
        "model": None,
        "temperature": signature.temperature,
        "max_tokens": signature.max_tokens,
    }


def models() -> dict[str, ModelConnection]:
    return {model_label(one.model_dump(mode="json")): one for one in get_workbench().local_models()}


def model_choices(chosen: Any) -> list[str]:
    return list(dict.fromkeys([AS_USED, model_label(chosen), *models()]))


def model_label(model: Any) -> str:
    """What stands in the list for a model: its name, and where it is if that is elsewhere."""
    if isinstance(model, dict):
        return f"{model['model']} · {model['label'] or model['base_url']}"
    return model or AS_USED


def save(signature: Signature[Any, Any]) -> None:
    """Use what the form says from the next question on; what is as usual is not kept."""
    given = {field: st.session_state[key(signature.name, field)] for field in FIELDS}
    own = get_workbench().overrides().as_json()
    given["model"] = chosen_model(given["model"], own.get(signature.name, {}).get("model"))
    changed = {field: value for field, value in given.items() if value != usual(signature)[field]}
    if not str(given["prompt"]).strip():
        st.session_state.prompt_told = "○ An empty prompt asks nothing: write one, or reset it."
        return
    others = {name: override for name, override in own.items() if name != signature.name}
    try:
        get_workbench().override({**others, **({signature.name: changed} if changed else {})})
    except RagError as error:
        st.session_state.prompt_told = f"○ {error}"
    else:
        st.session_state.prompt_told = "● Saved; the next question uses it."


def chosen_model(label_: str | None, own: Any) -> Any:
    """The model behind what was chosen or written; None for the one in use."""
    if not label_ or label_ == AS_USED:
        return None
    if label_ == model_label(own):
        return own
    known = models().get(label_)
    return known.model_dump(mode="json") if known else label_.strip()


def reset(signature: Signature[Any, Any]) -> None:
    own = get_workbench().overrides().as_json()
    get_workbench().override({name: override for name, override in own.items() if name != signature.name})
    for field in FIELDS:
        st.session_state.pop(key(signature.name, field), None)
    st.session_state.prompt_told = "● Back to the default."
