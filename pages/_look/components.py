"""The components: parts of a page that native widgets cannot draw, each an ES module and its styles.

A component gets ids and small rows; what is long (records, events, pictures) its module fetches from /v1.
"""

from __future__ import annotations

from streamlit.components.v2 import component

from pages._look.files import INSPECTOR_SHEETS, LOOK_STAMP, styles

# A component's own script runs from a blob address, where relative imports do not reach. So it only loads the
# real module from this server; both components of a page then share the modules that they share.
_LOADER = """\
const look = (name) => import(new URL(`/v1/look/{stamp}/${{name}}.js`, window.location.origin));
const [{{ lasting }}, {{ default: draw }}] = await Promise.all([look("mounted"), look("{module}")]);
export default lasting(draw);
"""


def _component(module: str, *sheets: str):
    return component(
        f"ragscope_{module}",
        html='<div class="root"></div>',
        css=styles("parts.css", *sheets),
        js=_LOADER.format(stamp=LOOK_STAMP, module=module),
    )


chat = _component("chat", "chat.css")
run = _component("run", *INSPECTOR_SHEETS)
history = _component("history", "history.css")
plan = _component("plan", "plan.css")
library = _component("library", "library.css")
reader = _component("reader", "picture.css", "reader.css")
compare = _component("compare", "picture.css", "table.css", "compare.css", "ledger.css")
outline = _component("outline", "knowledge.css")
passages = _component("passages", "picture.css", "evidence.css", "knowledge.css")
