"""What RAHF predicts, in the order of its outputs."""

HEATMAPS = ("implausibility", "misalignment")
"""The two heatmaps; the columns of the dataset are these names with `_map`."""

SCORES = ("plausibility", "alignment", "aesthetics", "overall")
"""The four scores, each in 0 .. 1, higher is better."""

JOINT_OUTPUTS = ("misalignment", "alignment")
"""Those that image and prompt tell together; either alone tells the others, or much of them."""

KEYWORDS = "misaligned words"

TASK_STRINGS = (
    *(f"{name} heatmap" for name in HEATMAPS),
    *(f"{name} score" for name in SCORES),
    KEYWORDS,
)
"""The seven outputs. The augmented-prompt variant puts one of these before the prompt; the paper's
section 4.1.2 gives the first one as its example, the others follow its form."""

KEYWORD_TASK = TASK_STRINGS.index(KEYWORDS)

VARIANTS = ("multi_head", "augmented_prompt")
HEAD_STYLES = ("paper", "released")
