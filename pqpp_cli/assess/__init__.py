"""`pqpp assess`: judge generated images by automated assessors.

Look at generated images by models, keep what was seen, and score it by arithmetic that can be done
again without models.
"""

EPILOG = """
Images lie as DIR/{prompt_id}/{model}_{i}.png, with the prompts from --file or --dataset; or
DIR/metadata.jsonl or metadata.csv lists them (file_name, prompt, prompt_id, model, ...); or a text
file beside each image holds its prompt. A file of prompts without a column prompt_id counts its
rows from 0. The table has a row for each image: image, prompt_id, prompt, task, generator,
assessor, routine, verdict, score, reason, evidence (JSON), asked (JSON), model, revision.

A run that was killed goes on where it was when it is started again. Several GPUs:
  accelerate launch -m pqpp_cli.main assess ...

Shard by shard, --file names the prompts (Parquet or CSV), their images lie in --image-dir as above,
and --output is a folder of tables, which pqpp assess gallery shows.
"""
