"""The kinds of task, a folder each: what may be answered, the page that asks, what is exported."""

from pqpp_annotation.kinds.kind import KINDS, ShownImage, ShownItem, TaskKind, Vote, task_kind

__all__ = ["KINDS", "ShownImage", "ShownItem", "TaskKind", "Vote", "task_kind"]
