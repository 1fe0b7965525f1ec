// Rank guides before the reference, the reference before modules, and changes and benchmarks last.
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  weights: [[/^made\/(project|benchmarks)\//, 0.3], [/^made\/api\//, 1], [/^made\//, 2], [/^(project|reference)\//, 2], [/^/, 7]],
  score([page, title, anchor, about, score]) {
    return score * this.weights.find(([folder]) => folder.test(page))[1];
  },
};
