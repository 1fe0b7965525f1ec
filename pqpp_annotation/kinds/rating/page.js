// A scale of whole numbers; a step's key is its own digit where each has one.
import {grade} from "../grade.js";

const PLACES = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0", "x"];
const MOST_IN_A_LIST = 7;

export function start(task, api) {
  const {low, high, labels} = task.settings;
  const steps = Array.from({length: high - low + 1}, (_, place) => low + place);
  const isDigit = low >= 0 && high <= 10;
  // Where each step has a word, they stand in a list; else in a row.
  const isList = steps.length <= MOST_IN_A_LIST && steps.every(step => labels[step]);
  return grade(task, api, steps.map((value, place) => ({
    value,
    keys: [isDigit ? (value === 10 ? "x" : String(value)) : PLACES[place]],
    name: isList ? labels[value] : String(value),
    help: isList ? "" : labels[value] ?? "",
  })), {isScale: !isList});
}
