"""`pqpp search`: index a collection of images, and search it by text.

Embed images by CLIP, BLIP-2 or the like, build an index of faiss, and ask it.
"""

EPILOG = """examples:
  pqpp search build images --model CLIP --output my_index
  pqpp search embed --model CLIP --file "list/*.parquet" --column image --image-dir images \\
      --output embedded --workers 4
  pqpp search build embedded --output my_index
  pqpp search build embeddings.npy --ids ids.txt --model OWNER/NAME --output my_index
  pqpp search add my_index more_images
  pqpp search merge my_index other_index --output both
  pqpp search show my_index
  pqpp search labels captions.csv --file prompts.csv --encoder NAME --output candidates.csv
  pqpp search retrieve my_index --file queries.txt --output run.trec
"""
