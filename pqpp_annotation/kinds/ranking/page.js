// Relevant, not relevant, and unsure where the study allows it.
import {grade} from "../grade.js";

const ANSWERS = [
  {value: 1, name: "Relevant", keys: ["1", "r"]},
  {value: 0, name: "Not relevant", keys: ["2", "n"]},
  {value: null, name: "Unsure", keys: ["3", "u"]},
];

export function start(task, api) {
  return grade(task, api, ANSWERS.filter(({value}) => value !== null || task.settings.unsure));
}
