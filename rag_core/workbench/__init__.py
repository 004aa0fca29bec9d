"""The front door: settings in, wired objects out. The screens, the command line and your own code come in here.

from rag_core import Workbench

with Workbench.open() as workbench:
    workbench.ingest("papers/")
    print(workbench.ask("What did they find?").final_answer)
"""

from rag_core.workbench.bench import DEFAULT_COLLECTION, DEMO_COLLECTION, DEMO_FOLDER, Workbench
from rag_core.workbench.engines import EngineChoice
from rag_core.workbench.files import FileResult
from rag_core.workbench.health import PartHealth
from rag_core.workbench.storage import StoragePart

__all__ = [
    "DEFAULT_COLLECTION",
    "DEMO_COLLECTION",
    "DEMO_FOLDER",
    "EngineChoice",
    "FileResult",
    "PartHealth",
    "StoragePart",
    "Workbench",
]
