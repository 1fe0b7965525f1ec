"""`pqpp assess check`: find out whether an assessor's models see what is there, by known answers.

Draws 200 scenes of known truth (text, objects, counts, colours, places, light, depth, posture),
lets exactly the models that are named look at them, and prints accuracy with intervals, seconds an
image, memory and revisions, and whether each score is right, wrong, or not shown by these scenes.
It is the first thing to run on a new machine.
"""

EPILOG = """examples:
  pqpp assess check vistar --only text_rendering
  pqpp assess check gimbrr --detector google/owlv2-base-patch16-ensemble --device cuda
  pqpp assess check vistar --model depth=OWNER/REPOSITORY --format json --output checked.json
  pqpp assess check rahf --model runs/rahf/model --photos photographs
  pqpp assess check vqa --chat-model OWNER/REPOSITORY --device cuda

With --photos the folder has metadata.jsonl or metadata.csv: file_name, prompt, wrong (a prompt that
does not hold), the columns that the assessor reads, wrong_NAME where such a column differs for the
wrong prompt, and perhaps kind (by which figures are grouped) and boxes (label, and box in shares).
"""
