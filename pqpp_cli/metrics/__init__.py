"""`pqpp metrics`: list, explain, compute and publish the metrics.

The metrics of pqpp, from files and to the Hub.
"""

EPILOG = """examples:
  pqpp metrics list
  pqpp metrics show kendall_qpp
  pqpp metrics compute kendall_qpp --predictions predicted.csv --references true.csv
  pqpp metrics compute kendall_qpp --predictions t.csv:predicted --references t.csv:true
  pqpp metrics compute precision_at_k --predictions run.trec --references qrels.trec --option k=5
  pqpp metrics compute ndcg@10,p@10,rr --run run.trec --qrels qrels.trec --option ties=docno
  pqpp metrics compute ap,rprec --run a.run --run b.run --qrels q.qrels --by-query queries.csv
  pqpp metrics compute hbpp --input labels=votes.jsonl --input prompt_ids=votes.jsonl
  pqpp metrics push ndcg OWNER --dry-run        # to the Space OWNER/ndcg
  pqpp metrics push hbpp ndcg OWNER --private
  pqpp metrics push all OWNER
"""
