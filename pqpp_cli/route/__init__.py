"""`pqpp route`: send each prompt to the model that is worth its cost.

Make a router from predictions and costs, and ask it.
"""

EPILOG = """examples:
  pqpp route fit --targets glide_hbpp,sdxl_hbpp --cost 1,4 --share 0.3 --calibration mine.txt \\
      --output my_router
  pqpp route predict my_router "two robots play chess"
  pqpp route predict my_router --file prompts.csv --output routed.csv
"""
