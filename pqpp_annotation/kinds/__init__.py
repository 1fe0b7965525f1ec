"""The kinds of task, a folder each: what may be answered, the page that asks, what is exported."""

from pqpp_annotation.kinds.kind import KINDS, Kind, Shown, ShownImage, Vote, kind_of

__all__ = ["KINDS", "Kind", "Shown", "ShownImage", "Vote", "kind_of"]
