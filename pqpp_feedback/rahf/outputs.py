"""The names of RAHF's outputs, in order."""

# The two heatmaps; the columns of the dataset are these names with `_map`.
HEATMAPS = ("implausibility", "misalignment")

# The four scores, each in 0 .. 1, higher is better.
SCORES = ("plausibility", "alignment", "aesthetics", "overall")

# The outputs that need image and prompt together; one of the two largely determines the others.
JOINT_OUTPUTS = ("misalignment", "alignment")

KEYWORDS = "misaligned words"

# The seven outputs. The augmented-prompt variant puts one of these before the prompt; the paper's
# section 4.1.2 gives the first one as its example, the others follow its form.
TASK_STRINGS = (
    *(f"{name} heatmap" for name in HEATMAPS),
    *(f"{name} score" for name in SCORES),
    KEYWORDS,
)

KEYWORD_TASK = TASK_STRINGS.index(KEYWORDS)

BLINDS = ("none", "image", "prompt")
VARIANTS = ("multi_head", "augmented_prompt")
HEAD_STYLES = ("paper", "released")
