from rag_core.pipeline.run import Run
from rag_core.workbench import Workbench


def finished(workbench: Workbench, run_id: str) -> Run:
    """The record of a run that was started, once it is over."""
    live = workbench.live(run_id)
    assert live is not None
    record = live.wait(60)
    assert record is not None
    return record
