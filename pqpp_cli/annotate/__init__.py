"""`pqpp annotate`: collect people's judgments in the browser.

Make a study of images and prompts, serve it, invite people, and export what they said for
`pqpp build`.
"""

EPILOG = """examples:
  pqpp annotate demo
  pqpp annotate init study.yaml --file prompts.csv --image-dir images
  pqpp annotate serve study.yaml
  pqpp annotate invite study.yaml --count 20 --output links.csv
  pqpp annotate status study.yaml
  pqpp annotate export study.yaml --output votes
  pqpp build votes/judgments.csv --scale pqpp --output my-benchmark
"""
