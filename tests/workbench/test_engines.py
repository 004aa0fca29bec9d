import stat
from pathlib import Path

import pytest
from pydantic import BaseModel

from rag_core.errors import RagError
from rag_core.llm.signature import PromptError, Signature
from rag_core.workbench.engines import SavedOverrides


class Text(BaseModel):
    text: str


ASK = Signature("test.ask", Text, Text, "Say {text}", keyless=lambda inputs, reading: inputs)


def test_prompts_are_there_after_a_restart_and_nobody_else_reads_them(tmp_path: Path) -> None:
    SavedOverrides(tmp_path, [ASK]).save({"test.ask": {"prompt": "Shout {text}", "model": "large"}})
    assert SavedOverrides(tmp_path, [ASK]).get().as_json() == {"test.ask": {"prompt": "Shout {text}", "model": "large"}}
    assert stat.S_IMODE((tmp_path / "prompts.json").stat().st_mode) == 0o600


def test_a_prompt_that_is_refused_leaves_the_saved_one(tmp_path: Path) -> None:
    saved = SavedOverrides(tmp_path, [ASK])
    saved.save({"test.ask": "Shout {text}"})
    with pytest.raises(PromptError):
        saved.save({"test.ask": "Shout {noise}"})
    assert saved.get().as_json() == {"test.ask": {"prompt": "Shout {text}"}}


def test_without_a_file_all_is_as_usual(tmp_path: Path) -> None:
    assert SavedOverrides(tmp_path, [ASK]).get().as_json() == {}


@pytest.mark.parametrize("text", ["{", "[]", '{"test.gone": "x"}', '{"test.ask": "{noise}"}', '{"test.ask": 3}'])
def test_a_file_that_cannot_be_used_says_so_and_how_to_mend_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "prompts.json").write_text(text)
    with pytest.raises(RagError, match=r"prompts.json cannot be used .*: mend it, or delete it") as raised:
        SavedOverrides(tmp_path, [ASK]).get()
    assert "\n" not in str(raised.value)
