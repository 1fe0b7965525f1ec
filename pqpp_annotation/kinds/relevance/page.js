// PQPP's four grades, best first.
import {grade} from "../grade.js";

const GRADES = [
  {value: 2, name: "High relevance", help: "More than half of what the prompt names is there."},
  {value: 1, name: "Low relevance", help: "At least one thing is there, but not more than half."},
  {value: 0, name: "No relevance", help: "Unrelated, but it could be real."},
  {value: -1, name: "Unrealistic", help: "It has visible mistakes, whatever else it shows."},
];

export function start(task, api) {
  return grade(task, api, GRADES.map((one, place) => ({...one, keys: [String(place + 1)]})));
}
