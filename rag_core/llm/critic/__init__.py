"""The trained critic: what judges relevance and support where no model does."""

from rag_core.llm.critic.critic import FULL, PARTIAL, Critic, Judged, to_support, weakest

__all__ = ["FULL", "PARTIAL", "Critic", "Judged", "to_support", "weakest"]
