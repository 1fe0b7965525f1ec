// PQPP's four grades, best first; or relevant, not relevant and, if the study allows it, unsure.
import {grade} from "../grade.js";
import {gettext} from "../../texts.js";

const GRADES = [
  {value: 2, name: gettext("High relevance"), help: gettext("Shows more than half of what the prompt names.")},
  {value: 1, name: gettext("Low relevance"), help: gettext("Shows at least one thing, but no more than half.")},
  {value: 0, name: gettext("No relevance"), help: gettext("Unrelated to the prompt, but realistic.")},
  {value: -1, name: gettext("Unrealistic"), help: gettext("Has visible errors, whatever it shows.")},
];
const ANSWERS = [
  {value: 1, name: gettext("Relevant"), keys: ["1", "r"]},
  {value: 0, name: gettext("Not relevant"), keys: ["2", "n"]},
  {value: null, name: gettext("Unsure"), keys: ["3", "u"]},
];

export function start(task, api) {
  const {grades, unsure} = task.settings;
  const choices = grades === "binary"
    ? ANSWERS.filter(({value}) => value !== null || unsure)
    : GRADES.map((grade, index) => ({...grade, keys: [String(index + 1)]}));
  return grade(task, api, choices);
}
