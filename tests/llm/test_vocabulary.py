import subprocess
import sys

from rag_core.settings import ROOT

PROGRAM = """
import threading
from rag_core.llm.vocabulary import load_llama_index

def use():
    load_llama_index()
    from llama_index.core.ingestion import run_transformations
    from llama_index.core.base.llms.types import ChatMessage
    used.append((run_transformations, ChatMessage))

used = []
threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(used))
"""


def test_threads_that_need_it_at_the_same_time_all_get_it_whole() -> None:
    told = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert told.stdout == "8\n", told.stderr
