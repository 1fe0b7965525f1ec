"""Count what docs/contributing/words.md advises against, by page and habit.

python docs/contributing/habits.py README.md docs/*.md

Code blocks are skipped. Some hits are right: a column of the data, the name of a page.
"""

import re
import sys
from pathlib import Path

HABITS = {
    "where for if": r"\bwhere\b",
    "take for accept": r"\b(?:take[ns]?|took)\b",
    "stand, lie, hold for be": r"\b(?:stands?|stood|lies?|lay|holds?|held)\b(?!-)",
    "ask for predict": r"\bask(?:s|ed)?\b",
    "judge for rate": r"\bjudge[ds]?\b",
    "beside": r"\bbeside\b",
    "come": r"\b(?:comes?|came)\b",
    "a row a vote": r"\b(?:row|line|one|value|number|list) an? [a-z]+\b",
    "it is said": r"\b(?:is|are) (?:said|told|kept)\b",
    "of ours": r"\bof (?:ours|one's own)\b",
    "is no X": r"\b(?:is|are) no\b",
    "dear, far": r"\b(?:dear(?:er|est)?|how far)\b",
}


def count_habits(text: str) -> dict[str, int]:
    """Return how often each habit is in a text, without code blocks.

    >>> count_habits("It is said where a row a vote stands.")["a row a vote"]
    1
    """
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {name: len(re.findall(pattern, prose)) for name, pattern in HABITS.items()}


if __name__ == "__main__":
    total = 0
    for path in sys.argv[1:]:
        found = {name: n for name, n in count_habits(Path(path).read_text("utf-8")).items() if n}
        total += sum(found.values())
        if found:
            print(path, *(f"{name}: {n}" for name, n in found.items()), sep="  ")
    print("total:", total)
